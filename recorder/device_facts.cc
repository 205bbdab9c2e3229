#include "recorder/device_facts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/loop.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "format/base/byte_order.h"
#include "format/base/file_descriptor.h"

namespace iotape {
namespace {

// mountinfo writes space, tab, newline and backslash as \ooo.
std::string unescape(std::string_view text) {
  constexpr std::size_t kDigits = 3;
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && text.size() - i > kDigits && text[i + 1] >= '0' && text[i + 1] <= '3';
    if (escape)
      plain += static_cast<char>(std::strtol(std::string(text.substr(i + 1, kDigits)).c_str(), nullptr, 8));
    else
      plain += text[i];
    if (escape) i += kDigits;
  }
  return plain;
}

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream in{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Options that hold a path or a label tell about the machine, not about the filesystem's behaviour.
std::string neutral_options(const std::string& options) {
  std::istringstream in(options);
  std::string kept;
  for (std::string option; std::getline(in, option, ',');) {
    const bool private_name = option.find('/') != std::string::npos || option.starts_with("subvol=") ||
                              option.starts_with("fscontext") || option.starts_with("context");
    if (!private_name) kept += (kept.empty() ? "" : ",") + option;
  }
  return kept;
}

DeviceId block_device_of(const std::string& source, DeviceId device) {
  if (device.major_number() != 0) return device;
  struct stat info {};
  if (source.starts_with("/dev/") && ::stat(source.c_str(), &info) == 0 && S_ISBLK(info.st_mode))
    return kernel_device(info.st_rdev);
  return {};
}

// Where ext2/3/4 keep what decides the order of a directory; offsets in the superblock, which begins at byte 1024.
constexpr off_t kSuperblockOffset = 1024;
constexpr std::size_t kMagicOffset = 0x38;
constexpr std::size_t kHashSeedOffset = 0xEC;
constexpr std::size_t kHashVersionOffset = 0xFC;
constexpr std::uint16_t kExtMagic = 0xEF53;

void read_hash(MountInfo& mount) {
  if (!mount.filesystem.starts_with("ext") || mount.block_device.value == 0) return;
  const std::string path =
      fmt::format("/dev/block/{}:{}", mount.block_device.major_number(), mount.block_device.minor_number());
  const FileDescriptor device(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<unsigned char, 1024> block{};
  if (!device ||
      ::pread(device.get(), block.data(), block.size(), kSuperblockOffset) != static_cast<ssize_t>(block.size()))
    return;
  const unsigned magic = block[kMagicOffset] | unsigned{block[kMagicOffset + 1]} << 8U;
  if (magic != kExtMagic) return;
  std::array<std::uint32_t, 4> seed{};
  for (std::size_t word = 0; word < seed.size(); ++word)
    for (std::size_t byte = 0; byte < 4; ++byte)
      seed[word] |= std::uint32_t{block[kHashSeedOffset + 4 * word + byte]} << (8U * byte);
  mount.hash_version = block[kHashVersionOffset];
  mount.hash_seed = seed;
}

// statfs on a dead network mount would hang: only filesystems of this machine are asked.
bool is_local(const MountInfo& mount) {
  return mount.block_device.value != 0 || mount.filesystem == "tmpfs" || mount.filesystem == "overlay";
}

std::uint64_t number_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  in >> value;
  return value;
}

DeviceId device_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::uint32_t major_part = 0;
  std::uint32_t minor_part = 0;
  char colon = 0;
  in >> major_part >> colon >> minor_part;
  return DeviceId::of(major_part, minor_part);
}

// The whole disk that a loop device's image lies on. Asked of the driver: the image's name may be gone, or mean another
// file here. nullopt where no single disk is (tmpfs, btrfs) or the device node is not ours to open.
std::optional<DeviceId> disk_of_image(DeviceId loop) {
  const std::string path = fmt::format("/dev/block/{}:{}", loop.major_number(), loop.minor_number());
  const FileDescriptor device(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  loop_info64 status{};
  if (!device || ::ioctl(device.get(), LOOP_GET_STATUS64, &status) != 0 || major(status.lo_device) == 0)
    return std::nullopt;
  const std::filesystem::path place =
      fmt::format("/sys/dev/block/{}:{}", major(status.lo_device), minor(status.lo_device));
  std::error_code missing;
  if (std::filesystem::exists(place / "partition", missing))
    return device_in(std::filesystem::canonical(place, missing).parent_path() / "dev");
  return kernel_device(status.lo_device);
}

}  // namespace

DeviceId kernel_device(std::uint64_t user_device) { return DeviceId::of(major(user_device), minor(user_device)); }

// 36 35 98:0 /subtree /mount/point rw,noatime shared:1 - ext3 /dev/root rw,errors=continue
std::optional<MountInfo> parse_mount(std::string_view line) {
  const std::vector<std::string> words = words_of(line);
  constexpr std::size_t kFixedWords = 6;
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (words.size() < kFixedWords || words.end() - dash < 4) return std::nullopt;
  unsigned major_part = 0;
  unsigned minor_part = 0;
  if (std::sscanf(words[2].c_str(), "%u:%u", &major_part, &minor_part) != 2) return std::nullopt;
  MountInfo mount;
  mount.device = DeviceId::of(major_part, minor_part);
  mount.subtree = unescape(words[3]);
  mount.mount_point = unescape(words[4]);
  mount.filesystem = dash[1];
  mount.block_device = block_device_of(unescape(dash[2]), mount.device);
  mount.options = neutral_options(words[5] + "," + dash[3]);
  mount.read_only = words[5] == "ro" || words[5].starts_with("ro,");
  return mount;
}

std::vector<MountInfo> read_mounts(const std::string& mountinfo) {
  std::ifstream in(mountinfo);
  std::vector<MountInfo> mounts;
  for (std::string line; std::getline(in, line);) {
    auto mount = parse_mount(line);
    if (!mount) continue;
    struct statfs info {};
    if (is_local(*mount) && ::statfs(mount->mount_point.c_str(), &info) == 0)
      mount->block_size = static_cast<std::uint32_t>(info.f_bsize);
    read_hash(*mount);
    mounts.push_back(std::move(*mount));
  }
  return mounts;
}

namespace {

std::optional<std::uint64_t> mount_of(int file) {
  std::ifstream facts(fmt::format("/proc/self/fdinfo/{}", file));
  for (std::string key; facts >> key;) {
    std::uint64_t number = 0;
    if (key == "mnt_id:" && facts >> number) return number;
  }
  return std::nullopt;
}

// The number of a file's tree: the ioctl answers for the first inode of a tree without privileges.
std::uint64_t subvolume_of(int file) {
  struct statfs facts {};
  if (::fstatfs(file, &facts) != 0 || facts.f_type != BTRFS_SUPER_MAGIC) return 0;
  btrfs_ioctl_ino_lookup_args asked{};
  asked.objectid = BTRFS_FIRST_FREE_OBJECTID;
  return ::ioctl(file, BTRFS_IOC_INO_LOOKUP, &asked) == 0 ? asked.treeid : 0;
}

}  // namespace

std::optional<FilesystemPlace> filesystem_of(int file) {
  const auto mount = mount_of(file);
  if (!mount) return std::nullopt;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty() || words.front() != std::to_string(*mount)) continue;
    if (const auto facts = parse_mount(line)) return FilesystemPlace{facts->device, subvolume_of(file)};
  }
  return std::nullopt;
}

std::unordered_map<DeviceId, FilesystemPlace> read_subvolumes() {
  std::unordered_map<DeviceId, FilesystemPlace> found;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(" - btrfs ") == std::string::npos) continue;
    const auto mount = parse_mount(line);
    if (!mount) continue;
    const FileDescriptor top(::open(mount->mount_point.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat facts {};
    if (!top || ::fstat(top.get(), &facts) != 0) continue;
    if (const auto place = filesystem_of(top.get())) found.emplace(kernel_device(facts.st_dev), *place);
  }
  return found;
}

bool has_requests_under_way(DeviceId disk) {
  std::ifstream file(fmt::format("/sys/dev/block/{}:{}/inflight", disk.major_number(), disk.minor_number()));
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  return file >> reads >> writes && reads + writes != 0;
}

Result<DeviceId> find_device(const std::string& name) {
  unsigned major_part = 0;
  unsigned minor_part = 0;
  if (std::sscanf(name.c_str(), "%u:%u", &major_part, &minor_part) == 2) return DeviceId::of(major_part, minor_part);
  struct stat info {};
  const std::string path = name.starts_with("/") ? name : "/dev/" + name;
  if (::stat(path.c_str(), &info) != 0 || !S_ISBLK(info.st_mode))
    return failure(ErrorCode::kUsage, fmt::format("{} is no block device; lsblk lists them", name));
  return kernel_device(info.st_rdev);
}

std::optional<DeviceInfo> read_device(DeviceId device) {
  const std::filesystem::path link = fmt::format("/sys/dev/block/{}:{}", device.major_number(), device.minor_number());
  std::error_code missing;
  const std::filesystem::path place = std::filesystem::canonical(link, missing);
  if (missing) return std::nullopt;
  const bool partition = std::filesystem::exists(place / "partition", missing);
  const std::filesystem::path disk = partition ? place.parent_path() : place;
  DeviceInfo info;
  info.device = device;
  info.whole_disk = partition ? device_in(disk / "dev") : device;
  info.name = place.filename();
  info.start = Sectors(partition ? static_cast<std::int64_t>(number_in(place / "start")) : 0);
  info.size = Sectors(static_cast<std::int64_t>(number_in(place / "size")));
  info.rotational = number_in(disk / "queue/rotational") == 1;
  if (std::filesystem::exists(disk / "loop", missing)) info.backing = disk_of_image(info.whole_disk);
  return info;
}

}  // namespace iotape
