// Names for the addresses of a call stack, by the symbol readers of bcc (libbcc_bpf, no compiler behind it).
//
// User frames are (build-id, offset in the file): the kernel notes them when the stack is taken, so the process need
// not be there any more. Which file a build-id belongs to is found out when it is first needed: among the files seen
// to run, those the process has mapped, the separate debug files and the libraries of this machine.
// Symbol tables are read on first use and kept; nothing is read for stacks that are never asked for.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "format/base/strong_id.h"

namespace iotape {

using BuildId = std::array<std::uint8_t, 20>;  // shorter ones are padded with zeros

struct UserFrame {
  BuildId build_id{};
  bool has_build_id = false;  // false: code that belongs to no file, or a file without one
  std::uint64_t offset = 0;   // in the file; without a build-id the address
};

class StackSymbols {
 public:
  StackSymbols();
  ~StackSymbols();
  StackSymbols(const StackSymbols&) = delete;
  StackSymbols& operator=(const StackSymbols&) = delete;

  // A file that was seen to run. Cheap: it is looked at only when a build-id is searched for.
  void learn_file(std::string path);

  // One text per frame, e.g. "vfs_write+0x42 (kernel)", "main+0x1f (tar)", "0x7f0012 (unknown)"; innermost first, as
  // given. The process is asked for its mappings if it still runs.
  [[nodiscard]] std::vector<std::string> user_frames(ProcessId process, std::span<const UserFrame> frames);
  [[nodiscard]] std::vector<std::string> kernel_frames(std::span<const std::uint64_t> addresses);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace iotape
