#include "recorder/workload_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace iotape {
namespace {

bool become(const RunAs& who) {
  if (::initgroups(who.name.c_str(), who.group) != 0 || ::setgid(who.group) != 0 || ::setuid(who.user) != 0)
    return false;
  ::setenv("HOME", who.home.c_str(), 1);
  ::setenv("USER", who.name.c_str(), 1);
  ::setenv("LOGNAME", who.name.c_str(), 1);
  return true;
}

[[noreturn]] void run_child(const WorkloadProcess::Options& options, int go, int failed) {
  const auto give_up = [&] {
    const int reason = errno;
    const bool told = ::write(failed, &reason, sizeof reason) == static_cast<ssize_t>(sizeof reason);
    ::_exit(told ? 127 : 126);
  };
  std::vector<char*> argv;
  for (const std::string& word : options.words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGXFSZ, SIG_DFL);
  char byte = 0;
  if (::read(go, &byte, 1) != 1) ::_exit(0);
  if (options.output_to_error) ::dup2(STDERR_FILENO, STDOUT_FILENO);
  if (options.run_as && !become(*options.run_as)) give_up();
  ::execvp(argv[0], argv.data());
  give_up();
  ::_exit(127);
}

}  // namespace

Result<RunAs> find_user(const std::string& name) {
  const bool number =
      !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
  const passwd* entry = ::getpwnam(name.c_str());
  if (entry == nullptr && number) entry = ::getpwuid(static_cast<uid_t>(std::strtoul(name.c_str(), nullptr, 10)));
  if (entry == nullptr) return failure(ErrorCode::kUsage, fmt::format("there is no user '{}'", name));
  return RunAs{entry->pw_name, entry->pw_uid, entry->pw_gid, entry->pw_dir};
}

Result<WorkloadProcess> WorkloadProcess::start(const Options& options) {
  int go[2];
  int failed[2];
  if (::pipe2(go, O_CLOEXEC) != 0) return system_failure("making a pipe", errno);
  FileDescriptor child_go(go[0]);
  WorkloadProcess made;
  made.go_.reset(go[1]);
  if (::pipe2(failed, O_CLOEXEC) != 0) return system_failure("making a pipe", errno);
  made.failed_.reset(failed[0]);
  const FileDescriptor child_failed(failed[1]);
  made.child_ = ::fork();
  if (made.child_ < 0) return system_failure("starting the command", errno);
  if (made.child_ == 0) {
    made.go_.reset();  // else the child would hold open the pipe whose end tells it to give up
    run_child(options, child_go.get(), child_failed.get());
  }
  return made;
}

WorkloadProcess::~WorkloadProcess() {
  if (!go_ || child_ <= 0) return;
  go_.reset();
  ::waitpid(child_, nullptr, 0);
}

Result<int> WorkloadProcess::release() {
  const char byte = 1;
  const bool released = ::write(go_.get(), &byte, 1) == 1;
  go_.reset();
  if (!released) return system_failure("releasing the command", errno);
  int reason = 0;
  ssize_t got = 0;
  do got = ::read(failed_.get(), &reason, sizeof reason);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof reason)) return 0;
  ::waitpid(child_, nullptr, 0);
  child_ = -1;
  return reason;
}

std::optional<std::int32_t> WorkloadProcess::poll() {
  int status = 0;
  if (child_ <= 0 || ::waitpid(child_, &status, WNOHANG) != child_) return std::nullopt;
  child_ = -1;
  return status;
}

}  // namespace iotape
