#include "replayer/fuse_mount/kernel_readahead.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "format/base/file_descriptor.h"

namespace iotape::fuse_mount {
namespace {

constexpr std::string_view kKibibytes = "4096";  // several requests, so that we read one while another is answered

}  // namespace

void KernelReadahead::mounted_on(const std::string& directory) {
  struct statx status {};
  // What the kernel knows by itself: a request would wait for an answer of ours.
  if (::statx(AT_FDCWD, directory.c_str(), AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, 0, &status) == 0)
    setting_ = fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", status.stx_dev_major, status.stx_dev_minor);
}

void KernelReadahead::widen() {
  std::call_once(once_, [this] {
    const FileDescriptor setting(::open(setting_.c_str(), O_WRONLY | O_CLOEXEC));
    if (setting) (void)!::write(setting.get(), kKibibytes.data(), kKibibytes.size());
  });
}

}  // namespace iotape::fuse_mount
