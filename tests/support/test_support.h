// What several test programs need: a scratch directory, a way to run commands, short spellings of events.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "format/event.h"

namespace iotape::test {

// A directory of its own, removed with all it holds when the test ends.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

struct CommandOutput {
  int status = -1;  // exit status, or 128 + signal
  std::string out;
  std::string err;
};
// Runs a program with its words as they are (no shell) and waits for it.
CommandOutput run_program(const std::vector<std::string>& words);
// Runs a shell command line.
CommandOutput run_shell(const std::string& line);
// The same where the line mounts an image that is read afterwards. A mount that others can see is copied into every
// mount namespace made meanwhile (each replay makes one), and stays alive in it beyond umount, its journal unwritten.
CommandOutput run_mounting_shell(const std::string& line);
// For a mount that others could see: waits until the image has no loop device any more, and is whole.
void wait_until_detached(const std::string& image);

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

// True when the process is root and the kernel offers BTF. When it is not, says why on stderr; under CI=true a test
// that needs it must fail instead of skipping, which require_recorder_privileges() does.
bool have_recorder_privileges();

}  // namespace iotape::test

// At the start of a test that records for real.
#define IOTAPE_NEEDS_RECORDER()                                                         \
  do {                                                                                  \
    if (!::iotape::test::have_recorder_privileges()) {                                  \
      if (std::getenv("CI") != nullptr) FAIL() << "CI machines must be able to record"; \
      GTEST_SKIP() << "needs root and /sys/kernel/btf/vmlinux";                         \
    }                                                                                   \
  } while (false)
