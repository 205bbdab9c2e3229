// Opening what a command reads, the way every command does it.
#pragma once

#include <string>

#include "format/base/file_descriptor.h"
#include "format/base/result.h"

namespace iotape {

// "-" gives a duplicate of standard input.
[[nodiscard]] Result<FileDescriptor> open_input(const std::string& path);
// What messages call it: the path, or "standard input".
[[nodiscard]] std::string input_name(const std::string& path);

}  // namespace iotape
