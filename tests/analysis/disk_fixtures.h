// A disk whose answers can be worked out by hand: a turn of 10 ms, 100 sectors per track outside and 50 inside, so that
// a sector takes 0.1 or 0.2 ms; 2 heads; seek 1 ms + 0.01 ms per cylinder; no overhead but 0.1 ms.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "analysis/disk/disk_model.h"
#include "analysis/disk/profile_parser.h"

namespace iotape::test {

class GivenFiles final : public ProfileFiles {
 public:
  Result<std::string> read(const std::string& name) override {
    if (name != "curve.seek") return failure(ErrorCode::kNotFound, name + ": no such file");
    return curve;
  }
  std::string curve = "Seek distances measured: 3\n1, 1.0\n10, 2.0\n100, 5.0\n";
};

inline const std::string kHandDisk =
    "rpm = 6000\nheads = 2\nzone = 100 100 10 20\nzone = 100 50 5 10\n"
    "seek = two-piece 1ms 0ms 1 1ms 0.01ms\nhead_switch = 0.5ms\nwrite_settle = 0.3ms\n"
    "miss_overhead = 0.1ms\nhit_overhead = 0.1ms\nwrite_overhead = 0.1ms\nbus_rate = 51200000\n";

inline DiskProfile parsed(const std::string& text) {
  GivenFiles files;
  auto profile = parse_disk_profile(text, "test.disk", "test", files);
  EXPECT_TRUE(profile) << (profile ? "" : profile.error().message);
  return profile ? *profile : DiskProfile();
}

inline std::string refusal(const std::string& text) {
  GivenFiles files;
  auto profile = parse_disk_profile(text, "test.disk", "test", files);
  EXPECT_FALSE(profile) << text;
  return profile ? "" : profile.error().message;
}

inline DiskRequest request(std::int64_t microseconds, std::int64_t start, std::int64_t length,
                           DiskAction action = DiskAction::kRead) {
  return {Nanoseconds(microseconds * 1000), Sectors(start), Sectors(length), action, false};
}

}  // namespace iotape::test
