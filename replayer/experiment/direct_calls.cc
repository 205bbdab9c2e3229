#include "replayer/experiment/direct_calls.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "format/syscall_numbers.h"

namespace iotape {
namespace {

constexpr TargetThread kOwnThread(0);

}  // namespace

PathArgument inside_target(std::string path) {
  PathArgument argument;
  argument.bytes = std::move(path);
  return argument;
}

Result<DirectCalls> DirectCalls::begin(Target& target) {
  ThreadStart start;
  start.thread = kOwnThread;
  IOTAPE_TRY(target.start_thread(start));
  return DirectCalls(target);
}

Result<void> DirectCalls::end() { return target_->end_thread(kOwnThread); }

Result<Completion> DirectCalls::call(std::uint32_t number, Operation operation) {
  TargetCall call;
  call.thread = kOwnThread;
  call.number = number;
  call.operation = std::move(operation);
  IOTAPE_TRY(target_->submit(std::move(call)));
  return target_->next_completion();
}

Result<std::int64_t> DirectCalls::expect(std::uint32_t number, Operation operation, std::string_view doing) {
  IOTAPE_ASSIGN(const Completion done, call(number, std::move(operation)));
  if (done.skipped != SkipReason::kIssued)
    return failure(ErrorCode::kUnsupported, fmt::format("{}: the target does not carry out the call", doing));
  if (!done.outcome.ok()) return system_failure(doing, done.outcome.error_number);
  return done.outcome.value;
}

Result<std::vector<std::string>> DirectCalls::list(const std::string& path) {
  constexpr std::int64_t kBuffer = 262'144;
  constexpr std::size_t kMostNames = 100'000'000;
  Open open;
  open.path = inside_target(path);
  open.flags = O_RDONLY | O_DIRECTORY;
  IOTAPE_ASSIGN(const std::int64_t handle, expect(call_number::openat, std::move(open), "listing " + path));
  std::vector<std::string> names;
  while (names.size() < kMostNames) {
    ReadDirectory read;
    read.descriptor.number = static_cast<std::int32_t>(handle);
    read.length = kBuffer;
    IOTAPE_ASSIGN(Completion done, call(call_number::getdents64, read));
    if (!done.outcome.ok()) return system_failure("listing " + path, done.outcome.error_number);
    if (done.outcome.value <= 0) break;
    for (std::string& name : done.directory_names)
      if (name != "." && name != "..") names.push_back(std::move(name));
  }
  Close close;
  close.descriptor.number = static_cast<std::int32_t>(handle);
  IOTAPE_TRY(expect(call_number::close, close, "listing " + path));
  return names;
}

}  // namespace iotape
