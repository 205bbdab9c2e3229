// How a target is named on a command line: `KIND:PLACE,key=value,...`; a bare path means `dir:`.
//
// A comma inside a place or a value is written twice. `KIND:help` asks for the kind's keys. An unknown kind or key is a
// usage error that names the nearest one. Values are checked when the target is made (make_target), not here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/base/result.h"
#include "format/base/strong_id.h"

namespace iotape {

struct TargetKey {
  std::string_view name;
  std::string_view default_value;  // as it would be written; empty when the key is simply absent
  std::string_view summary;
};

struct TargetKind {
  std::string_view name;
  std::string_view place;    // what PLACE means for this kind; empty when it takes none
  std::string_view summary;  // one line
  std::span<const TargetKey> keys;
  bool place_optional = false;
};

// Every kind this build knows, in the order in which help lists them.
std::span<const TargetKind> target_kinds();

struct TargetSpec {
  std::string kind;
  std::string place;
  std::vector<std::pair<std::string, std::string>> settings;  // as given, in order; no key twice
  bool help = false;                                          // KIND:help

  // The value given for a key, or the kind's default, or "" when there is neither.
  [[nodiscard]] std::string value(std::string_view key) const;
  // The values of typed keys. An error names the key and what it takes.
  [[nodiscard]] Result<std::uint64_t> size_value(std::string_view key) const;
  [[nodiscard]] Result<Nanoseconds> duration_value(std::string_view key) const;
  [[nodiscard]] Result<bool> switch_value(std::string_view key) const;  // on|off
  [[nodiscard]] bool given(std::string_view key) const;
  void set(std::string_view key, std::string value);

  // The specification as one would type it, with commas doubled where needed.
  [[nodiscard]] std::string text() const;
  bool operator==(const TargetSpec&) const = default;
};

Result<TargetSpec> parse_target_spec(std::string_view text);

// What `KIND:help` prints, one line per key, each ending with a newline.
std::string target_help(std::string_view kind);
// One line per kind.
std::string target_kinds_help();

}  // namespace iotape
