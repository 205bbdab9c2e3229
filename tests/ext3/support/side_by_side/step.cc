#include "tests/ext3/support/side_by_side/step.h"

#include <fmt/format.h>

#include <cstring>

namespace iotape::ext3::test {
namespace {

constexpr std::size_t kMostBytesShown = 48;

struct FieldText {
  std::string text;
  void add(std::string_view name, const std::string& value) { text += fmt::format(" {}={}", name, value); }
  void field(std::string_view name, const PathArgument& path) {
    if (path.directory.number != kAtCurrentDirectory) add("dirfd", std::to_string(path.directory.number));
    add(name, printable_bytes(path.bytes));
  }
  void field(std::string_view name, const Text& value) { add(name, printable_bytes(value.bytes)); }
  void field(std::string_view name, const Descriptor& descriptor) { add(name, std::to_string(descriptor.number)); }
  void field(std::string_view name, const FilePosition& position) { add(name, std::to_string(position.value)); }
  void field(std::string_view name, const TimeArgument& time) {
    add(name, fmt::format("{}.{}", time.seconds, time.nanoseconds));
  }
  void field(std::string_view name, std::int64_t value) { add(name, fmt::format("{}", value)); }
  void field(std::string_view name, bool value) { add(name, value ? "yes" : "no"); }
  void field(std::string_view /*name*/, const SegmentLengths& /*segments*/) {}
  void field(std::string_view /*name*/, const FileReference& /*file*/) {}
};

template <typename Op>
constexpr std::string_view kind_name() {
  constexpr std::string_view all = __PRETTY_FUNCTION__;
  constexpr std::size_t from = all.find("iotape::", all.find("Op = ")) + 8;
  return all.substr(from, all.find_first_of(";]", from) - from);
}

}  // namespace

void fill_bytes(std::uint64_t fill, std::size_t length, std::vector<std::byte>& bytes) {
  bytes.resize((length + 7) & ~std::size_t{7});
  std::uint64_t state = fill | 1U;
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::memcpy(bytes.data() + at, &state, 8);
  }
}

std::string printable_bytes(const std::string& bytes) {
  std::string text;
  for (const char c : bytes.substr(0, kMostBytesShown))
    text += c > ' ' && c < 127 ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  if (bytes.size() > kMostBytesShown) text += fmt::format("...({} bytes)", bytes.size());
  return text;
}

std::string describe(const Step& step) {
  FieldText text;
  std::visit(
      [&]<typename Op>(const Op& operation) {
        text.text = kind_name<Op>();
        for_each_field(operation, [&](const auto& field, const auto& value) { text.field(field.name, value); });
      },
      step.operation);
  return fmt::format("[{}] {}{}", step.number, text.text, step.user == 0 ? "" : fmt::format(" by {}", step.user));
}

std::string describe(const StepOutcome& outcome) {
  if (!outcome.ok()) return fmt::format("{} ({})", strerrorname_np(outcome.error), outcome.error);
  std::string text = fmt::format("{}", outcome.value);
  if (!outcome.seen.empty()) text += " " + printable_bytes(outcome.seen);
  for (const std::string& name : outcome.names) text += " " + printable_bytes(name);
  return text;
}

}  // namespace iotape::ext3::test
