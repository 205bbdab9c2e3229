// Where a recording is written: naming, creating and guarding the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "format/base/file_descriptor.h"
#include "format/base/result.h"

namespace iotape {

struct TraceOutput {
  FileDescriptor file;
  std::string name;  // as the user would type it; "-" for standard output
  [[nodiscard]] bool standard_output() const { return name == "-"; }
};

struct TraceOutputOptions {
  std::string wanted;   // -o; empty: named after the command
  std::string command;  // first word of the command, "all" or "PID" without one
  bool force = false;
  bool stdout_is_terminal = false;
  std::optional<std::uint32_t> owner_user;  // $SUDO_UID, $SUDO_GID
  std::optional<std::uint32_t> owner_group;
};

// Creates the file, mode 0600. Without a wanted name: COMMAND.iotape, then COMMAND.2.iotape, ... in the current
// directory. An existing file is an error unless force is given.
Result<TraceOutput> open_trace_output(const TraceOutputOptions& options);

}  // namespace iotape
