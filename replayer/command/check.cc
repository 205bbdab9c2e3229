// iotape check: whether an image is a sound ext3.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "format/base/units.h"
#include "replayer/command/filesystem_commands.h"
#include "replayer/ext3/check/check_filesystem.h"
#include "replayer/ext3/device/file_device.h"

namespace iotape {
namespace {

using ext3::CheckReport;
using ext3::Problem;

std::string report_text(const std::string& path, const CheckReport& report) {
  std::string text;
  for (const Problem& problem : report.problems)
    text += fmt::format("{}: {}\n", problem_kind_name(problem.kind), problem.what);
  if (report.problem_count > report.problems.size())
    text += fmt::format("... and {} more\n", format_count(report.problem_count - report.problems.size()));
  text += fmt::format("{}: {}", path,
                      report.sound() ? "sound" : fmt::format("{} problems", format_count(report.problem_count)));
  if (!report.complete) return text + "; not all could be looked at\n";
  return text + fmt::format("; {} of {} inodes, {} of {} blocks in use, {} directories\n",
                            format_count(report.used_inodes), format_count(report.inode_count),
                            format_count(report.used_blocks), format_count(report.block_count),
                            format_count(report.directories));
}

std::string report_json(const std::string& path, const CheckReport& report) {
  using Json = nlohmann::ordered_json;
  Json document{{"schema", "iotape.check/1"},
                {"image", path},
                {"sound", report.sound()},
                {"complete", report.complete},
                {"problem_count", report.problem_count},
                {"inodes", report.inode_count},
                {"used_inodes", report.used_inodes},
                {"blocks", report.block_count},
                {"used_blocks", report.used_blocks},
                {"directories", report.directories},
                {"names", report.names},
                {"problems", Json::array()}};
  for (const Problem& problem : report.problems)
    document["problems"].push_back({{"kind", problem_kind_name(problem.kind)},
                                    {"inode", problem.inode.value},
                                    {"block", problem.block.value},
                                    {"what", problem.what}});
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int run_check(CommandCall& call) {
  const Terminal& terminal = *call.terminal;
  std::string path;
  ext3::CheckOptions options;
  bool json = false;
  CLI::App app("Check an ext3 image: bitmaps, counts, directories and their indexes, attributes, journal",
               "iotape check");
  add_common_options(app, *call.terminal);
  app.add_option("IMAGE", path, "A file or a block device, which is only read")->required();
  app.add_option("--most", options.most_problems, "List no more problems than this; all are counted")
      ->capture_default_str();
  app.add_flag("--json", json, "Print one JSON document");
  app.footer(
      "Exit status: 0 sound, 4 not (as e2fsck has it), 1 failed, 2 usage.\n"
      "An image whose journal waits to be replayed is not sound: mount it once.");
  if (const int status = parse_arguments(app, call); status >= 0) return status;
  auto device = ext3::FileDevice::open(path, ext3::FileDeviceMode::kReadOnly);
  if (!device) return report_error(terminal, "check", device.error());
  const CheckReport report = check_filesystem(*device, options);
  if (json)
    fmt::print(terminal.out, "{}", report_json(path, report));
  else if (!terminal.quiet || !report.sound())
    fmt::print(terminal.out, "{}", report_text(path, report));
  return report.sound() ? kExitOk : kExitDamaged;
}

}  // namespace iotape
