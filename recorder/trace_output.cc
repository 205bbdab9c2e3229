#include "recorder/trace_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace iotape {
namespace {

constexpr mode_t kPrivate = 0600;
constexpr int kMostNames = 10'000;

FileDescriptor create_new(const std::string& name) {
  return FileDescriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kPrivate));
}

Result<TraceOutput> open_default(const std::string& command) {
  std::string stem = std::filesystem::path(command).filename().string();
  if (stem.empty()) stem = "trace";
  for (int number = 1; number < kMostNames; ++number) {
    const std::string name = number == 1 ? stem + ".iotape" : fmt::format("{}.{}.iotape", stem, number);
    if (auto file = create_new(name)) return TraceOutput{std::move(file), name};
    if (errno != EEXIST) return system_failure(fmt::format("creating {} (choose another place with -o)", name), errno);
  }
  return failure(ErrorCode::kUsage, fmt::format("too many files named {}.N.iotape here; give a name with -o", stem));
}

// A file that is replaced is removed first: its mode and owner are not inherited, and whoever reads it keeps it.
Result<TraceOutput> open_wanted(const TraceOutputOptions& options) {
  auto file = create_new(options.wanted);
  if (!file && errno == EEXIST) {
    if (!options.force)
      return failure(ErrorCode::kUsage, fmt::format("{} exists; choose another name or give --force", options.wanted));
    if (!std::filesystem::is_regular_file(options.wanted))
      file.reset(::open(options.wanted.c_str(), O_WRONLY | O_CLOEXEC));  // a pipe or a device
    else if (::unlink(options.wanted.c_str()) == 0)
      file = create_new(options.wanted);
  }
  if (!file) return system_failure(fmt::format("creating {}", options.wanted), errno);
  return TraceOutput{std::move(file), options.wanted};
}

}  // namespace

Result<TraceOutput> open_trace_output(const TraceOutputOptions& options) {
  if (options.wanted == "-") {
    if (options.stdout_is_terminal)
      return failure(ErrorCode::kUsage, "a trace is binary: send it to a file or a pipe, not to the terminal");
    return TraceOutput{FileDescriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)), "-"};
  }
  auto output = options.wanted.empty() ? open_default(options.command) : open_wanted(options);
  if (output && options.owner_user) {
    const auto group = options.owner_group.value_or(static_cast<std::uint32_t>(-1));
    if (::fchown(output->file.get(), *options.owner_user, group) != 0)
      return system_failure(fmt::format("giving {} to the user who called sudo", output->name), errno);
  }
  return output;
}

}  // namespace iotape
