// Runs one of the system's programs to its end, words as they are, no shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "format/base/result.h"

namespace iotape {

struct ToolOutput {
  int wait_status = 0;
  std::string text;  // stdout and stderr, at most 64 KiB
};

// Looked for in $PATH's usual places and the administrator's (/usr/sbin, /sbin). kNotFound when it is not there.
Result<std::string> find_tool(const std::string& name);
// Runs it with nothing on stdin and the environment's language off.
Result<ToolOutput> run_tool(const std::vector<std::string>& words);

// What a tool that failed said of the reason, on one line: its output without blank lines, the usage it prints after a
// word it does not know, and control characters; at most a few hundred bytes. Empty when it said nothing.
[[nodiscard]] std::string complaint_of(std::string_view output);

}  // namespace iotape
