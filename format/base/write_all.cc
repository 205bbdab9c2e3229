#include "format/base/write_all.h"

#include <unistd.h>

#include <cerrno>

namespace iotape {

Result<void> write_all(int descriptor, std::string_view bytes, std::string_view doing) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_failure(doing, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace iotape
