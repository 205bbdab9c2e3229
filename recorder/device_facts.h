// Facts about mounts and block devices, from mountinfo, sysfs and (read only) the superblock of ext2/3/4.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/base/result.h"
#include "format/event.h"

namespace iotape {

// All mounts of the namespace whose mountinfo file is given.
[[nodiscard]] std::vector<MountInfo> read_mounts(const std::string& mountinfo = "/proc/self/mountinfo");
// nullopt for a line that is no mountinfo line.
[[nodiscard]] std::optional<MountInfo> parse_mount(std::string_view line);
// nullopt when sysfs has no such block device.
[[nodiscard]] std::optional<DeviceInfo> read_device(DeviceId device);
// What the kernel calls the filesystem an open file is on, and of btrfs the subvolume: (s_dev, root id). stat(2) shows
// another device for every subvolume. nullopt when /proc does not tell.
struct FilesystemPlace {
  DeviceId device;
  std::uint64_t subvolume = 0;
};
[[nodiscard]] std::optional<FilesystemPlace> filesystem_of(int file);
// By the device stat(2) shows, the mounted subvolumes of every btrfs.
[[nodiscard]] std::unordered_map<DeviceId, FilesystemPlace> read_subvolumes();
// Whether the kernel counts requests under way on this disk. False also when it does not say. Flushes are not counted.
[[nodiscard]] bool has_requests_under_way(DeviceId disk);
// "sda", "/dev/sda" or "8:0".
Result<DeviceId> find_device(const std::string& name);
// The kernel's dev_t from userspace's.
[[nodiscard]] DeviceId kernel_device(std::uint64_t user_device);

}  // namespace iotape
