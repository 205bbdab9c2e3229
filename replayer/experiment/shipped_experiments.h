// The experiments that come with iotape: the specifications of traces/experiments, compiled in.
#pragma once

#include <span>
#include <string_view>

namespace iotape {

struct ShippedExperiment {
  std::string_view name;
  std::string_view text;  // of its specification
};

[[nodiscard]] std::span<const ShippedExperiment> shipped_experiments();
// Where the traces they name lay when this was built.
[[nodiscard]] std::string_view source_traces_directory();

}  // namespace iotape
