#include "replayer/command/image_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "format/base/file_descriptor.h"
#include "replayer/ext3/device/device_use.h"

namespace iotape {
namespace {

bool same_file(const struct stat& a, const std::string& path) {
  struct stat other {};
  if (::stat(path.c_str(), &other) != 0) return false;
  return S_ISBLK(a.st_mode) ? S_ISBLK(other.st_mode) && a.st_rdev == other.st_rdev
                            : a.st_dev == other.st_dev && a.st_ino == other.st_ino;
}

Result<void> check_device(const ImagePlace& place, const struct stat& status) {
  const bool allowed =
      std::ranges::any_of(place.allow_writes, [&](const std::string& name) { return same_file(status, name); });
  if (allowed) return {};
  return failure(ErrorCode::kUsage, fmt::format("all data on {} would be lost; say --allow-writes {} if that is meant",
                                                place.path, place.path));
}

Result<void> check_file(const ImagePlace& place, const struct stat& status) {
  if (!S_ISREG(status.st_mode))
    return failure(ErrorCode::kUsage, fmt::format("{} is neither a file nor a block device", place.path));
  if (const std::string loop = ext3::other_user_of(place.path); !loop.empty())
    return failure(ErrorCode::kUsage, fmt::format("{} is in use as {}; detach it first", place.path, loop));
  return {};
}

// What lies there, in words; empty when it is zeros as far as anybody marks a disk.
std::string contents_of(ext3::FileDevice& device) {
  constexpr std::uint64_t kMarked = 128 << 10;
  std::vector<std::byte> bytes(std::min(device.size(), kMarked) / 512 * 512);
  const std::array<ext3::IoPart, 1> parts{{{bytes.data(), static_cast<std::uint32_t>(bytes.size()), {}}}};
  if (bytes.empty() || !device.read(0, parts, ext3::IoReason::kDemand)) return {};
  constexpr std::size_t kExtMagic = 1024 + 56;
  if (bytes.size() > kExtMagic + 1 && bytes[kExtMagic] == std::byte{0x53} && bytes[kExtMagic + 1] == std::byte{0xEF})
    return "an ext2, ext3 or ext4 filesystem";
  const bool zeros = std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
  return zeros ? "" : "data";
}

// Makes the file, or grows it to the size asked for.
Result<void> provide_file(const ImagePlace& place, bool exists, std::uint64_t size) {
  if (!exists && !place.bytes)
    return failure(ErrorCode::kUsage, fmt::format("{} does not exist; say how large it shall be", place.path));
  if (exists && (!place.bytes || *place.bytes <= size)) return {};
  const FileDescriptor file(::open(place.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!file) return system_failure(fmt::format("making {}", place.path), errno);
  if (::ftruncate(file.get(), static_cast<off_t>(*place.bytes)) == 0) return {};
  const int why = errno;
  if (!exists) ::unlink(place.path.c_str());
  return system_failure(fmt::format("giving {} its size", place.path), why);
}

}  // namespace

Result<ext3::FileDevice> open_for_new_filesystem(const ImagePlace& place) {
  struct stat status {};
  const bool exists = ::stat(place.path.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) return system_failure(place.path, errno);
  const bool block_device = exists && S_ISBLK(status.st_mode);
  if (block_device)
    IOTAPE_TRY(check_device(place, status));
  else if (exists)
    IOTAPE_TRY(check_file(place, status));
  if (exists && !place.force) {
    IOTAPE_ASSIGN(ext3::FileDevice before, ext3::FileDevice::open(place.path, ext3::FileDeviceMode::kReadOnly));
    if (const std::string contents = contents_of(before); !contents.empty())
      return failure(ErrorCode::kUsage, fmt::format("{} holds {}; --force if it may be lost", place.path, contents));
  }
  if (!block_device) IOTAPE_TRY(provide_file(place, exists, static_cast<std::uint64_t>(status.st_size)));
  return ext3::FileDevice::open(place.path, ext3::FileDeviceMode::kReadWrite);
}

}  // namespace iotape
