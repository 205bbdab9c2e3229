#include "format/base/result.h"

#include <fmt/format.h>

#include <cstring>

namespace iotape {

tl::unexpected<Error> system_failure(std::string_view what, int os_errno) {
  return tl::make_unexpected(Error{ErrorCode::kIo, fmt::format("{}: {}", what, strerrordesc_np(os_errno)), os_errno});
}

}  // namespace iotape
