#include "format/block_names.h"

#include <fmt/format.h>

#include "format/enum_names.h"

namespace iotape {

std::string_view block_operation_name(BlockOperation operation) { return enum_name(operation); }
std::string_view block_cause_name(BlockCause cause) { return enum_name(cause); }
std::string_view loss_cause_name(LossCause cause) { return enum_name(cause); }

std::optional<BlockOperation> block_operation_from_name(std::string_view name) {
  return enum_value<BlockOperation>(name);
}

std::vector<std::string> block_operation_names() {
  const auto names = names_of(BlockOperation{});
  return {names.begin(), names.end()};
}

std::string device_number_text(DeviceId device) {
  return fmt::format("{}:{}", device.major_number(), device.minor_number());
}

}  // namespace iotape
