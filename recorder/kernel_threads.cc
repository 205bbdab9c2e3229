#include "recorder/kernel_threads.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace iotape {
namespace {

constexpr unsigned long kKernelThreadFlag = 0x00200000;  // PF_KTHREAD
constexpr std::size_t kMostThreads = 65'536;             // then names are a luxury; memory is not
constexpr ThreadKey kKthreadd{ProcessId(2), ThreadId(2)};

}  // namespace

std::optional<std::string> kernel_thread_name(ThreadId thread) {
  std::ifstream file(fmt::format("/proc/{}/stat", thread.value));
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // "pid (comm) state ppid pgrp session tty_nr tpgid flags ...": the name may hold blanks and parentheses.
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  std::istringstream rest(line.substr(close + 1));
  std::string skipped;
  for (int field = 0; field < 6; ++field) rest >> skipped;
  unsigned long flags = 0;
  if (!(rest >> flags) || (flags & kKernelThreadFlag) == 0) return std::nullopt;
  return line.substr(open + 1, close - open - 1);
}

std::optional<ProcessStart> KernelThreads::meet(ThreadKey submitter, Nanoseconds time) {
  if (submitter.thread.value <= 0 || met_.size() >= kMostThreads || !met_.insert(submitter.thread.value).second)
    return std::nullopt;
  const auto name = kernel_thread_name(submitter.thread);
  if (!name) return std::nullopt;
  return ProcessStart{time, submitter, kKthreadd, 0, true, *name};
}

}  // namespace iotape
