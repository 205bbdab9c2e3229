#include "recorder/removal_watch.h"

#include <functional>

namespace iotape {
namespace {

std::uint64_t key_of(std::string_view path) { return std::hash<std::string_view>{}(path); }

std::string_view directory_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

bool holds(std::string_view point, std::string_view path) {
  return point == "/" || (path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/'));
}

// Those the kernel side has a hook for, see bpf/states.bpf.c; ext2 and ext3 are served by ext4.
bool shows_removals(std::string_view filesystem) {
  return filesystem.starts_with("ext") || filesystem == "xfs" || filesystem == "btrfs";
}

}  // namespace

void RemovalWatch::mounted(const MountInfo& mount) {
  constexpr std::size_t kMaximumMounts = 1000;
  if (mounts_.size() < kMaximumMounts)
    mounts_.push_back({mount.mount_point, mount.device, shows_removals(mount.filesystem)});
}

// The deepest one, and of several on one place the youngest.
const RemovalWatch::Mount* RemovalWatch::mount_of(std::string_view path) const {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts_)
    if (holds(mount.point, path) && (best == nullptr || mount.point.size() >= best->point.size())) best = &mount;
  return best;
}

void RemovalWatch::known(std::string_view path) {
  if (!path.starts_with('/') || overflowed_) return;
  known_.insert(key_of(path));
  if (known_.size() <= kMaximumPaths) return;
  overflowed_ = true;
  known_ = {};
}

void RemovalWatch::moved(std::string_view from, std::string_view to) {
  if (known_.erase(key_of(from)) != 0) known(to);
}

void RemovalWatch::removed(std::string_view path) {
  if (!path.starts_with('/') || overflowed_ || known_.erase(key_of(path)) != 0) return;
  const Mount* mount = mount_of(path);
  if (mount != nullptr && mount->shows_removals) return;
  ++unseen_;
  directories_.add(mount == nullptr ? DeviceId{} : mount->device, directory_of(path));
}

}  // namespace iotape
