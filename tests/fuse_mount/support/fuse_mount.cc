#include "tests/fuse_mount/support/fuse_mount.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

namespace iotape::fuse_mount::test {
namespace {

using iotape::test::run_shell;

dev_t device_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_dev : 0;
}

}  // namespace

MountedImage::MountedImage(const std::string& size, const std::string& words)
    : image_(scratch_ / "image"), directory_(scratch_ / "mnt") {
  complaint_ = run_shell("mkdir " + directory_ + " && truncate -s " + size + " " + image_ + " && mke2fs -q -F " +
                         words + " " + image_)
                   .err;
}

MountedImage::~MountedImage() {
  if (child_ != 0 && !unmount()) kill();
  if (by_kernel_) ::umount2(directory_.c_str(), MNT_DETACH);
}

bool MountedImage::mount(const std::string& options, const std::vector<std::string>& words) {
  std::vector<const char*> all{"iotape", "mount", "-f", "-o", options.c_str()};
  for (const std::string& word : words) all.push_back(word.c_str());
  all.insert(all.end(), {image_.c_str(), directory_.c_str(), nullptr});
  const std::string errors = scratch_ / "errors";
  const dev_t before = device_of(directory_);
  child_ = ::fork();
  if (child_ == 0) {
    const int file = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(file, STDERR_FILENO);
    ::execv(IOTAPE_BINARY, const_cast<char**>(all.data()));
    ::_exit(127);
  }
  constexpr auto kTick = std::chrono::milliseconds(10);
  for (int tick = 0; tick < 3000; ++tick, std::this_thread::sleep_for(kTick)) {
    int status = 0;
    if (::waitpid(child_, &status, WNOHANG) == child_) {
      child_ = 0;
      break;
    }
    if (device_of(directory_) != before) return true;
  }
  complaint_ = iotape::test::read_file(errors);
  return false;
}

bool MountedImage::mount_by_kernel(const std::string& options) {
  const std::string rest = " -o loop" + (options.empty() ? "" : "," + options) + " " + image_ + " " + directory_;
  // An image without a journal is none to the driver's name of ext3.
  by_kernel_ = run_shell("mount -t ext3" + rest + " || mount -t ext4" + rest).status == 0;
  return by_kernel_;
}

int MountedImage::wait_for_end() {
  int status = -1;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) continue;
  child_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool MountedImage::unmount() {
  if (by_kernel_) {
    by_kernel_ = false;
    if (run_shell("umount " + directory_).status != 0) return false;
    iotape::test::wait_until_detached(image_);
    return true;
  }
  if (child_ == 0) return false;
  const auto ended = iotape::test::run_program({IOTAPE_BINARY, "mount", "-u", directory_});
  complaint_ = ended.err;
  if (ended.status != 0) return false;
  const int status = wait_for_end();
  if (status != 0) complaint_ = "the program ended with " + std::to_string(status);
  return status == 0;
}

bool MountedImage::end_by_signal(int signal) {
  ::kill(child_, signal);
  return wait_for_end() == 0;
}

void MountedImage::kill_only() {
  if (child_ == 0) return;
  ::kill(child_, SIGKILL);
  wait_for_end();
}

void MountedImage::kill() {
  if (child_ == 0) return;
  kill_only();
  ::umount2(directory_.c_str(), MNT_DETACH);
}

std::string MountedImage::judge() {
  const auto replayed = run_shell("e2fsck -fy -E journal_only " + image_);
  const auto judged = run_shell("e2fsck -fn " + image_);
  const bool silent = judged.status == 0 && judged.out.find("Fix?") == std::string::npos;
  return silent ? "" : replayed.out + replayed.err + judged.out + judged.err;
}

std::string describe_tree(const std::string& directory) {
  return run_shell("cd " + directory +
                   " && find . -path ./lost+found -prune -o "
                   "\\( -type d -printf '%p %y %m %U:%G %TY-%Tm-%Td %TT %n\\n' \\) -o "
                   "-printf '%p %y %m %U:%G %s %TY-%Tm-%Td %TT %n %l\\n' | sort; "
                   "find . -path ./lost+found -prune -o -type f -print0 | sort -z | xargs -0r sha1sum; "
                   "getfattr -R -h -d -m - --absolute-names . 2>/dev/null; "
                   "find . -path ./lost+found -prune -o \\( -type b -o -type c \\) -print0 | sort -z | "
                   "xargs -0r stat -c '%n %t %T'")
      .out;
}

bool can_mount() { return ::geteuid() == 0 && ::access("/dev/fuse", R_OK | W_OK) == 0; }

}  // namespace iotape::fuse_mount::test
