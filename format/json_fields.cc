#include "format/json_fields.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "format/enum_names.h"
#include "format/event_fields.h"
#include "format/quoting.h"
#include "format/syscall_table.h"

namespace iotape {
namespace {

// ---- writing ----

struct FieldWriter;

template <typename T>
concept Described = requires(T& value, FieldWriter& writer) {
  describe(value, writer);
};

template <typename Number>
requires std::is_integral_v<Number>
void write(std::string& out, Number value) { fmt::format_to(std::back_inserter(out), "{}", value); }
void write(std::string& out, bool value) { out += value ? "true" : "false"; }
void write(std::string& out, const std::string& bytes) { append_json_bytes(out, bytes); }
template <typename Tag, typename Rep>
void write(std::string& out, const StrongId<Tag, Rep>& id) {
  write(out, id.value);
}
template <typename Tag, typename Rep>
void write(std::string& out, const Quantity<Tag, Rep>& quantity) {
  write(out, quantity.value);
}
void write(std::string& out, DeviceId device) {
  fmt::format_to(std::back_inserter(out), "\"{}:{}\"", device.major_number(), device.minor_number());
}
template <NamedEnum E>
void write(std::string& out, E value) {
  // A number from a newer version has no word yet; it stays a number, so that nothing is lost.
  if (static_cast<std::size_t>(value) < names_of(E{}).size())
    fmt::format_to(std::back_inserter(out), "\"{}\"", enum_name(value));
  else
    write(out, static_cast<std::uint64_t>(value));
}
void write(std::string& out, FilePosition position) { write(out, position.value); }
void write(std::string& out, const std::array<std::uint8_t, 16>& id) {
  out += '"' + to_hex({reinterpret_cast<const char*>(id.data()), id.size()}) + '"';
}
template <typename Number>
void write(std::string& out, BlockFlagBits<Number> flags);
void write(std::string& out, const LossCounts& losses);
void write(std::string& out, const FileReference& file);
template <Described T>
void write(std::string& out, const T& value);
template <typename T, std::size_t N>
void write(std::string& out, const std::array<T, N>& values);
template <typename T>
void write(std::string& out, const std::vector<T>& values);
template <typename A, typename B>
void write(std::string& out, const std::pair<A, B>& values);

struct FieldWriter {
  std::string& out;
  bool first = true;

  void key(std::string_view name) {
    if (!first) out += ',';
    first = false;
    out += '"';
    out += name;
    out += "\":";
  }
  template <typename T>
  void operator()(std::string_view name, const T& value) {
    key(name);
    write(out, value);
  }
  template <typename T>
  void operator()(std::string_view name, const std::optional<T>& value) {
    if (value) (*this)(name, *value);
  }
  void operator()(std::string_view name, const Operation& operation) {
    (*this)("operation", std::string(operation_name(operation)));
    key(name);
    out += '{';
    std::visit(
        [&](const auto& op) {
          FieldWriter arguments{out};
          for_each_field(op, [&](const auto& description, const auto& member) { arguments(description.name, member); });
        },
        operation);
    out += '}';
  }
};

template <typename Items>
void write_list(std::string& out, const Items& items) {
  out += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!std::exchange(first, false)) out += ',';
    write(out, item);
  }
  out += ']';
}

template <typename Number>
void write(std::string& out, BlockFlagBits<Number> flags) {
  out += '[';
  bool first = true;
  const auto names = names_of(BlockFlag{});
  for (std::size_t bit = 0; bit < std::numeric_limits<std::uint32_t>::digits; ++bit) {
    if ((flags.bits >> bit & 1U) == 0) continue;
    if (!std::exchange(first, false)) out += ',';
    if (bit < names.size())
      fmt::format_to(std::back_inserter(out), "\"{}\"", names[bit]);
    else
      write(out, std::uint32_t{1} << bit);
  }
  out += ']';
}

void write(std::string& out, const LossCounts& losses) {
  out += '{';
  FieldWriter fields{out};
  for (std::size_t cause = 0; cause < losses.size(); ++cause)
    fields(enum_name(static_cast<LossCause>(cause)), losses[cause]);
  out += '}';
}

void write(std::string& out, const FileReference& file) {
  if (file == FileReference{}) {
    out += "null";
    return;
  }
  out += '{';
  FieldWriter fields{out};
  describe(file, fields);
  out += '}';
}

template <Described T>
void write(std::string& out, const T& value) {
  out += '{';
  FieldWriter fields{out};
  describe(value, fields);
  out += '}';
}

template <typename T, std::size_t N>
void write(std::string& out, const std::array<T, N>& values) {
  write_list(out, values);
}
template <typename T>
void write(std::string& out, const std::vector<T>& values) {
  write_list(out, values);
}
template <typename A, typename B>
void write(std::string& out, const std::pair<A, B>& values) {
  out += '[';
  write(out, values.first);
  out += ',';
  write(out, values.second);
  out += ']';
}

// ---- reading ----

using Json = nlohmann::json;

// Collects the first problem; reading goes on harmlessly after it.
struct FieldReader {
  const Json& object;
  std::string& problem;

  void fail(std::string_view what) const {
    if (problem.empty()) problem = what;
  }
  template <typename T>
  void operator()(std::string_view name, T& value) const;
  template <typename Number>
  void operator()(std::string_view name, BlockFlagBits<Number> flags) const;
  void operator()(std::string_view name, Operation& operation) const;
};

template <typename T>
concept Readable = requires(T& value, FieldReader& reader) {
  describe(value, reader);
};

// True when json had the right shape for value.
template <typename Number>
requires std::is_integral_v<Number>
bool read(const Json& json, Number& value, std::string&) {
  if (!json.is_number_integer()) return false;
  if (json.is_number_unsigned()) {
    const auto number = json.get<std::uint64_t>();
    if (!std::in_range<Number>(number)) return false;
    return value = static_cast<Number>(number), true;
  }
  const auto number = json.get<std::int64_t>();
  if (!std::in_range<Number>(number)) return false;
  return value = static_cast<Number>(number), true;
}
bool read(const Json& json, bool& value, std::string&) {
  if (!json.is_boolean()) return false;
  return value = json.get<bool>(), true;
}
bool read(const Json& json, std::string& bytes, std::string&) {
  if (json.is_string()) return bytes = json.get<std::string>(), true;
  if (!json.is_object() || !json.contains("hex") || !json["hex"].is_string()) return false;
  auto decoded = from_hex(json["hex"].get<std::string>());
  if (!decoded) return false;
  return bytes = std::move(*decoded), true;
}
template <typename Tag, typename Rep>
bool read(const Json& json, StrongId<Tag, Rep>& id, std::string& problem) {
  return read(json, id.value, problem);
}
template <typename Tag, typename Rep>
bool read(const Json& json, Quantity<Tag, Rep>& quantity, std::string& problem) {
  return read(json, quantity.value, problem);
}
bool read(const Json& json, DeviceId& device, std::string&) {
  if (!json.is_string()) return false;
  const auto text = json.get<std::string>();
  const char* end = text.data() + text.size();
  std::uint32_t major_part = 0;
  std::uint32_t minor_part = 0;
  const auto [colon, major_error] = std::from_chars(text.data(), end, major_part);
  if (major_error != std::errc{} || colon == end || *colon != ':') return false;
  const auto [rest, minor_error] = std::from_chars(colon + 1, end, minor_part);
  if (minor_error != std::errc{} || rest != end || major_part > 0xFFFU || minor_part > 0xFFFFFU) return false;
  return device = DeviceId::of(major_part, minor_part), true;
}
template <NamedEnum E>
bool read(const Json& json, E& value, std::string& problem) {
  if (json.is_string()) {
    const auto named = enum_value<E>(json.get<std::string>());
    if (!named) return false;
    return value = *named, true;
  }
  std::underlying_type_t<E> number{};
  if (!read(json, number, problem) || !std::in_range<std::size_t>(number)) return false;
  if (static_cast<std::size_t>(number) >= names_of(E{}).size()) return false;  // no trace could hold it
  return value = static_cast<E>(number), true;
}
bool read(const Json& json, FilePosition& position, std::string& problem) {
  return read(json, position.value, problem);
}
bool read(const Json& json, std::array<std::uint8_t, 16>& id, std::string&) {
  const auto bytes = json.is_string() ? from_hex(json.get<std::string>()) : std::nullopt;
  if (!bytes || bytes->size() != id.size()) return false;
  std::copy(bytes->begin(), bytes->end(), id.begin());
  return true;
}
bool read(const Json& json, LossCounts& losses, std::string& problem) {
  if (!json.is_object()) return false;
  FieldReader fields{json, problem};
  for (std::size_t cause = 0; cause < losses.size(); ++cause)
    fields(enum_name(static_cast<LossCause>(cause)), losses[cause]);
  return true;
}
template <typename A, typename B>
bool read(const Json& json, std::pair<A, B>& values, std::string& problem);
template <typename T, std::size_t N>
bool read(const Json& json, std::array<T, N>& values, std::string& problem);
template <typename T>
bool read(const Json& json, std::vector<T>& values, std::string& problem);
template <Readable T>
bool read(const Json& json, T& value, std::string& problem) {
  if (json.is_null() && std::is_same_v<T, FileReference>) return true;
  if (!json.is_object()) return false;
  FieldReader fields{json, problem};
  describe(value, fields);
  return true;
}
template <typename T>
bool read(const Json& json, std::optional<T>& value, std::string& problem) {
  return read(json, value.emplace(), problem);
}
template <typename A, typename B>
bool read(const Json& json, std::pair<A, B>& values, std::string& problem) {
  return json.is_array() && json.size() == 2 && read(json[0], values.first, problem) &&
         read(json[1], values.second, problem);
}
template <typename T, std::size_t N>
bool read(const Json& json, std::array<T, N>& values, std::string& problem) {
  if (!json.is_array() || json.size() != N) return false;
  for (std::size_t i = 0; i < N; ++i)
    if (!read(json[i], values[i], problem)) return false;
  return true;
}
template <typename T>
bool read(const Json& json, std::vector<T>& values, std::string& problem) {
  if (!json.is_array()) return false;
  for (const Json& item : json)
    if (!read(item, values.emplace_back(), problem)) return false;
  return true;
}

template <typename T>
void FieldReader::operator()(std::string_view name, T& value) const {
  const auto found = object.find(name);
  if (found == object.end()) return;
  if (!read(*found, value, problem)) fail(fmt::format("\"{}\" has a value of the wrong kind", name));
}

template <typename Number>
void FieldReader::operator()(std::string_view name, BlockFlagBits<Number> flags) const {
  const auto found = object.find(name);
  if (found == object.end()) return;
  if (!found->is_array()) return fail(fmt::format("\"{}\" is no list", name));
  const auto names = names_of(BlockFlag{});
  for (const Json& item : *found) {
    std::uint32_t bits = 0;
    if (item.is_string()) {
      const auto known = std::find(names.begin(), names.end(), item.get<std::string>());
      if (known != names.end()) bits = 1U << static_cast<unsigned>(known - names.begin());
    } else {
      read(item, bits, problem);
    }
    if (bits == 0) return fail(fmt::format("\"{}\" holds an unknown flag", name));
    flags.bits |= bits;
  }
}

// Puts the alternative of that snake_case name into value; false when there is none.
template <typename Variant, std::size_t Index = 0>
bool emplace_named(Variant& value, std::string_view name) {
  if constexpr (Index == std::variant_size_v<Variant>) {
    return false;
  } else {
    if (snake_case(type_name<std::variant_alternative_t<Index, Variant>>()) == name)
      return value.template emplace<Index>(), true;
    return emplace_named<Variant, Index + 1>(value, name);
  }
}

void FieldReader::operator()(std::string_view name, Operation& operation) const {
  const auto kind = object.find("operation");
  const auto arguments = object.find(name);
  if (kind == object.end() || !kind->is_string() || !emplace_named(operation, kind->get<std::string>()))
    return fail("\"operation\" is missing or unknown");
  if (arguments == object.end() || !arguments->is_object()) return fail("\"arguments\" is missing");
  FieldReader fields{*arguments, problem};
  std::visit(
      [&](auto& op) {
        for_each_field(op, [&](const auto& description, auto& member) { fields(description.name, member); });
      },
      operation);
}

Result<JsonLine> checked(JsonLine line, const std::string& problem) {
  if (!problem.empty()) return failure(ErrorCode::kCorrupt, problem);
  return line;
}

Result<JsonLine> parse_event(const Json& json) {
  std::string problem;
  Event event;
  FieldReader fields{json, problem};
  fields("id", event.id);
  fields("recorder", event.recorder);
  const Json& kind = json["event"];
  if (!kind.is_string() || !emplace_named(event.body, kind.get<std::string>()))
    return failure(ErrorCode::kCorrupt, "\"event\" names no kind of event");
  std::visit([&](auto& body) { describe(body, fields); }, event.body);
  return checked({std::move(event)}, problem);
}

template <typename T>
Result<JsonLine> parse_whole(const Json& json) {
  std::string problem;
  T value;
  if (!read(json, value, problem)) problem = "not an object";
  return checked({std::move(value)}, problem);
}

// What a call's reader wants to see beside the numbers.
void append_derived(std::string& out, const Event& event) {
  if (const auto* call = std::get_if<Syscall>(&event.body))
    out += ",\"call\":\"" + syscall_display_name(call->number) + '"';
  if (const auto* request = std::get_if<BlockRequest>(&event.body))
    out += ",\"rwbs\":\"" + rwbs(request->operation, request->flags) + '"';
}

}  // namespace

void append_json(std::string& out, const Event& event, std::string_view extra) {
  fmt::format_to(std::back_inserter(out), "{{\"id\":{},\"recorder\":{},\"event\":\"{}\"", event.id.value,
                 event.recorder, event_kind_name(event.body));
  append_derived(out, event);
  out += extra;
  FieldWriter fields{out, false};
  std::visit([&](const auto& body) { describe(body, fields); }, event.body);
  out += '}';
}

void append_json(std::string& out, const TraceHeader& header) { write(out, header); }
void append_json(std::string& out, const TraceTotals& totals) { write(out, totals); }

Result<JsonLine> parse_json_line(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return failure(ErrorCode::kCorrupt, "not a JSON object");
  if (json.contains("header")) return parse_whole<TraceHeader>(json["header"]);
  if (json.contains("totals")) return parse_whole<TraceTotals>(json["totals"]);
  if (json.contains("event")) return parse_event(json);
  if (json.contains("interrupted")) return JsonLine{};
  return failure(ErrorCode::kCorrupt, "neither a header, an event nor totals");
}

}  // namespace iotape
