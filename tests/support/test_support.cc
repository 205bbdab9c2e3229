#include "tests/support/test_support.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace iotape::test {

ScratchDirectory::ScratchDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "iotape-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
}

CommandOutput run_program(const std::vector<std::string>& words) {
  const ScratchDirectory scratch;
  const std::string out_path = scratch / "out";
  const std::string err_path = scratch / "err";
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "r", stdin) == nullptr || std::freopen(out_path.c_str(), "w", stdout) == nullptr ||
        std::freopen(err_path.c_str(), "w", stderr) == nullptr)
      ::_exit(127);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  constexpr int kSignalBase = 128;
  return {WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status), read_file(out_path),
          read_file(err_path)};
}

CommandOutput run_shell(const std::string& line) { return run_program({"bash", "-c", line}); }

CommandOutput run_mounting_shell(const std::string& line) {
  return run_program({"unshare", "--mount", "bash", "-c", line});
}

void wait_until_detached(const std::string& image) {
  constexpr int kTries = 6000;
  for (int i = 0; i < kTries; ++i) {
    if (run_program({"losetup", "-j", image}).out.empty()) return;
    ::usleep(10'000);
  }
  ADD_FAILURE() << image << " is still in use";
}

bool have_recorder_privileges() { return ::geteuid() == 0 && ::access("/sys/kernel/btf/vmlinux", R_OK) == 0; }

}  // namespace iotape::test
