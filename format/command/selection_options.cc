#include "format/command/selection_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "format/base/command.h"
#include "format/base/units.h"
#include "format/enum_names.h"
#include "format/syscall_table.h"

namespace iotape {
namespace {

constexpr std::string_view kGroup = "Selection";

std::vector<std::string> syscall_names() {
  std::vector<std::string> names;
  for (std::uint32_t number = 0; number < kSyscallNumberLimit; ++number)
    if (const auto name = syscall_description(number).name; !name.empty()) names.emplace_back(name);
  return names;
}

std::vector<std::string> operation_names() {
  const auto names = names_of(BlockOperation{});
  return {names.begin(), names.end()};
}

[[noreturn]] void refuse(const std::string& option, const std::string& value, std::string_view kind,
                         const std::vector<std::string>& known) {
  const std::string nearest = nearest_word(value, known);
  throw CLI::ValidationError(option,
                             fmt::format("'{}' is not a {}{}", value, kind,
                                         nearest.empty() ? std::string() : fmt::format("; did you mean {}?", nearest)));
}

// Repeatable, one value each time; a comma separates several.
template <typename Take>
void add_list(CLI::App& app, const std::string& name, const std::string& help, Take take) {
  app.add_option_function<std::vector<std::string>>(
         name,
         [take](const std::vector<std::string>& values) {
           for (const std::string& value : values) take(value);
         },
         help)
      ->allow_extra_args(false)
      ->delimiter(',')
      ->group(std::string(kGroup));
}

void add_words(CLI::App& app, const std::string& name, const std::string& help, std::vector<std::string>& into) {
  app.add_option(name, into, help)->allow_extra_args(false)->group(std::string(kGroup));
}

void add_time(CLI::App& app, const std::string& name, const std::string& help, std::optional<Nanoseconds>& into) {
  app.add_option_function<std::string>(
         name,
         [name, &into](const std::string& text) {
           const auto time = parse_duration(text);
           if (!time) throw CLI::ValidationError(name, time.error().message);
           into = *time;
         },
         help)
      ->type_name("TIME")
      ->group(std::string(kGroup));
}

}  // namespace

void add_selection_options(CLI::App& app, SelectionOptions& options) {
  add_time(app, "--from", "Only what ended at or after this time since the trace began (1.5s, 200ms)", options.from);
  add_time(app, "--to", "Only what ended before this time since the trace began", options.to);
  add_words(app, "--device", "Only requests on this device: loop0, /dev/loop0 or 7:0; repeatable", options.devices);
  add_list(app, "--op", "Only requests of this operation: read, write, flush, discard, ...; repeatable",
           [&options](const std::string& value) {
             const auto operation = enum_value<BlockOperation>(value);
             if (!operation) refuse("--op", value, "request operation", operation_names());
             options.operations.push_back(*operation);
           });
  add_words(app, "--process", "Only this process: an id or a command name; repeatable", options.processes);
  add_words(app, "--path", "Only files under this path, or of this name; shell pattern; repeatable", options.paths);
  add_list(app, "--syscall", "Only this system call, e.g. openat; repeatable", [&options](const std::string& value) {
    const auto number = syscall_number(value);
    if (!number) refuse("--syscall", value, "system call", syscall_names());
    options.syscalls.push_back(*number);
  });
}

}  // namespace iotape
