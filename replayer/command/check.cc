// iotape check: whether an image is a sound ext3.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "format/base/units.h"
#include "format/trace_files.h"
#include "replayer/command/filesystem_commands.h"
#include "replayer/command/traced_image.h"
#include "replayer/ext3/check/check_filesystem.h"
#include "replayer/ext3/device/device_use.h"
#include "replayer/ext3/device/file_device.h"
#include "replayer/ext3/device/overlay_device.h"
#include "replayer/ext3/mount.h"
#include "replayer/ext3/thread_host.h"

namespace iotape {
namespace {

constexpr std::uint64_t kMostReplayed = std::uint64_t{4} << 30U;  // bytes; more than a journal of ext3 has

using ext3::CheckReport;
using ext3::Problem;

// What a mount would have done first, and was done in memory before the rest was judged.
struct Settled {
  bool journal_waited = false;
  std::uint32_t transactions = 0;
  std::uint32_t orphans = 0;  // unfinished deletions and truncations
};

std::string report_text(const std::string& path, const CheckReport& report, const Settled& settled) {
  std::string text;
  if (settled.journal_waited)
    text += fmt::format("{}: the journal waits; replayed in memory, {} transactions\n", path, settled.transactions);
  if (settled.orphans != 0)
    text += fmt::format("{}: {} unfinished deletions or truncations finished in memory\n", path, settled.orphans);
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

std::string report_json(const std::string& path, const CheckReport& report, const Settled& settled) {
  using Json = nlohmann::ordered_json;
  Json document{{"schema", "iotape.check/1"},
                {"image", path},
                {"sound", report.sound()},
                {"complete", report.complete},
                {"journal_waits", settled.journal_waited},
                {"replayed_transactions", settled.transactions},
                {"finished_orphans", settled.orphans},
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

struct CheckWords {
  std::string path;
  ext3::CheckOptions options;
  bool json = false;
  std::string trace;
  bool force = false;
};

// The overlay as a mount would make it. What a mount cannot do is left for the judgement to tell.
Result<Settled> settle(ext3::OverlayDevice& overlay) {
  Settled settled;
  IOTAPE_ASSIGN(const auto recovered, ext3::recover_volume(overlay));
  settled.journal_waited = recovered.has_value();
  settled.transactions = recovered ? recovered->transactions : 0;
  if (!ext3::waits_for_recovery(overlay)) return settled;
  ext3::ThreadHost host;
  ext3::MountOptions reading;
  reading.read_only = true;
  ext3::MountReport report;
  if (const auto volume = ext3::mount_volume(host, overlay, reading, &report))
    settled.orphans = report.orphans_deleted + report.orphans_truncated;
  return settled;
}

// Judges what a mount would find. The reason why the journal cannot be replayed is told; the rest is judged as it lies.
CheckReport judge(const Terminal& terminal, const CheckWords& words, ext3::BlockDevice& device, Settled& settled) {
  ext3::OverlayDevice overlay(device, kMostReplayed);
  const auto answer = settle(overlay);
  if (!answer && ext3::waits_for_recovery(device))
    fmt::print(terminal.err, "iotape check: {}: {}\n", words.path, answer.error().message);
  if (!answer) return check_filesystem(device, words.options);
  settled = *answer;
  ext3::CheckOptions options = words.options;
  options.totals_are_old = settled.journal_waited;
  return check_filesystem(overlay, options);
}

int check_image(const Terminal& terminal, const CheckWords& words) {
  if (const auto apart = check_output(words.trace, {words.path}); !apart)
    return report_error(terminal, "check", apart.error());
  auto device = ext3::FileDevice::open(words.path, ext3::FileDeviceMode::kReadOnly);
  if (!device) return report_error(terminal, "check", device.error());
  if (const std::string user = ext3::other_user_of(words.path); !user.empty())
    fmt::print(terminal.err, "iotape check: note: {} is in use by {}; what is being changed may look damaged\n",
               words.path, user);
  auto traced = TracedImage::begin(*device, {words.trace, words.force, "check " + file_name_of(words.path)});
  if (!traced) return report_error(terminal, "check", traced.error());
  Settled settled;
  const CheckReport report = judge(terminal, words, traced->device(), settled);
  if (const auto done = traced->finish(); !done) return report_error(terminal, "check", done.error());
  if (words.json)
    fmt::print(terminal.out, "{}", report_json(words.path, report, settled));
  else if (!terminal.quiet || !report.sound())
    fmt::print(terminal.out, "{}", report_text(words.path, report, settled));
  return report.sound() ? kExitOk : kExitDamaged;
}

}  // namespace

int run_check(CommandCall& call) {
  CheckWords words;
  CLI::App app("Check an ext3 image: bitmaps, counts, directories and their indexes, attributes, journal",
               "iotape check");
  add_common_options(app, *call.terminal);
  app.add_option("IMAGE", words.path, "A file or a block device, which is only read")->required();
  app.add_option("--most", words.options.most_problems, "List no more problems than this; all are counted")
      ->capture_default_str();
  app.add_flag("--json", words.json, "Print one JSON document");
  app.add_option("--trace", words.trace, "Write the block requests down as a trace");
  app.add_flag("--force", words.force, "Overwrite an existing trace");
  app.footer(
      "Exit status: 0 sound, 4 not (as e2fsck has it), 1 failed, 2 usage.\n"
      "A journal that waits is replayed in memory first (which may take as much of it as the\n"
      "journal is large), deletions that a crash left unfinished are finished there, and what\n"
      "a mount would find is judged. The image is never written.");
  if (const int status = parse_arguments(app, call); status >= 0) return status;
  return check_image(*call.terminal, words);
}

}  // namespace iotape
