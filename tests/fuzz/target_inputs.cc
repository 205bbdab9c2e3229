#include "tests/fuzz/target_inputs.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "replayer/target/operation_codec.h"
#include "replayer/target/target_spec.h"

namespace iotape::fuzz {
namespace {

void read_spec(std::string_view text) {
  const auto spec = parse_target_spec(text);
  if (!spec) return;
  for (const auto& [key, value] : spec->settings) {
    (void)spec->size_value(key);
    (void)spec->duration_value(key);
    (void)spec->switch_value(key);
  }
  if (spec->help) return;
  const auto again = parse_target_spec(spec->text());
  if (!again || !(*again == *spec)) std::abort();
}

void read_operation(std::span<const std::byte> bytes) {
  const auto operation = decode_operation(bytes);
  if (!operation) return;
  std::vector<std::byte> buffer(bytes.size());
  const auto used = encode_operation(*operation, buffer);
  if (!used || *used != bytes.size()) std::abort();
}

}  // namespace

void read_target(std::span<const std::uint8_t> bytes) {
  read_spec({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  read_operation(std::as_bytes(bytes));
}

}  // namespace iotape::fuzz
