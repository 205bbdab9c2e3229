#include "tests/ext3/support/mounted_disk.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "replayer/ext3/directory/directory.h"

namespace iotape::ext3::test {
namespace {

const Credentials kRoot;

template <typename T>
int error_of(const Answer<T>& answer) {
  return answer ? 0 : answer.error().value;
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

MountedDisk::MountedDisk(BlockDevice& device, const MountOptions& options) {
  auto mounted = mount_volume(host_, device, options, &report_);
  if (!mounted) {
    ADD_FAILURE() << mounted.error().message;
    return;
  }
  volume_ = std::move(*mounted);
}

MountedDisk::~MountedDisk() { unmount(); }

void MountedDisk::unmount() {
  if (!volume_) return;
  const auto answer = unmount_volume(*volume_);
  EXPECT_TRUE(answer) << "unmounting: errno " << answer.error().value;
  crash();
}

void MountedDisk::crash() {
  const HostEntry inside(host_);
  volume_.reset();
}

Answer<PathEnd> MountedDisk::walk(std::string_view path, LastSymlink last) {
  EXT3_ASSIGN(const InodeReference root, volume_->inodes->get(kRootInode));
  return walk_path(*volume_, {root, root}, path, last, kRoot);
}

int MountedDisk::create(std::string_view path, std::uint32_t mode, std::string_view link_target, std::uint64_t device) {
  const HostEntry inside(host_);
  const auto end = walk(path);
  if (!end) return end.error().value;
  if (!end->directory) return EEXIST;
  return error_of(create_node(*volume_, *end->directory, end->name, {mode, device, link_target}, {}));
}

int MountedDisk::unlink(std::string_view path) {
  const HostEntry inside(host_);
  const auto end = walk(path);
  if (!end) return end.error().value;
  if (!end->directory) return EISDIR;
  return error_of(unlink_name(*volume_, *end->directory, end->name));
}

int MountedDisk::remove_directory(std::string_view path) {
  const HostEntry inside(host_);
  const auto end = walk(path);
  if (!end) return end.error().value;
  if (!end->directory) return EBUSY;
  return error_of(ext3::remove_directory(*volume_, *end->directory, end->name));
}

int MountedDisk::link(std::string_view existing, std::string_view path) {
  const HostEntry inside(host_);
  const auto from = walk(existing);
  if (!from) return from.error().value;
  const auto to = walk(path);
  if (!to) return to.error().value;
  if (!from->inode) return ENOENT;
  return error_of(link_node(*volume_, *to->directory, to->name, *from->inode));
}

int MountedDisk::rename(std::string_view from, std::string_view to, std::uint32_t flags) {
  const HostEntry inside(host_);
  const auto source = walk(from);
  if (!source) return source.error().value;
  const auto target = walk(to);
  if (!target) return target.error().value;
  return error_of(rename_node(*volume_, *source->directory, source->name, *target->directory, target->name, flags, {}));
}

int MountedDisk::write(std::string_view path, std::uint64_t offset, std::string_view bytes) {
  const HostEntry inside(host_);
  const auto end = walk(path);
  if (!end) return end.error().value;
  if (!end->inode) return ENOENT;
  const auto written = write_file(*volume_, *end->inode, offset, bytes_of(bytes), false, {});
  if (!written) return written.error().value;
  return *written == bytes.size() ? 0 : -1;
}

int MountedDisk::truncate(std::string_view path, std::uint64_t size) {
  const HostEntry inside(host_);
  const auto end = walk(path);
  if (!end) return end.error().value;
  if (!end->inode) return ENOENT;
  return error_of(truncate_file(*volume_, *end->inode, size, {}));
}

int MountedDisk::sync(std::string_view path) {
  const HostEntry inside(host_);
  const auto end = walk(path);
  if (!end) return end.error().value;
  return error_of(sync_file(*volume_, *end->inode, false));
}

int MountedDisk::sync_all() {
  const HostEntry inside(host_);
  return error_of(sync_volume(*volume_));
}

std::string MountedDisk::read(std::string_view path, std::uint64_t offset, std::size_t length) {
  const HostEntry inside(host_);
  const auto end = walk(path);
  if (!end) return fmt::format("errno {}", end.error().value);
  if (!end->inode) return fmt::format("errno {}", ENOENT);
  std::string bytes(length, '\0');
  ReadAheadState ahead;
  const auto count = read_file(*volume_, *end->inode, offset, std::as_writable_bytes(std::span(bytes)), ahead);
  if (!count) return fmt::format("errno {}", count.error().value);
  bytes.resize(*count);
  return bytes;
}

std::string MountedDisk::read_link(std::string_view path) {
  const HostEntry inside(host_);
  const auto end = walk(path);
  if (!end) return fmt::format("errno {}", end.error().value);
  if (!end->inode) return fmt::format("errno {}", ENOENT);
  const auto target = read_symlink(*volume_, *end->inode);
  return target ? *target : fmt::format("errno {}", target.error().value);
}

std::string MountedDisk::list(std::string_view path) {
  const HostEntry inside(host_);
  const auto end = walk(path);
  if (!end || !end->inode) return "errno 2";
  std::vector<std::string> names;
  const SleepLockGuard locked(host_, end->inode->lock);
  const auto answer = read_directory(*volume_, *end->inode, 0, [&](const DirectoryListing& entry) {
    if (entry.name != "." && entry.name != "..") names.emplace_back(entry.name);
    return true;
  });
  if (!answer) return fmt::format("errno {}", answer.error().value);
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, " "));
}

InodeReference MountedDisk::get(std::string_view path) {
  const HostEntry inside(host_);
  auto end = walk(path);
  return end ? end->inode : InodeReference{};
}

}  // namespace iotape::ext3::test
