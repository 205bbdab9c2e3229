#include "traces/workload/processes.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace iotape::workload {
namespace {

// What a child tells its parent through a pipe: one of these, small enough to be written in one piece.
struct Verdict {
  bool failed = false;
  ErrorCode code = ErrorCode::kIo;
  Totals totals;
  std::array<char, 1024> message{};
};
static_assert(std::is_trivially_copyable_v<Verdict> && sizeof(Verdict) < 4096);

Verdict verdict_of(const Result<Totals>& result) {
  Verdict verdict;
  if (result) {
    verdict.totals = *result;
    return verdict;
  }
  verdict.failed = true;
  verdict.code = result.error().code;
  result.error().message.copy(verdict.message.data(), verdict.message.size() - 1);
  return verdict;
}

struct Child {
  pid_t process = -1;
  FileDescriptor answer;
};

Result<Child> start(unsigned index, const std::function<Result<Totals>(unsigned)>& work) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_failure("cannot make a pipe", errno);
  FileDescriptor reading(ends[0]);
  const FileDescriptor writing(ends[1]);
  const pid_t process = ::fork();
  if (process < 0) return system_failure("cannot start a process", errno);
  if (process == 0) {
    const Verdict verdict = verdict_of(work(index));
    const bool told = ::write(writing.get(), &verdict, sizeof verdict) == static_cast<ssize_t>(sizeof verdict);
    ::_exit(told ? 0 : 1);
  }
  return Child{process, std::move(reading)};
}

Result<Totals> wait_for(const Child& child) {
  Verdict verdict;
  const ssize_t got = ::read(child.answer.get(), &verdict, sizeof verdict);
  int status = 0;
  ::waitpid(child.process, &status, 0);
  if (got != static_cast<ssize_t>(sizeof verdict))
    return failure(ErrorCode::kIo, "a process of the workload ended before its work was done");
  if (verdict.failed) return failure(verdict.code, verdict.message.data());
  return verdict.totals;
}

}  // namespace

Result<Totals> run_in_processes(unsigned count, const std::function<Result<Totals>(unsigned)>& work) {
  std::vector<Child> children;
  Result<void> outcome;
  for (unsigned index = 0; index < count && outcome; ++index) {
    Result<Child> child = start(index, work);
    if (child)
      children.push_back(std::move(*child));
    else
      outcome = tl::make_unexpected(child.error());
  }
  // Every child is waited for, also after an error.
  Totals totals;
  for (const Child& child : children) {
    const Result<Totals> result = wait_for(child);
    if (result)
      totals.add(*result);
    else if (outcome)
      outcome = tl::make_unexpected(result.error());
  }
  if (!outcome) return tl::make_unexpected(outcome.error());
  return totals;
}

}  // namespace iotape::workload
