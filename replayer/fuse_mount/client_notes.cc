#include "replayer/fuse_mount/client_notes.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <optional>

#include "format/machine_facts.h"

namespace iotape::fuse_mount {
namespace {

constexpr Nanoseconds kLookAgain{50'000'000};
constexpr std::size_t kMostKnown = 1U << 16U;

struct Task {
  ProcessId process;
  std::string command;
};

// From /proc; nothing when the thread has gone.
std::optional<Task> look_up(pid_t thread) {
  std::ifstream status(fmt::format("/proc/{}/status", thread));
  Task task;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Name:\t")) task.command = line.substr(6);
    if (!line.starts_with("Tgid:\t")) continue;
    std::from_chars(line.data() + 6, line.data() + line.size(), task.process.value);
    return task;
  }
  return std::nullopt;
}

}  // namespace

void ClientNotes::met(pid_t thread) {
  if (thread == 0) return;
  const Nanoseconds now = boot_time();
  const std::lock_guard held(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  const auto [known, fresh] = known_.try_emplace(thread);
  if (!fresh && now - known->second.looked < kLookAgain) return;
  known->second.looked = now;
  const auto task = look_up(thread);
  if (!task || (!fresh && task->command == known->second.command)) return;
  known->second.command = task->command;
  trace_.note_process({task->process, ThreadId(thread)}, task->command);
}

}  // namespace iotape::fuse_mount
