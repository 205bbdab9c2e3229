// Names of the enumerations a trace stores, and of its operations and kinds of event: the words that JSON, CSV and text
// use and that JSON input accepts. Part of the published output, so they change no more than the numbers do.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "format/event.h"
#include "format/trace_header.h"

namespace iotape {

// names_of(E{}) lists the words in the order of E's numbers.
[[nodiscard]] std::span<const std::string_view> names_of(FileKind);
[[nodiscard]] std::span<const std::string_view> names_of(TextState);
[[nodiscard]] std::span<const std::string_view> names_of(CallInterface);
[[nodiscard]] std::span<const std::string_view> names_of(SkipReason);
[[nodiscard]] std::span<const std::string_view> names_of(BlockOperation);
[[nodiscard]] std::span<const std::string_view> names_of(BlockCause);
[[nodiscard]] std::span<const std::string_view> names_of(StateSource);
[[nodiscard]] std::span<const std::string_view> names_of(LossCause);
[[nodiscard]] std::span<const std::string_view> names_of(ClockKind);
[[nodiscard]] std::span<const std::string_view> names_of(CacheCondition);
// Bit i of BlockRequest::flags is called names_of(BlockFlag{})[i].
[[nodiscard]] std::span<const std::string_view> names_of(BlockFlag);

template <typename E>
concept NamedEnum = std::is_enum_v<E> && requires {
  names_of(E{});
};

// The word for a value; "unknown" for a number that has none.
template <NamedEnum E>
[[nodiscard]] std::string_view enum_name(E value) {
  const auto names = names_of(E{});
  const auto index = static_cast<std::size_t>(value);
  return index < names.size() ? names[index] : "unknown";
}

template <NamedEnum E>
[[nodiscard]] std::optional<E> enum_value(std::string_view name) {
  const auto names = names_of(E{});
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<E>(found - names.begin());
}

// What a loss of this cause means, as one phrase for people.
[[nodiscard]] std::string_view loss_meaning(LossCause cause);

// blkparse's letters: R W D, F before for a preflush, F after for FUA, A readahead, S sync, M metadata.
[[nodiscard]] std::string rwbs(BlockOperation operation, std::uint32_t flags);

// "8:16": how devices are called that the trace has no name for, and how --device takes them.
[[nodiscard]] std::string device_number_text(DeviceId device);

// The name of a type of this namespace as written in its header: "MakeDirectory".
template <typename T>
[[nodiscard]] constexpr std::string_view type_name() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t start = text.find("T = ") + 4;
  const std::string_view full = text.substr(start, text.find_first_of(";]", start) - start);
  const std::size_t scope = full.rfind("::");
  return scope == std::string_view::npos ? full : full.substr(scope + 2);
}

// "make_directory" for "MakeDirectory".
[[nodiscard]] std::string snake_case(std::string_view camel_case);

// "syscall", "block_request", "process_start", ...
[[nodiscard]] std::string_view event_kind_name(const EventBody& body);
// "open", "make_directory", ...: the operation, not the system call.
[[nodiscard]] std::string_view operation_name(const Operation& operation);

}  // namespace iotape
