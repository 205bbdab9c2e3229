#include "replayer/ext3/device/memory_device.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace iotape::ext3 {
namespace {

IoPart part_of(std::span<std::byte> bytes) { return {bytes.data(), static_cast<std::uint32_t>(bytes.size()), {}}; }

TEST(MemoryDevice, ReadsWhatWasWrittenAcrossChunksAndZerosElsewhere) {
  MemoryDevice device(1 << 20);
  std::array<std::byte, 4096> first{};
  std::array<std::byte, 4096> second{};
  first.fill(std::byte{1});
  second.fill(std::byte{2});
  const std::array<IoPart, 2> parts{part_of(first), part_of(second)};
  ASSERT_TRUE(device.write(65536 - 4096, parts, IoReason::kDemand));
  std::array<std::byte, 16384> back{};
  back.fill(std::byte{9});
  const std::array<IoPart, 1> whole{part_of(back)};
  ASSERT_TRUE(device.read(65536 - 8192, whole, IoReason::kDemand));
  EXPECT_EQ(back[0], std::byte{0});
  EXPECT_EQ(back[4096], std::byte{1});
  EXPECT_EQ(back[8192], std::byte{2});
  EXPECT_EQ(back[12288], std::byte{0});
}

TEST(MemoryDevice, RefusesWhatLiesBeyondItsEnd) {
  MemoryDevice device(8192);
  std::array<std::byte, 4096> bytes{};
  const std::array<IoPart, 1> parts{part_of(bytes)};
  EXPECT_TRUE(device.write(4096, parts, IoReason::kDemand));
  EXPECT_EQ(device.write(4608, parts, IoReason::kDemand).error().value, EIO);
  EXPECT_EQ(device.read(8192, parts, IoReason::kDemand).error().value, EIO);
}

}  // namespace
}  // namespace iotape::ext3
