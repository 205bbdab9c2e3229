#include "format/base/command.h"

#include <fmt/color.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

namespace iotape {
namespace {

constexpr int kNarrowestWidth = 20;
constexpr int kWidestWidth = 1000;

int exit_status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return kExitUsage;
    case ErrorCode::kCorrupt:
      return kExitDamaged;
    case ErrorCode::kInterrupted:
      return kExitInterrupted;
    case ErrorCode::kIo:
    case ErrorCode::kUnsupported:
    case ErrorCode::kNotFound:
    case ErrorCode::kLimit:
      return kExitFailed;
  }
  return kExitFailed;
}

// A message may quote a file's name: no byte of it moves the cursor.
std::string visible(std::string_view message) {
  std::string text;
  for (const char letter : message) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < ' ' || byte == 0x7F)
      text += fmt::format("\\x{:02x}", byte);
    else
      text += letter;
  }
  return text;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row[b.size()];
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// The first word of the call that looks like an option the parser does not know.
std::string unknown_option(const CLI::App& app, const std::vector<std::string>& arguments) {
  const auto names = option_names(app);
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    std::string name = argument.substr(0, argument.find('='));
    if (name.starts_with("--") && std::find(names.begin(), names.end(), name) == names.end()) return name;
  }
  return {};
}

}  // namespace

std::string nearest_word(std::string_view typed, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(typed.size() / 3, 1) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(typed, candidate);
    if (distance < best_distance) best_distance = distance, best = candidate;
  }
  return best;
}

void add_common_options(CLI::App& app, Terminal& terminal) {
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", "iotape " IOTAPE_VERSION);
  app.add_flag("-q,--quiet", terminal.quiet, "Say nothing beyond results and errors");
  app.add_flag(
      "-v,--verbose", [&terminal](std::int64_t times) { terminal.verbose = static_cast<int>(times); },
      "Say more; repeatable");
  app.add_option("--width", terminal.width, "Columns of human output")
      ->check(CLI::Range(kNarrowestWidth, kWidestWidth));
  app.add_flag("--ascii", terminal.ascii, "Use ASCII characters only");
  app.add_option_function<std::string>(
         "--color",
         [&terminal](const std::string& when) {
           if (when != "auto") terminal.color = when == "always";
         },
         "auto, always or never; NO_COLOR is honoured")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

int parse_arguments(CLI::App& app, CommandCall& call) {
  std::vector<std::string> reversed(call.arguments.rbegin(), call.arguments.rend());
  const Terminal& terminal = *call.terminal;
  try {
    app.parse(reversed);
    return -1;
  } catch (const CLI::CallForHelp&) {
    fmt::print(terminal.out, "{}", app.help());
    return kExitOk;
  } catch (const CLI::CallForVersion& version) {
    fmt::print(terminal.out, "{}\n", version.what());
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    const std::string unknown = unknown_option(app, call.arguments);
    std::string message = unknown.empty() ? error.what() : fmt::format("unknown option {}", unknown);
    if (const auto nearest = nearest_word(unknown, option_names(app)); !unknown.empty() && !nearest.empty())
      message += fmt::format("; did you mean {}?", nearest);
    std::replace(message.begin(), message.end(), '\n', ' ');
    fmt::print(terminal.err, "{}: {}\ntry: {} --help\n", app.get_name(), message, app.get_name());
    return kExitUsage;
  }
}

int report_error(const Terminal& terminal, std::string_view command, const Error& error) {
  fmt::print(terminal.err, "iotape {}: {}\n", command, visible(error.message));
  return exit_status_of(error.code);
}

}  // namespace iotape
