// ForgetfulDevice: keeps what the filesystem reads back of itself (its structures, symbolic links' targets) and not
// what files hold. The bytes of a simulated file come from a pool and go nowhere, so a disk of any size fits into
// memory.
#pragma once

#include "replayer/ext3/device/block_device.h"

namespace iotape::machine {

class ForgetfulDevice final : public ext3::BlockDevice {
 public:
  explicit ForgetfulDevice(std::unique_ptr<ext3::BlockDevice> below) : below_(std::move(below)) {}

  [[nodiscard]] std::uint64_t size() const override { return below_->size(); }
  // What files hold reads as zeros.
  ext3::Answer<void> read(std::uint64_t offset, std::span<const ext3::IoPart> parts, ext3::IoReason reason) override;
  ext3::Answer<void> write(std::uint64_t offset, std::span<const ext3::IoPart> parts, ext3::IoReason reason) override;
  ext3::Answer<void> flush() override { return below_->flush(); }

 private:
  template <typename Transfer>
  static ext3::Answer<void> each_kept(std::uint64_t offset, std::span<const ext3::IoPart> parts, Transfer transfer);

  std::unique_ptr<ext3::BlockDevice> below_;
};

}  // namespace iotape::machine
