// The front door: joins the rooms' tables of subcommands and dispatches; composes the commands that need several rooms,
// replay and experiment (which record themselves) and stat. Knows no options of its own but --help and --version.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "analysis/commands.h"
#include "analysis/seek_run.h"
#include "format/base/command.h"
#include "format/commands.h"
#include "recorder/command/record.h"
#include "recorder/commands.h"
#include "recorder/recording.h"
#include "recorder/requirements.h"
#include "replayer/command/experiment.h"
#include "replayer/command/replay.h"
#include "replayer/commands.h"
#include "replayer/fuse_mount/commands.h"
#include "traces/workload/commands.h"

namespace {

using iotape::Command;
using iotape::Terminal;

// Records the block requests of a replay's target for the replayer, which cannot see the recorder.
class OwnRequests final : public iotape::SelfRecorder {
 public:
  iotape::Result<void> start(iotape::DeviceId device, iotape::ProcessId /*replayer*/) override {
    iotape::ProbeOptions options;
    options.calls = options.states = false;
    options.block = true;
    options.devices = {device};
    IOTAPE_ASSIGN(recording_, iotape::Recording::prepare(options));
    iotape::TraceHeader header;
    recording_->describe(header);
    missing_hooks_ = header.missing_hooks;
    return recording_->begin(waiting_);
  }
  iotape::Result<void> drain(iotape::EventSink& sink) override { return waiting_.hand_over(sink); }
  iotape::Result<iotape::SelfRecorderTotals> stop(iotape::EventSink& sink) override {
    IOTAPE_ASSIGN(const iotape::TraceTotals totals, recording_->stop());
    IOTAPE_TRY(waiting_.hand_over(sink));
    return iotape::SelfRecorderTotals{totals.seen, totals.requests, totals.losses, totals.recorder_cpu, missing_hooks_};
  }

 private:
  // Filled by a thread of the recording, emptied by the replayer.
  class Waiting final : public iotape::RecordingSink {
   public:
    iotape::Result<void> append(iotape::EventBody body) override {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(body));
      return {};
    }
    iotape::Result<void> checkpoint(std::uint64_t /*seen*/, std::uint64_t /*lost*/) override { return {}; }
    iotape::Result<void> hand_over(iotape::EventSink& sink) {
      std::vector<iotape::EventBody> taken;
      {
        const std::lock_guard lock(mutex_);
        taken.swap(events_);
      }
      for (iotape::EventBody& event : taken) IOTAPE_TRY(sink.append(std::move(event)));
      return {};
    }

   private:
    std::mutex mutex_;
    std::vector<iotape::EventBody> events_;
  };

  Waiting waiting_;
  std::unique_ptr<iotape::Recording> recording_;
  std::vector<iotape::MissingHook> missing_hooks_;
};

iotape::Result<std::unique_ptr<iotape::SelfRecorder>> record_own_requests() {
  // Asked here and not at the start: without privileges a replay still keeps its calls.
  IOTAPE_TRY(iotape::check_requirements());
  return std::make_unique<OwnRequests>();
}
int run_replay(iotape::CommandCall& call) { return iotape::run_replay(call, &record_own_requests); }
int run_experiment(iotape::CommandCall& call) { return iotape::run_experiment(call, &record_own_requests); }

// A file that goes with this object.
class TemporaryFile {
 public:
  TemporaryFile() {
    const int fd = ::mkstemp(path_.data());
    if (fd >= 0) ::close(fd);
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "iotape-stat-XXXXXX").string();
};

// Records the command like `record`, shows what it did and forgets it. Ends with the command's own status.
int run_stat(iotape::CommandCall& call) {
  if (!call.arguments.empty() && (call.arguments[0] == "-h" || call.arguments[0] == "--help")) {
    fmt::print(
        call.terminal->out,
        "usage: iotape stat [OPTIONS OF record] [--] COMMAND...\n\nRecords COMMAND into a temporary file, prints "
        "its call and seek tables and keeps nothing.\nExit status: the command's own; 125 when recording "
        "failed.\nNext: iotape record -- COMMAND keeps the trace\n");
    return iotape::kExitOk;
  }
  const TemporaryFile trace;
  Terminal quiet = *call.terminal;
  quiet.quiet = true;
  iotape::CommandCall record{{"-o", trace.path(), "--force"}, &quiet};
  record.arguments.insert(record.arguments.end(), call.arguments.begin(), call.arguments.end());
  const int status = iotape::run_record(record);
  if (status == iotape::kExitRecorderFailed) return status;
  const int shown = iotape::run_stat(trace.path(), *call.terminal);
  return shown == iotape::kExitOk ? status : shown;
}

constexpr std::array<Command, 3> kComposedCommands{{
    {"replay", "reissue a trace against another filesystem", &run_replay},
    {"experiment", "one workload on several targets, and published results again", &run_experiment},
    {"stat", "record a command and show its call and seek tables", &run_stat},
}};

std::vector<Command> all_commands() {
  std::vector<Command> all;
  all.reserve(32);
  for (const auto room : {iotape::recorder_commands(), iotape::format_commands(), iotape::replayer_commands(),
                          iotape::analysis_commands(), iotape::workload_commands(), iotape::fuse_mount_commands()})
    all.insert(all.end(), room.begin(), room.end());
  all.insert(all.end(), kComposedCommands.begin(), kComposedCommands.end());
  return all;
}

int terminal_width() {
  winsize size{};
  constexpr int kWhenNotATerminal = 72;
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kWhenNotATerminal;
}

Terminal make_terminal() {
  Terminal terminal;
  terminal.out = stdout;
  terminal.err = stderr;
  terminal.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
  terminal.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
  if (terminal.out_is_terminal) terminal.width = terminal_width();
  terminal.color = terminal.out_is_terminal && std::getenv("NO_COLOR") == nullptr;
  const char* locale = std::setlocale(LC_CTYPE, "");
  const std::string_view name = locale == nullptr ? "" : locale;
  terminal.ascii = terminal.out_is_terminal && name.find("UTF-8") == std::string_view::npos &&
                   name.find("utf8") == std::string_view::npos;
  return terminal;
}

void print_help(std::FILE* to, const std::vector<Command>& commands) {
  fmt::print(
      to,
      "usage: iotape COMMAND [OPTIONS] ...\n\nRecord what a workload asks of its filesystem and what that asks of "
      "the disk,\nreplay it elsewhere, and compare how the disk's head would have moved.\n\n");
  for (const Command& command : commands) fmt::print(to, "  {:<11} {}\n", command.name, command.summary);
  fmt::print(to, "\niotape COMMAND --help tells more. Start with: iotape record -- COMMAND\n");
}

int unknown_command(const std::string& typed, const std::vector<Command>& commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const Command& command : commands) names.emplace_back(command.name);
  const std::string nearest = iotape::nearest_word(typed, names);
  fmt::print(stderr, "iotape: unknown command '{}'{}\n", typed,
             nearest.empty() ? "; iotape --help lists them" : fmt::format("; did you mean {}?", nearest));
  return iotape::kExitUsage;
}

// What a command printed must have arrived: a full disk behind stdout is a failure, not a shorter answer.
int with_whole_output(const std::function<int()>& run) {
  int status = iotape::kExitFailed;
  try {
    status = run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "iotape: %s\n", error.what());
    return iotape::kExitFailed;
  }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::fprintf(stderr, "iotape: the output could not be written: %s\n", std::strerror(errno));
  return status == iotape::kExitOk ? iotape::kExitFailed : status;
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGXFSZ, SIG_IGN);  // a limit on file sizes is told like a full disk
  const std::vector<Command> commands = all_commands();
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return print_help(stderr, commands), iotape::kExitUsage;
  if (words[0] == "-h" || words[0] == "--help" || words[0] == "help") return print_help(stdout, commands), 0;
  if (words[0] == "--version") return fmt::print("iotape {}\n", IOTAPE_VERSION), 0;
  const auto found =
      std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == words[0]; });
  if (found == commands.end()) return unknown_command(words[0], commands);
  Terminal terminal = make_terminal();
  iotape::CommandCall call{{words.begin() + 1, words.end()}, &terminal};
  return with_whole_output([&] { return found->run(call); });
}
