#include "tests/fuzz/ext3_volume_inputs.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "replayer/ext3/check/check_filesystem.h"
#include "replayer/ext3/device/memory_device.h"
#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/make_filesystem.h"
#include "replayer/ext3/mount.h"
#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/ext3/operations/file_operations.h"
#include "replayer/ext3/operations/namespace_operations.h"
#include "replayer/ext3/operations/xattr_operations.h"
#include "replayer/ext3/thread_host.h"

namespace iotape::fuzz {
namespace {

using namespace ext3;

constexpr std::uint64_t kVolumeBytes = std::uint64_t{4} << 20U;
constexpr int kFiles = 120;
constexpr int kMostVisited = 2000;
constexpr std::uint64_t kMostRead = 64 << 10;

MountOptions small_mount() {
  MountOptions options;
  options.cache_bytes = 1 << 20;
  options.barriers = false;
  return options;
}

void fill(Volume& volume) {
  const Caller root;
  const auto top = volume.inodes->get(kRootInode);
  const auto directory = create_node(volume, **top, "directory", {040755, 0, {}, 0}, root);
  for (int i = 0; directory && i < kFiles; ++i)
    (void)create_node(volume, **directory, fmt::format("a name long enough for an index {}", i), {0100644, 0, {}, 0},
                      root);
  const auto file = create_node(volume, **top, "file", {0100644, 0, {}, 0}, root);
  const std::vector<std::byte> bytes(40'000, std::byte{'x'});
  for (const std::uint64_t start : {0, 200'000, 70'000'000}) {
    std::uint64_t offset = start;
    if (file) (void)write_file(volume, **file, offset, bytes, false, root);
  }
  if (file) (void)write_xattr(volume, **file, "user.small", "value", XattrMode::kEither, root);
  if (file) (void)write_xattr(volume, **file, "user.large", std::string(700, 'v'), XattrMode::kEither, root);
  (void)create_node(volume, **top, "link", {0120777, 0, std::string(100, 't'), 0}, root);
  (void)sync_volume(volume);
  if (directory) (void)unlink_name(volume, **directory, "a name long enough for an index 7");
  if (file) (void)truncate_file(volume, **file, 250'000, root);
}

// A volume with an index, attributes in a block, indirect blocks and holes, and a journal that waits to be replayed.
const MemoryDevice& sound_volume() {
  static const std::unique_ptr<MemoryDevice> made = [] {
    auto device = std::make_unique<MemoryDevice>(kVolumeBytes);
    FilesystemOptions options;
    options.block_size = 1024;
    options.journal_blocks = 1024;
    options.inode_count = 256;
    if (!make_filesystem(*device, options)) std::abort();
    ThreadHost host;
    auto volume = mount_volume(host, *device, small_mount());
    if (!volume) std::abort();
    const HostEntry inside(host);
    fill(**volume);
    (void)(*volume)->journal->commit_running();
    auto left = device->copy();
    volume->reset();
    return left;
  }();
  return *made;
}

void write_at(MemoryDevice& device, std::uint64_t offset, std::span<const std::uint8_t> bytes) {
  std::vector<std::byte> copy(bytes.size());
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  const std::array<IoPart, 1> parts{{{copy.data(), static_cast<std::uint32_t>(copy.size()), {}}}};
  (void)device.write(offset, parts, IoReason::kDemand);
}

// Each patch: two bytes that name a block which is in use, two for the place within, one for the length, the bytes.
std::unique_ptr<MemoryDevice> patched(std::span<const std::uint8_t> bytes) {
  auto device = sound_volume().copy();
  constexpr std::size_t kHeader = 5;
  while (bytes.size() > kHeader) {
    const std::uint64_t block = (bytes[0] | bytes[1] << 8U) % (kVolumeBytes / 1024);
    const std::uint64_t within = (bytes[2] | bytes[3] << 8U) % 1024;
    const std::size_t length =
        std::min<std::size_t>({std::size_t{bytes[4]} + 1, bytes.size() - kHeader, 1024 - within});
    write_at(*device, block * 1024 + within, bytes.subspan(kHeader, length));
    bytes = bytes.subspan(kHeader + length);
  }
  return device;
}

class BoundedWalk {
 public:
  explicit BoundedWalk(Volume& volume) : volume_(volume) {}

  void visit(Inode& inode, int depth) {
    if (++visited_ > kMostVisited || depth > 20) return;
    look(inode);
    if (!inode.is_directory()) return;
    std::vector<std::string> names;
    {
      const SleepLockGuard locked(volume_.host, inode.lock);
      (void)read_directory(volume_, inode, 0, [&](const DirectoryListing& listing) {
        names.emplace_back(listing.name);
        return names.size() < kMostVisited;
      });
    }
    for (const std::string& name : names) {
      if (name == "." || name == "..") continue;
      const auto child = look_up(volume_, inode, name);
      if (child) visit(**child, depth + 1);
    }
  }

 private:
  void look(Inode& inode) {
    const auto names = read_xattr_names(volume_, inode);
    if (names)
      for (const std::string& name : *names) (void)read_xattr(volume_, inode, name);
    if (inode.is_symlink()) (void)read_symlink(volume_, inode);
    if (!inode.is_regular()) return;
    std::vector<std::byte> bytes(kMostRead);
    ReadAheadState ahead;
    (void)read_file(volume_, inode, 0, bytes, ahead);
    (void)seek_hole(volume_, inode, 0);
    (void)seek_data(volume_, inode, inode.size / 2);
  }

  Volume& volume_;
  int visited_ = 0;
};

void change(Volume& volume) {
  const Caller root;
  const auto top = volume.inodes->get(kRootInode);
  if (!top) return;
  const auto made = create_node(volume, **top, "new", {0100644, 0, {}, 0}, root);
  const std::vector<std::byte> bytes(3000, std::byte{'y'});
  std::uint64_t offset = 20'000;
  if (made) (void)write_file(volume, **made, offset, bytes, false, root);
  const auto file = look_up(volume, **top, "file");
  if (file) (void)truncate_file(volume, **file, 100, root);
  if (file) (void)write_xattr(volume, **file, "user.large", "", XattrMode::kEither, root);
  const auto directory = look_up(volume, **top, "directory");
  if (directory) (void)rename_node(volume, **directory, "a name long enough for an index 3", **top, "moved", 0, {});
  for (int i = 0; directory && i < 20; ++i)
    (void)create_node(volume, **directory, fmt::format("another name for the index {}", i), {0100644, 0, {}, 0}, root);
  (void)unlink_name(volume, **top, "file");
}

void use(BlockDevice& device) {
  ThreadHost host;
  auto volume = mount_volume(host, device, small_mount());
  if (!volume) return;
  {
    const HostEntry inside(host);
    const auto top = (*volume)->inodes->get(kRootInode);
    if (top) BoundedWalk(**volume).visit(**top, 0);
    change(**volume);
  }
  (void)unmount_volume(**volume);
  const HostEntry inside(host);
  volume->reset();
}

bool is_whole_image(std::span<const std::uint8_t> bytes) {
  return bytes.size() > 2048 && bytes[1080] == 0x53 && bytes[1081] == 0xEF;
}

}  // namespace

void use_ext3_volume(std::span<const std::uint8_t> bytes) {
  std::unique_ptr<MemoryDevice> device;
  if (is_whole_image(bytes)) {
    device = std::make_unique<MemoryDevice>(bytes.size());
    write_at(*device, 0, bytes);
  } else {
    device = patched(bytes);
  }
  const auto copy = device->copy();
  (void)check_filesystem(*copy);
  use(*device);
}

}  // namespace iotape::fuzz
