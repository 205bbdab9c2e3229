// Names what a file is that is no trace, so that a mistake is answered with the command that helps.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace iotape {

struct ForeignFile {
  std::string what;    // "a blktrace file"
  std::string remedy;  // "iotape convert x.blktrace.0 x.iotape"; empty when there is none
};

inline constexpr std::size_t kForeignProbeBytes = 4096;

// beginning: the first bytes of the file, up to kForeignProbeBytes. nullopt when it may be a trace or is unknown.
[[nodiscard]] std::optional<ForeignFile> recognise_foreign(std::string_view beginning, std::string_view path);

// The same for a file on disk; nullopt when it cannot be read (opening it will say why).
[[nodiscard]] std::optional<ForeignFile> recognise_foreign_file(const std::string& path);

}  // namespace iotape
