// Which names an operation takes.
#pragma once

#include <string_view>

#include "replayer/ext3/types.h"

namespace iotape::ext3 {

inline bool is_dots(std::string_view name) { return name == "." || name == ".."; }

// 1 to 255 bytes, without '/' and NUL: checked before anything is written.
inline Answer<void> check_name(std::string_view name) {
  if (name.size() > kNameLimit) return refuse(ENAMETOOLONG);
  if (name.empty()) return refuse(ENOENT);
  if (name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos) return refuse(EINVAL);
  return {};
}

}  // namespace iotape::ext3
