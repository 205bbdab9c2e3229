// Writing a whole buffer to a descriptor, however often the kernel takes only a part of it.
#pragma once

#include <string_view>

#include "format/base/result.h"

namespace iotape {

// doing names the file in the error: "writing x.iotape".
[[nodiscard]] Result<void> write_all(int descriptor, std::string_view bytes, std::string_view doing);

}  // namespace iotape
