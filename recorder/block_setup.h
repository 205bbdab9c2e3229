// What the kernel side of the block layer has to be told of this kernel: the shapes of its tracepoints and the numbers
// of its operations and flags, all from BTF.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "format/trace_header.h"
#include "recorder/block_wire.h"

namespace iotape {

// The questions asked of BTF; a test answers them for kernels that are not at hand.
struct KernelShape {
  std::function<int(const std::string& tracepoint)> arity;  // arguments of its programs, -1: no such tracepoint
  std::function<std::optional<std::uint64_t>(const std::string& type, const std::string& name)> enumerator;
};

struct BlockSetup {
  wire_block_config config{};
  std::vector<std::string> absent_programs;  // of block.bpf.c, not to be loaded
  std::vector<MissingHook> missing;
  bool usable = true;  // false: without these hooks there are no requests at all
};

[[nodiscard]] BlockSetup plan_block(const KernelShape& kernel, bool listed_only);

// Names of all programs in block.bpf.c.
[[nodiscard]] std::vector<std::string> block_programs();

}  // namespace iotape
