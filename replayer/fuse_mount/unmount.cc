#include "replayer/fuse_mount/unmount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mntent.h>
#include <poll.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "format/base/file_descriptor.h"
#include "format/quoting.h"
#include "replayer/ext3/device/file_device.h"
#include "replayer/ext3/mount.h"
#include "replayer/fuse_mount/server_facts.h"

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

// What a mount of ours serves.
struct Served {
  std::string image;  // empty: there is no such mount
  bool read_only = false;
};

// What getmntent leaves as the kernel wrote it: \\ and three octal digits (it knows blanks and the backslash only).
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const bool escape = text[i] == '\\' && i + 3 < text.size() &&
                        std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr == text.data() + i + 4;
    plain += escape ? static_cast<char>(code) : text[i];
    if (escape) i += 3;
  }
  return plain;
}

// The topmost when several lie over each other.
Served served_on(const std::string& directory) {
  const std::unique_ptr<FILE, int (*)(FILE*)> mounts(::setmntent("/proc/self/mounts", "r"), &::endmntent);
  Served served;
  mntent entry{};
  std::array<char, 16384> room{};
  while (mounts != nullptr &&
         ::getmntent_r(mounts.get(), &entry, room.data(), static_cast<int>(room.size())) != nullptr)
    if (directory == entry.mnt_dir || directory == unescaped(entry.mnt_dir)) {
      const bool ours = std::string_view(entry.mnt_type) == "fuse.iotape";
      served = {ours ? unescaped(entry.mnt_fsname) : "", ::hasmntopt(&entry, MNTOPT_RO) != nullptr};
    }
  return served;
}

// The program that serves a mount, and the image that it has open, whatever that is called by now.
struct Server {
  FileDescriptor process;  // a pidfd; none: it has been killed
  FileDescriptor image;
};

Server server_of(const std::string& directory, const std::string& image) {
  Server server;
  const FileDescriptor root(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ServerFacts facts;
  if (root && ::ioctl(root.get(), kGetServerFacts, &facts) == 0) {
    server.process.reset(static_cast<int>(::syscall(SYS_pidfd_open, facts.process, 0)));
    server.image.reset(::open(fmt::format("/proc/{}/fd/{}", facts.process, facts.image).c_str(), O_RDONLY | O_CLOEXEC));
  }
  if (!server.image) server.image.reset(::open(image.c_str(), O_RDONLY | O_CLOEXEC));
  return server;
}

// Until it has ended, or has at least let go of the image.
void wait_for_end(const Server& server) {
  pollfd ended{server.process.get(), POLLIN, 0};
  if (server.process)
    while (::poll(&ended, 1, -1) < 0 && errno == EINTR) continue;
  if (!server.process && server.image)
    while (::flock(server.image.get(), LOCK_SH) != 0 && errno == EINTR) continue;
}

// The program that served it has ended, on a terminal that nobody sees: the image tells how.
Result<void> judge(const Served& served, const Server& server) {
  if (served.read_only) return {};
  const std::string word = shell_word(served.image);
  auto image =
      ext3::FileDevice::open(fmt::format("/proc/self/fd/{}", server.image.get()), ext3::FileDeviceMode::kReadOnly);
  if (!server.image || !image)
    return failure(ErrorCode::kIo,
                   fmt::format("{} is unmounted; whether it is clean cannot be told, since it cannot be "
                               "opened here: iotape check can say",
                               word));
  switch (ext3::how_it_was_left(*image)) {
    case ext3::LeftAs::kClean:
      break;
    case ext3::LeftAs::kInUse:
      return failure(
          ErrorCode::kIo,
          fmt::format("{} is unmounted, but not clean: the program that served it was killed; the next mount "
                      "replays its journal, e2fsck -f {} puts it in order without one",
                      word, word));
    case ext3::LeftAs::kWithErrors:
      return failure(ErrorCode::kCorrupt,
                     fmt::format("{} is unmounted, but not whole: a write to it failed, or it was damaged before; "
                                 "e2fsck -f {} puts in order what is left",
                                 word, word));
  }
  return {};
}

}  // namespace

bool detach(const std::string& directory) {
  if (::umount2(directory.c_str(), UMOUNT_NOFOLLOW) == 0) return true;
  return errno == EPERM && run_fusermount(directory);
}

namespace {

// Whoever looks at mounts as they come and go has one in use for a moment.
bool detach_patiently(const std::string& directory) {
  constexpr int kTries = 10;
  for (int tried = 1; !detach(directory); ++tried) {
    if (errno != EBUSY || tried == kTries) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

}  // namespace

Result<void> unmount_and_wait(const std::string& directory) {
  std::error_code error;
  // Only the parent is resolved: a mount whose program was killed cannot be looked into.
  const std::filesystem::path given = std::filesystem::absolute(directory, error).lexically_normal();
  const auto trimmed = given.has_filename() ? given : given.parent_path();
  const std::string place = (std::filesystem::weakly_canonical(trimmed.parent_path(), error) / trimmed.filename());
  const Served served = served_on(place);
  if (served.image.empty())
    return failure(ErrorCode::kNotFound, fmt::format("iotape has nothing mounted on {}", shell_word(directory)));
  const Server server = server_of(place, served.image);
  if (!detach_patiently(place))
    return failure(ErrorCode::kIo, fmt::format("{} cannot be unmounted; it is in use, or not yours", directory));
  wait_for_end(server);
  return judge(served, server);
}

}  // namespace iotape::fuse_mount
