#include "tests/fuzz/ext3_image_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "replayer/ext3/check/check_filesystem.h"
#include "replayer/ext3/device/memory_device.h"
#include "replayer/ext3/make_filesystem.h"
#include "replayer/ext3/mount.h"
#include "replayer/ext3/operations/file_operations.h"
#include "replayer/ext3/operations/namespace_operations.h"
#include "replayer/ext3/thread_host.h"
#include "replayer/ext3/volume.h"

namespace iotape::fuzz {
namespace {

using namespace ext3;  // NOLINT: this file is about nothing else

// An image as plain bytes, so that changes are cheap to make and to take back.
class BytesDevice final : public BlockDevice {
 public:
  explicit BytesDevice(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  Answer<void> read(std::uint64_t offset, std::span<const IoPart> parts, IoReason) override {
    for (const IoPart& part : parts) {
      if (offset > bytes_.size() || part.bytes > bytes_.size() - offset) return refuse(EIO);
      std::memcpy(part.data, bytes_.data() + offset, part.bytes);
      offset += part.bytes;
    }
    return {};
  }
  Answer<void> write(std::uint64_t, std::span<const IoPart>, IoReason) override { std::abort(); }
  Answer<void> flush() override { std::abort(); }

 private:
  std::vector<std::byte>& bytes_;
};

void must(bool done) {
  if (!done) std::abort();
}

// Directories linear and indexed in two levels, files with every depth of map, links, devices.
void fill(MemoryDevice& device) {
  ThreadHost host;
  auto volume = mount_volume(host, device, {});
  must(volume.has_value());
  {
    const HostEntry inside(host);
    const Caller caller{};
    auto root = (*volume)->inodes->get(kRootInode);
    must(root.has_value());
    NewNode node;
    node.mode = S_IFDIR | 0755;
    auto wide = create_node(**volume, **root, "wide", node, caller);
    auto deep = create_node(**volume, **root, "deep", node, caller);
    must(wide && deep && create_node(**volume, **deep, "deeper", node, caller));
    node.mode = S_IFREG | 0644;
    for (int i = 0; i < 900; ++i)
      must(create_node(**volume, **wide, fmt::format("{}{}", std::string(180, 'n'), i), node, caller).has_value());
    auto file = create_node(**volume, **deep, "file", node, caller);
    must(file.has_value());
    node.mode = S_IFLNK | 0777;
    const std::string target(100, 't');
    for (const std::size_t length : {10U, 100U}) {
      node.link_target = std::string_view(target).substr(0, length);
      must(create_node(**volume, **deep, fmt::format("link{}", length), node, caller).has_value());
    }
    node.mode = S_IFCHR | 0600;
    must(create_node(**volume, **deep, "device", node, caller).has_value());
  }
  must(unmount_volume(**volume).has_value());
}

struct Image {
  std::vector<std::byte> bytes;
  std::vector<std::uint32_t> used;  // blocks that hold something, 1 KiB each
};

Image make_image() {
  constexpr std::uint64_t kBytes = 4 << 20;
  MemoryDevice device(kBytes);
  FilesystemOptions options;
  options.block_size = 1024;
  options.inode_count = 1200;
  options.now = 1'700'000'000;
  must(make_filesystem(device, options).has_value());
  fill(device);
  Image image;
  image.bytes.resize(kBytes);
  const std::array<IoPart, 1> parts{{{image.bytes.data(), kBytes, {}}}};
  must(device.read(0, parts, IoReason::kDemand).has_value());
  BytesDevice sound(image.bytes);
  must(check_filesystem(sound).sound());
  for (std::uint32_t block = 1; block < kBytes / 1024; ++block)
    if (std::any_of(image.bytes.begin() + block * 1024, image.bytes.begin() + (block + 1) * 1024,
                    [](std::byte byte) { return byte != std::byte{0}; }))
      image.used.push_back(block);
  return image;
}

}  // namespace

void check_changed_image(std::span<const std::uint8_t> bytes) {
  static Image image = make_image();
  std::vector<std::pair<std::size_t, std::byte>> before;
  while (bytes.size() >= 5) {
    const std::size_t index = bytes[0] | bytes[1] << 8U;
    const std::size_t at =
        image.used[index % image.used.size()] * std::size_t{1024} + (bytes[2] | (bytes[3] & 3U) << 8U);
    const std::size_t length = std::min<std::size_t>(1 + (bytes[3] >> 4U), bytes.size() - 4);
    for (std::size_t i = 0; i < length && at + i < image.bytes.size(); ++i) {
      before.emplace_back(at + i, image.bytes[at + i]);
      image.bytes[at + i] = std::byte{bytes[4 + i]};
    }
    bytes = bytes.subspan(4 + length);
  }
  BytesDevice device(image.bytes);
  const CheckReport report = check_filesystem(device, {50});
  must(report.problems.size() <= 50 && report.problems.size() <= report.problem_count);
  for (auto change = before.rbegin(); change != before.rend(); ++change) image.bytes[change->first] = change->second;
}

}  // namespace iotape::fuzz
