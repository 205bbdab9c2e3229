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

namespace iotape::ext3 {
namespace {

constexpr std::size_t kMaxVectors = 256;

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
      if (done <= 0) return refuse(done < 0 && errno == ENOSPC ? ENOSPC : EIO);
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

}  // namespace

Result<FileDevice> FileDevice::open(const std::string& path, FileDeviceMode mode) {
  const bool read_only = mode == FileDeviceMode::kReadOnly;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return system_failure(fmt::format("opening {}", path), errno);
  if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode))
    return failure(ErrorCode::kUsage, fmt::format("{} is neither a file nor a block device", path));
  const int exclusive = S_ISBLK(status.st_mode) && !read_only ? O_EXCL : 0;
  FileDescriptor file(::open(path.c_str(), (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | exclusive));
  if (!file) return system_failure(fmt::format("opening {}", path), errno);
  if (::flock(file.get(), (read_only ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0)
    return failure(ErrorCode::kIo, fmt::format("{} is in use by another iotape; unmount it first", path));
  IOTAPE_ASSIGN(const std::uint64_t size, size_of(file.get(), path, status));
  return FileDevice(std::move(file), size, read_only);
}

Answer<void> FileDevice::read(std::uint64_t offset, std::span<const IoPart> parts, IoReason) {
  return transfer_all(offset, parts,
                      [&](iovec* vectors, int count, off_t at) { return ::preadv(file_.get(), vectors, count, at); });
}

Answer<void> FileDevice::write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) {
  EXT3_TRY(transfer_all(
      offset, parts, [&](iovec* vectors, int count, off_t at) { return ::pwritev(file_.get(), vectors, count, at); }));
  if (reason != IoReason::kWriteBack) return {};
  // Nobody waits for it, so the machine would keep it until the next flush, which then waits for everything at once.
  std::uint64_t bytes = 0;
  for (const IoPart& part : parts) bytes += part.bytes;
  ::sync_file_range(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes), SYNC_FILE_RANGE_WRITE);
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
