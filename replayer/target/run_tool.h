// Runs one of the system's programs to its end, words as they are, no shell.
#pragma once

#include <string>
#include <vector>

#include "format/base/result.h"

namespace iotape {

struct ToolOutput {
  int wait_status = 0;
  std::string text;  // stdout and stderr, at most 64 KiB
};

// Looked for in $PATH's usual places and the administrator's (/usr/sbin, /sbin). kNotFound when it is not there.
Result<std::string> find_tool(const std::string& name);
Result<ToolOutput> run_tool(const std::vector<std::string>& words);

}  // namespace iotape
