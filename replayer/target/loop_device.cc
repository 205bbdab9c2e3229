#include "replayer/target/loop_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace iotape {
namespace {

// Under btrfs every overwrite of the image would go somewhere else and the replayed seeks would not be the disk's.
void forbid_copy_on_write(int image) {
  int flags = 0;
  if (::ioctl(image, FS_IOC_GETFLAGS, &flags) != 0) return;
  flags |= FS_NOCOW_FL;
  ::ioctl(image, FS_IOC_SETFLAGS, &flags);
}

Result<FileDescriptor> make_image(const std::string& directory, std::uint64_t bytes) {
  FileDescriptor image(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!image && (errno == EOPNOTSUPP || errno == EISDIR)) {  // a filesystem without nameless files
    std::string name = directory + "/iotape-image-XXXXXX";
    image.reset(::mkostemp(name.data(), O_CLOEXEC));
    if (image) ::unlink(name.c_str());
  }
  if (!image) return system_failure("making an image in " + directory + " (another place: scratch=DIR)", errno);
  forbid_copy_on_write(image.get());
  if (::ftruncate(image.get(), static_cast<off_t>(bytes)) != 0)
    return system_failure(fmt::format("making an image of {} bytes in {}", bytes, directory), errno);
  return image;
}

// Between asking for a free device and taking it another process may have taken it: EBUSY, and the next one is tried.
Result<FileDescriptor> attach(int control, int image, bool direct, std::string& path) {
  constexpr int kAttempts = 64;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int number = ::ioctl(control, LOOP_CTL_GET_FREE);
    if (number < 0) return system_failure("asking for a free loop device", errno);
    path = fmt::format("/dev/loop{}", number);
    FileDescriptor device(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!device) return system_failure(path, errno);
    loop_config config{};
    config.fd = static_cast<std::uint32_t>(image);
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR | (direct ? std::uint32_t{LO_FLAGS_DIRECT_IO} : 0U);
    std::memcpy(config.info.lo_file_name, "iotape", sizeof("iotape"));
    if (::ioctl(device.get(), LOOP_CONFIGURE, &config) == 0) return device;
    if (errno != EBUSY) return system_failure("attaching " + path, errno);
  }
  return failure(ErrorCode::kLimit, "no loop device stays free long enough to be taken");
}

}  // namespace

Result<LoopDevice> LoopDevice::make(const std::string& directory, std::uint64_t bytes, bool direct) {
  LoopDevice loop;
  const FileDescriptor control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) return system_failure("kernel: targets need root and loop devices (/dev/loop-control)", errno);
  IOTAPE_ASSIGN(loop.image_, make_image(directory, bytes));
  IOTAPE_ASSIGN(loop.device_, attach(control.get(), loop.image_.get(), direct, loop.path_));
  struct stat state {};
  if (::fstat(loop.device_.get(), &state) != 0) return system_failure(loop.path_, errno);
  loop.id_ = DeviceId::of(major(state.st_rdev), minor(state.st_rdev));
  loop_info64 info{};
  loop.direct_ =
      ::ioctl(loop.device_.get(), LOOP_GET_STATUS64, &info) == 0 && (info.lo_flags & LO_FLAGS_DIRECT_IO) != 0;
  return loop;
}

void LoopDevice::drop_image_cache() const {
  ::fsync(image_.get());
  ::posix_fadvise(image_.get(), 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace iotape
