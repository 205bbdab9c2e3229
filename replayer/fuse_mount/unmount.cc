#include "replayer/fuse_mount/unmount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mntent.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>

#include "format/base/file_descriptor.h"

namespace iotape::fuse_mount {
namespace {

bool run_fusermount(const std::string& directory) {
  std::array<std::string, 5> words{"fusermount3", "-u", "-q", "--", directory};
  std::array<char*, 6> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  pid_t child = 0;
  if (::posix_spawnp(&child, "fusermount3", nullptr, nullptr, arguments.data(), environ) != 0) return false;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The image behind a mount of ours; the topmost when several lie over each other. Empty: there is none.
std::string image_of(const std::string& directory) {
  const std::unique_ptr<FILE, int (*)(FILE*)> mounts(::setmntent("/proc/self/mounts", "r"), &::endmntent);
  std::string image;
  mntent entry{};
  std::array<char, 16384> room{};
  while (mounts != nullptr &&
         ::getmntent_r(mounts.get(), &entry, room.data(), static_cast<int>(room.size())) != nullptr)
    if (directory == entry.mnt_dir) image = std::string_view(entry.mnt_type) == "fuse.iotape" ? entry.mnt_fsname : "";
  return image;
}

}  // namespace

bool detach(const std::string& directory) {
  if (::umount2(directory.c_str(), UMOUNT_NOFOLLOW) == 0) return true;
  return errno == EPERM && run_fusermount(directory);
}

Result<void> unmount_and_wait(const std::string& directory) {
  std::error_code error;
  // Only the parent is resolved: a mount whose program was killed cannot be looked into.
  const std::filesystem::path given = std::filesystem::absolute(directory, error).lexically_normal();
  const auto trimmed = given.has_filename() ? given : given.parent_path();
  const std::string place = (std::filesystem::weakly_canonical(trimmed.parent_path(), error) / trimmed.filename());
  const std::string image = image_of(place);
  if (image.empty()) return failure(ErrorCode::kNotFound, fmt::format("iotape has nothing mounted on {}", directory));
  const FileDescriptor file(::open(image.c_str(), O_RDONLY | O_CLOEXEC));
  if (!detach(place))
    return failure(ErrorCode::kIo, fmt::format("{} cannot be unmounted; it is in use, or not yours", directory));
  // Whoever serves the image holds a lock on it until it is clean.
  if (file)
    while (::flock(file.get(), LOCK_SH) != 0 && errno == EINTR) continue;
  return {};
}

}  // namespace iotape::fuse_mount
