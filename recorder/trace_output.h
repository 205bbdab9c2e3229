// Where a recording is written: naming, creating and guarding the file.
//
// The file is there from the start and readable as far as it got, whatever ends the recorder. What --force replaces
// stays until the recording has begun for good, and a file another recording is writing is never replaced: a recording
// keeps a lock (flock) on its file, and names change hands under a lock on their directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "format/base/file_descriptor.h"
#include "format/base/result.h"
#include "format/output_file.h"

namespace iotape {

struct TraceOutputOptions {
  std::string wanted;   // -o; empty: named after the command
  std::string command;  // first word of the command, "all" or "PID" without one
  bool force = false;
  bool stdout_is_terminal = false;
  std::optional<std::uint32_t> owner_user;  // $SUDO_UID, $SUDO_GID
  std::optional<std::uint32_t> owner_group;
};

class TraceOutput {
 public:
  // Creates the file, mode 0600. Without a wanted name: COMMAND.iotape, then COMMAND.2.iotape, ... in the current
  // directory. An existing file is an error unless force is given (then it stays as it is until publish), and one that
  // is being recorded into always is.
  static Result<TraceOutput> open(const TraceOutputOptions& options);

  // For the writer, once. The lock is held as long as the writer has it.
  [[nodiscard]] FileDescriptor take_file() { return std::move(file_); }
  [[nodiscard]] const std::string& name() const { return name_; }  // as the user would type it; "-": standard output
  [[nodiscard]] bool standard_output() const { return name_ == "-"; }

  // The recording has begun: the file takes the place of the one it replaces, if it does.
  Result<void> publish();
  // Nothing was recorded: no file is left behind, and what was to be replaced is as it was.
  void discard();

 private:
  TraceOutput(FileDescriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  static Result<TraceOutput> create_default(const std::string& command);
  static Result<TraceOutput> create_wanted(const std::string& path, bool force);
  static Result<TraceOutput> replace(const std::string& path);
  static TraceOutput made(FileDescriptor file, const std::string& name);

  FileDescriptor file_;
  std::string name_;
  std::uint64_t device_ = 0;  // of a file made under its name
  std::uint64_t inode_ = 0;
  std::optional<OutputFile> replacing_;
};

}  // namespace iotape
