#include "replayer/target/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>

#include "format/base/file_descriptor.h"

namespace iotape {
namespace {

Result<void> write_text(const char* path, const std::string& text) {
  const FileDescriptor file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) < 0) return system_failure(path, errno);
  return {};
}

// The own user is mapped to itself, so that owners and permissions look inside as they do outside.
Result<void> unshare_namespaces(bool root) {
  if (root) {
    if (::unshare(CLONE_NEWNS) != 0) return system_failure("making a mount namespace for the target", errno);
    return {};
  }
  const uid_t user = ::getuid();
  const gid_t group = ::getgid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
    return system_failure(
        "confining the replay without root needs unprivileged user namespaces (run as root, or allow them with sysctl "
        "user.max_user_namespaces and kernel.unprivileged_userns_clone)",
        errno);
  IOTAPE_TRY(write_text("/proc/self/setgroups", "deny"));
  IOTAPE_TRY(write_text("/proc/self/uid_map", fmt::format("{} {} 1", user, user)));
  return write_text("/proc/self/gid_map", fmt::format("{} {} 1", group, group));
}

// A remount must repeat what the mount already forbids, and adds that nothing on it can be a device or gain privileges.
Result<void> forbid_devices_and_privileges(const SandboxPlan& plan) {
  struct statvfs state {};
  if (::statvfs(plan.directory.c_str(), &state) != 0) return system_failure(plan.directory, errno);
  unsigned long flags = MS_REMOUNT | MS_BIND;
  flags |= (state.f_flag & ST_RDONLY) != 0 ? MS_RDONLY : 0;
  flags |= (state.f_flag & ST_NOEXEC) != 0 ? MS_NOEXEC : 0;
  flags |= (state.f_flag & ST_NODEV) != 0 || !plan.keep.special ? MS_NODEV : 0;
  flags |= (state.f_flag & ST_NOSUID) != 0 || !plan.keep.setuid ? MS_NOSUID : 0;
  if (::mount(nullptr, plan.directory.c_str(), nullptr, flags, nullptr) != 0)
    return system_failure("forbidding devices on " + plan.directory, errno);
  return {};
}

Result<void> mount_target(const SandboxPlan& plan) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return system_failure("keeping the target's mounts private", errno);
  const char* directory = plan.directory.c_str();
  if (plan.device.empty()) {
    // Not recursive: what is mounted below the directory is not part of the target.
    if (::mount(directory, directory, nullptr, MS_BIND, nullptr) != 0)
      return system_failure(
          fmt::format("binding {}{}", plan.directory,
                      errno == EINVAL ? " (without root, nothing may be mounted below the target)" : ""),
          errno);
  } else if (::mount(plan.device.c_str(), directory, plan.filesystem.c_str(), plan.mount_flags,
                     plan.mount_data.c_str()) != 0) {
    const int error = errno;
    return system_failure(fmt::format("mounting {} as {}{}", plan.device, plan.filesystem,
                                      error == ENODEV ? " (this kernel does not have it)" : ""),
                          error);
  }
  return forbid_devices_and_privileges(plan);
}

// With "." for both, the old root ends up mounted over the new one, and detaching it leaves the target alone.
Result<void> pivot_into(const std::string& directory) {
  if (::chdir(directory.c_str()) != 0) return system_failure(directory, errno);
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return system_failure("making " + directory + " the root", errno);
  if (::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0) return system_failure("leaving the old root", errno);
  return {};
}

// What is needed to change files as the recorded root user did, and nothing that reaches beyond files. An ordinary user
// keeps none: inside its user namespace they would override permissions that bind it outside.
Result<void> drop_capabilities(bool root, const KeepPolicy& keep) {
  std::uint64_t kept = 0;
  const auto add = [&](unsigned capability) { kept |= std::uint64_t{1} << capability; };
  if (root) {
    for (const unsigned capability : {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_SYS_CHROOT})
      add(capability);
    if (keep.special) add(CAP_MKNOD);
    if (keep.setuid) add(CAP_SETFCAP);
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const auto low = static_cast<std::uint32_t>(kept);
  const auto high = static_cast<std::uint32_t>(kept >> 32U);
  const std::array<__user_cap_data_struct, 2> data{{{low, low, 0}, {high, high, 0}}};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0 || ::syscall(SYS_capset, &header, data.data()) != 0)
    return system_failure("dropping capabilities", errno);
  return {};
}

}  // namespace

Result<void> enter_sandbox(const SandboxPlan& plan) {
  const bool root = ::geteuid() == 0;
  const pid_t parent = ::getppid();
  IOTAPE_TRY(unshare_namespaces(root));
  IOTAPE_TRY(mount_target(plan));
  IOTAPE_TRY(pivot_into(plan.directory));
  if (::close_range(0, UINT_MAX, 0) != 0) return system_failure("closing all descriptors", errno);
  IOTAPE_TRY(drop_capabilities(root, plan.keep));
  // A new user namespace made the kernel forget that this process is to die with its owner.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL);
  if (::getppid() != parent) return failure(ErrorCode::kInterrupted, "the process that started the replay has ended");
  return {};
}

}  // namespace iotape
