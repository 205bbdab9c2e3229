#include "replayer/ext3/device/file_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/fs.h>

#include <algorithm>
#include <array>

#include "replayer/ext3/device/device_use.h"

namespace iotape::ext3 {
namespace {

constexpr std::size_t kMaxVectors = 256;
constexpr std::uint64_t kLeastDirect = std::uint64_t{128} << 10U;

Result<std::uint64_t> size_of(int descriptor, const std::string& path, const struct stat& status) {
  if (S_ISREG(status.st_mode)) return static_cast<std::uint64_t>(status.st_size);
  std::uint64_t bytes = 0;
  if (::ioctl(descriptor, BLKGETSIZE64, &bytes) != 0)
    return system_failure(fmt::format("asking the size of {}", path), errno);
  return bytes;
}

// One preadv or pwritev goes on where the last stopped; a file that ends early is EIO.
template <typename Transfer>
Answer<void> transfer_all(std::uint64_t offset, std::span<const IoPart> parts, const Transfer& transfer) {
  std::array<iovec, kMaxVectors> vectors{};
  while (!parts.empty()) {
    const std::size_t count = std::min(parts.size(), kMaxVectors);
    for (std::size_t i = 0; i < count; ++i) vectors[i] = {parts[i].data, parts[i].bytes};
    std::span<iovec> left(vectors.data(), count);
    while (!left.empty()) {
      const ssize_t done = transfer(left.data(), static_cast<int>(left.size()), static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      const bool no_room = done < 0 && (errno == ENOSPC || errno == EFBIG || errno == EDQUOT);
      if (done <= 0) return refuse(no_room ? ENOSPC : EIO);
      offset += static_cast<std::uint64_t>(done);
      auto rest = static_cast<std::size_t>(done);
      while (!left.empty() && rest >= left.front().iov_len) {
        rest -= left.front().iov_len;
        left = left.subspan(1);
      }
      if (rest != 0) {
        left.front().iov_base = static_cast<std::byte*>(left.front().iov_base) + rest;
        left.front().iov_len -= rest;
      }
    }
    parts = parts.subspan(count);
  }
  return {};
}

std::uint64_t total_bytes(std::span<const IoPart> parts) {
  std::uint64_t bytes = 0;
  for (const IoPart& part : parts) bytes += part.bytes;
  return bytes;
}

// Through the descriptor, since the name may mean something else by now. None where it cannot be had (tmpfs once).
FileDescriptor open_directly(int descriptor) {
  return FileDescriptor(::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC));
}

}  // namespace

Result<FileDevice> FileDevice::open(const std::string& path, FileDeviceMode mode) {
  const bool read_only = mode == FileDeviceMode::kReadOnly;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return system_failure(fmt::format("opening {}", path), errno);
  if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode))
    return failure(ErrorCode::kUsage, fmt::format("{} is neither a file nor a block device", path));
  if (const std::string user = !read_only && S_ISREG(status.st_mode) ? other_user_of(path) : ""; !user.empty())
    return failure(ErrorCode::kIo,
                   fmt::format("{} is in use as {}; unmount and detach it first (losetup -d)", path, user));
  if (!read_only && S_ISBLK(status.st_mode) && is_read_only_device(path))
    return failure(ErrorCode::kIo, fmt::format("{} is a read-only device", path));
  const int exclusive = S_ISBLK(status.st_mode) && !read_only ? O_EXCL : 0;
  FileDescriptor file(::open(path.c_str(), (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | exclusive));
  if (!file) return system_failure(fmt::format("opening {}", path), errno);
  if (::flock(file.get(), (read_only ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0)
    return failure(ErrorCode::kIo, fmt::format("{} is in use by another iotape; unmount it first", path));
  IOTAPE_ASSIGN(const std::uint64_t size, size_of(file.get(), path, status));
  FileDescriptor direct = read_only ? FileDescriptor() : open_directly(file.get());
  return FileDevice(std::move(file), std::move(direct), size, read_only);
}

Answer<void> FileDevice::read(std::uint64_t offset, std::span<const IoPart> parts, IoReason) {
  return transfer_all(offset, parts,
                      [&](iovec* vectors, int count, off_t at) { return ::preadv(file_.get(), vectors, count, at); });
}

// What the cache above keeps need not lie in the host's page cache a second time: filling that costs more than the
// disk. False: written in part or not at all (not aligned as the host's disk wants it, or worse), nothing is known.
bool FileDevice::write_directly(std::uint64_t offset, std::span<const IoPart> parts) {
  if (!direct_ || total_bytes(parts) < kLeastDirect) return false;
  return transfer_all(offset, parts,
                      [&](iovec* vectors, int count, off_t at) { return ::pwritev(direct_.get(), vectors, count, at); })
      .has_value();
}

Answer<void> FileDevice::write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) {
  if (write_directly(offset, parts)) return {};
  EXT3_TRY(transfer_all(
      offset, parts, [&](iovec* vectors, int count, off_t at) { return ::pwritev(file_.get(), vectors, count, at); }));
  if (reason != IoReason::kWriteBack) return {};
  // Nobody waits for it, so the machine would keep it until the next flush, which then waits for everything at once.
  ::sync_file_range(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(total_bytes(parts)),
                    SYNC_FILE_RANGE_WRITE);
  return {};
}

Answer<void> FileDevice::write_zeros(std::uint64_t offset, std::uint64_t bytes, const BlockTag& tag) {
  if (offset > size_ || bytes > size_ - offset) return refuse(EIO);
  if (bytes == 0) return {};
  // Punching keeps a sparse image sparse; a block device that can zero a range by itself answers the same call.
  if (::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                  static_cast<off_t>(bytes)) == 0)
    return {};
  return BlockDevice::write_zeros(offset, bytes, tag);
}

Answer<void> FileDevice::flush() {
  if (::fdatasync(file_.get()) != 0) return refuse(EIO);
  return {};
}

}  // namespace iotape::ext3
