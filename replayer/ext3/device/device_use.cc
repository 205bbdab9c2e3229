#include "replayer/ext3/device/device_use.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <linux/fs.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "format/base/file_descriptor.h"

namespace iotape::ext3 {
namespace {

bool is_same_file(const struct stat& image, const std::string& path) {
  struct stat other {};
  return ::stat(path.c_str(), &other) == 0 && image.st_dev == other.st_dev && image.st_ino == other.st_ino;
}

std::string loop_device_of(const struct stat& image) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/block", ignored)) {
    std::ifstream backing(entry.path() / "loop" / "backing_file");
    std::string path;
    if (std::getline(backing, path) && is_same_file(image, path)) return "/dev/" + entry.path().filename().string();
  }
  return {};
}

}  // namespace

std::string other_user_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  if (S_ISREG(status.st_mode)) return loop_device_of(status);
  if (!S_ISBLK(status.st_mode)) return {};
  const FileDescriptor alone(::open(path.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC));
  return !alone && errno == EBUSY ? "a mounted filesystem or a volume" : "";
}

bool is_read_only_device(const std::string& path) {
  const FileDescriptor device(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  int read_only = 0;
  return device && ::ioctl(device.get(), BLKROGET, &read_only) == 0 && read_only != 0;
}

}  // namespace iotape::ext3
