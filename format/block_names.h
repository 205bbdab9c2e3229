// The words by which requests are shown and selected: "write", "flush", "journal". One spelling for text, JSON and
// --op.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/event.h"

namespace iotape {

[[nodiscard]] std::string_view block_operation_name(BlockOperation operation);
[[nodiscard]] std::optional<BlockOperation> block_operation_from_name(std::string_view name);
[[nodiscard]] std::vector<std::string> block_operation_names();

[[nodiscard]] std::string_view block_cause_name(BlockCause cause);
[[nodiscard]] std::string_view loss_cause_name(LossCause cause);

// "8:16", for devices whose name the trace does not tell.
[[nodiscard]] std::string device_number_text(DeviceId device);

}  // namespace iotape
