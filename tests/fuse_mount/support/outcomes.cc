#include "tests/fuse_mount/support/outcomes.h"

#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

#include "tests/fuse_mount/support/fuse_mount.h"

namespace iotape::fuse_mount::test {

void Outcomes::as(uid_t user, gid_t group, const std::vector<gid_t>& groups) {
  ::syscall(SYS_setgroups, groups.size(), groups.data());  // of this thread alone
  ::setfsgid(group);
  ::setfsuid(user);
  who_ = std::to_string(user) + (groups.empty() ? "" : "+" + std::to_string(groups.front()));
}

void Outcomes::note(const std::string& what, int answer) {
  lines_.push_back(who_ + " " + what + ": " + (answer >= 0 ? "done" : ::strerrorname_np(errno)));
}

void Outcomes::look(const std::string& name) {
  struct stat status {};
  if (::lstat(at(name).c_str(), &status) != 0) return note("lstat " + name, -1);
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "%o %lu %u:%u %ld %lx", status.st_mode, status.st_nlink, status.st_uid,
                status.st_gid, S_ISDIR(status.st_mode) ? 0L : static_cast<long>(status.st_size), status.st_rdev);
  lines_.push_back(name + " is " + text.data());
}

void Outcomes::changed_times(const std::string& what, const std::string& name, const std::function<void()>& call) {
  struct stat before {
  }, after{};
  ::lstat(at(name).c_str(), &before);
  ::usleep(12000);
  call();
  ::lstat(at(name).c_str(), &after);
  const auto differs = [](const timespec& a, const timespec& b) {
    return a.tv_sec != b.tv_sec || a.tv_nsec != b.tv_nsec;
  };
  std::string changed;
  if (differs(before.st_mtim, after.st_mtim)) changed += 'm';
  if (differs(before.st_ctim, after.st_ctim)) changed += 'c';
  lines_.push_back(what + " changes times " + changed + " of " + name);
}

namespace {

void compare(const std::vector<std::string>& ours, const std::vector<std::string>& kernels, KnownDifference rule) {
  ASSERT_EQ(ours.size(), kernels.size());
  std::map<std::string, int> by_rule;
  int unknown = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] == kernels[i]) continue;
    const std::string name = rule != nullptr ? rule(ours[i], kernels[i]) : "";
    if (!name.empty())
      ++by_rule[name];
    else if (++unknown <= 40)
      ADD_FAILURE() << "ours:     " << ours[i] << "\nkernel's: " << kernels[i];
  }
  std::printf("%zu outcomes compared, %d differ without a rule\n", ours.size(), unknown);
  for (const auto& [name, count] : by_rule) std::printf("  %d: %s\n", count, name.c_str());
  std::fflush(stdout);  // before programs are started that would say it again
  EXPECT_EQ(unknown, 0) << "of " << ours.size();
}

}  // namespace

void expect_the_kernels_answers(std::vector<std::string> (*calls)(const std::string& top), const std::string& words,
                                KnownDifference rule) {
  IOTAPE_NEEDS_FUSE();
  MountedImage ours("256M", words);
  ASSERT_TRUE(ours.mount("allow_other,dev,suid")) << ours.complaint();
  const auto answered = calls(ours.path());
  EXPECT_TRUE(ours.unmount());
  EXPECT_EQ(ours.judge(), "");
  MountedImage kernels("256M", words);
  ASSERT_TRUE(kernels.mount_by_kernel());
  compare(answered, calls(kernels.path()), rule);
}

}  // namespace iotape::fuse_mount::test
