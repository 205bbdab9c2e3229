// FileDevice: a disk image in a file, or a block device of the machine.
#pragma once

#include <string>

#include "format/base/file_descriptor.h"
#include "format/base/result.h"
#include "replayer/ext3/device/block_device.h"

namespace iotape::ext3 {

enum class FileDeviceMode : std::uint8_t { kReadOnly, kReadWrite };

class FileDevice final : public BlockDevice {
 public:
  // Takes an exclusive lock (shared when read-only), so that two programs of ours never write one image. A block device
  // that is mounted or otherwise held is refused by the kernel (O_EXCL), a file that a loop device shows by us.
  static Result<FileDevice> open(const std::string& path, FileDeviceMode mode);
  FileDevice(FileDevice&& other) noexcept
      : file_(std::move(other.file_)),
        direct_(std::move(other.direct_)),
        size_(other.size_),
        read_only_(other.read_only_) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] bool read_only() const override { return read_only_; }
  [[nodiscard]] int descriptor() const { return file_.get(); }
  Answer<void> read(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override;
  Answer<void> write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override;
  Answer<void> write_zeros(std::uint64_t offset, std::uint64_t bytes, const BlockTag& tag) override;
  Answer<void> flush() override;

 private:
  FileDevice(FileDescriptor file, FileDescriptor direct, std::uint64_t size, bool read_only)
      : file_(std::move(file)), direct_(std::move(direct)), size_(size), read_only_(read_only) {}
  bool write_directly(std::uint64_t offset, std::span<const IoPart> parts);

  FileDescriptor file_;
  FileDescriptor direct_;  // the same without the host's page cache, where its filesystem allows that
  std::uint64_t size_ = 0;
  bool read_only_ = false;
};

}  // namespace iotape::ext3
