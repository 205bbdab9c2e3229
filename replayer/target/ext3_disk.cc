#include "replayer/target/ext3_disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "replayer/ext3/device/file_device.h"
#include "replayer/ext3/device/memory_device.h"

namespace iotape {
namespace {

Result<Ext3Disk> open_bytes(const TargetSpec& spec, const Ext3Settings& settings) {
  Ext3Disk disk;
  if (spec.place.empty()) {
    disk.device = std::make_unique<ext3::MemoryDevice>(settings.bytes);
    return disk;
  }
  struct stat status {};
  disk.fresh = ::stat(spec.place.c_str(), &status) != 0 && errno == ENOENT;
  if (disk.fresh) {
    const FileDescriptor image(::open(spec.place.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!image) return system_failure(fmt::format("making {}", spec.place), errno);
    if (::ftruncate(image.get(), static_cast<off_t>(settings.bytes)) != 0) {
      const int why = errno;
      ::unlink(spec.place.c_str());
      return system_failure(fmt::format("making {}", spec.place), why);
    }
  }
  IOTAPE_ASSIGN(ext3::FileDevice device, ext3::FileDevice::open(spec.place, ext3::FileDeviceMode::kReadWrite));
  disk.device = std::make_unique<ext3::FileDevice>(std::move(device));
  return disk;
}

// Keys that shape a filesystem when it is made. Taken silently, a run would be quoted under words it never obeyed.
constexpr std::array<std::string_view, 7> kMakingKeys{"size",    "block", "inodes",   "inode_size",
                                                      "journal", "hash",  "hash_seed"};

Result<void> check_nothing_is_made(const TargetSpec& spec) {
  for (const std::string_view key : kMakingKeys)
    if (spec.given(key))
      return failure(ErrorCode::kUsage,
                     fmt::format("{} exists, and {}= says how a filesystem is made; leave it out, or "
                                 "name an image that does not exist yet",
                                 spec.place, key));
  return {};
}

}  // namespace

Result<Ext3Disk> open_ext3_disk(const TargetSpec& spec, Ext3Settings& settings, std::int64_t made_at) {
  IOTAPE_ASSIGN(Ext3Disk disk, open_bytes(spec, settings));
  if (!disk.fresh) {
    IOTAPE_TRY(check_nothing_is_made(spec));
    return disk;
  }
  settings.make.now = made_at;
  auto made = ext3::make_filesystem(*disk.device, settings.make);
  if (made) return disk;
  if (!spec.place.empty()) ::unlink(spec.place.c_str());  // nobody is left with half a filesystem
  return tl::make_unexpected(std::move(made).error().within(spec.text()));
}

}  // namespace iotape
