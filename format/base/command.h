// A subcommand of iotape as data. Each room offers its own table; iotape.cc joins them.
//
// A command never exits and never touches stdout or stderr directly: it is given where to write, so tests can run it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/base/result.h"

namespace CLI {
class App;
}

namespace iotape {

enum ExitStatus : int {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitDiverged = 3,
  kExitDamaged = 4,
  kExitLimitBroken = 5,
  kExitRecorderFailed = 125,
  kExitInterrupted = 130,
};

enum class ColorMode : std::uint8_t { kAuto, kAlways, kNever };

// Where a command writes and how wide. Human output goes to out, talk and progress to err.
struct Terminal {
  std::FILE* out = nullptr;
  std::FILE* err = nullptr;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  int width = 72;      // columns to fill; 72 when out is no terminal
  bool ascii = false;  // no characters outside ASCII
  bool color = false;
  bool quiet = false;
  int verbose = 0;
};

struct CommandCall {
  std::vector<std::string> arguments;  // after the command's name
  Terminal* terminal = nullptr;
};

struct Command {
  std::string_view name;
  std::string_view summary;  // one line for the list of commands
  int (*run)(CommandCall& call);
};

// Options every command has: -h, -q, -v, --width, --ascii, --color, --version. Adds them to the parser, which must
// outlive the parse, and makes it stop at nothing but what the command itself declares.
void add_common_options(CLI::App& app, Terminal& terminal);

// Parses; nullopt-like answer: -1 means go on, anything else is the exit status to return at once (help printed to out
// with 0, a usage error to err with 2, naming the nearest option for a typo).
int parse_arguments(CLI::App& app, CommandCall& call);

// Prints "iotape NAME: message" to err and returns the exit status that belongs to the error's code.
int report_error(const Terminal& terminal, std::string_view command, const Error& error);

// The candidate nearest to a mistyped word (edit distance at most a third of its length), or empty.
std::string nearest_word(std::string_view typed, std::span<const std::string> candidates);

}  // namespace iotape
