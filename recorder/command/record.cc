#include "recorder/command/record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "format/base/cold_caches.h"
#include "format/base/units.h"
#include "format/quoting.h"
#include "recorder/changing_watch.h"
#include "recorder/command/record_options.h"
#include "recorder/device_facts.h"
#include "recorder/recording.h"
#include "recorder/trace_output.h"
#include "recorder/tree_snapshot.h"
#include "recorder/workload_process.h"

namespace iotape {
namespace {

constexpr int kSignalBase = 128;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;
constexpr auto kGraceAfterInterrupt = std::chrono::seconds(5);

std::optional<std::uint32_t> number_from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

// The signals that end a recording, and the child's end, are taken by sigtimedwait in one place.
sigset_t block_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  // A reader that goes away, of `-o -`, is a failed write and not the end of this program.
  ::signal(SIGPIPE, SIG_IGN);
  return set;
}

// Which of the signals that end a recording waits to be taken; 0: none.
int pending_end() {
  sigset_t waiting;
  ::sigemptyset(&waiting);
  ::sigpending(&waiting);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (::sigismember(&waiting, signal) == 1) return signal;
  return 0;
}

enum class Ending { kWorkloadEnded, kWindow, kInterrupted, kTooLarge, kDiskLow, kSinkFailed };

const char* reason_of(Ending ending) {
  switch (ending) {
    case Ending::kWorkloadEnded:
      return "";
    case Ending::kWindow:
      return "stopped recording after the time given with -w; the workload goes on";
    case Ending::kInterrupted:
      return "interrupted; the trace holds what happened until then";
    case Ending::kTooLarge:
      return "stopped recording at --max-size; the workload goes on";
    case Ending::kDiskLow:
      return "stopped recording at --min-free; the workload goes on";
    case Ending::kSinkFailed:
      return "";
  }
  return "";
}

class RecordRun {
 public:
  RecordRun(RecordOptions options, Terminal& terminal) : options_(std::move(options)), terminal_(terminal) {}

  // The exit status of `iotape record`.
  Result<int> run();

 private:
  Result<ProbeOptions> probe_options() const;
  [[nodiscard]] std::string subject() const;
  Result<void> start_workload();
  Result<void> follow();
  Result<void> create_writer();
  Result<void> walk_trees();
  Result<int> record(const sigset_t& signals);
  Result<void> get_ready();
  Result<int> release_workload();
  [[nodiscard]] int stop_early(int signal) const;
  [[nodiscard]] int command_refused(int reason) const;
  Ending wait_for_end(const sigset_t& signals);
  std::optional<Ending> check_limits() const;
  [[nodiscard]] int exit_status(Ending ending) const;
  Result<void> finish(Ending ending);
  void let_workload_end(const sigset_t& signals);
  void summarise(const TraceTotals& totals, Ending ending) const;
  void print_losses(const TraceTotals& totals) const;
  void print_roots() const;
  void print_unseen_removals() const;

  RecordOptions options_;
  Terminal& terminal_;
  std::optional<TraceOutput> output_;
  std::optional<WorkloadProcess> workload_;
  std::unique_ptr<Recording> recording_;
  std::unique_ptr<TraceWriter> writer_;
  std::optional<WriterSink> file_;
  std::optional<ChangingWatch> watch_;
  std::optional<std::int32_t> workload_status_;
  bool begun_ = false;  // the workload runs under the recording
  int interrupted_by_ = SIGINT;
  bool lost_ = false;
};

Result<ProbeOptions> RecordRun::probe_options() const {
  ProbeOptions probe;
  probe.calls = options_.calls;
  probe.block = options_.block;
  probe.states = options_.states && options_.calls;
  probe.record_all = options_.all || !options_.cgroup.empty();
  if (!options_.cgroup.empty()) {
    IOTAPE_ASSIGN(probe.cgroup, find_control_group(options_.cgroup));
  }
  probe.ring_bytes = options_.ring_bytes;
  probe.arguments = options_.arguments;
  probe.stacks_failed = options_.stacks_failed;
  probe.stacks_slower_than = static_cast<std::uint64_t>(options_.stacks_slower_than.value);
  for (const std::string& name : options_.devices) {
    IOTAPE_ASSIGN(const DeviceId device, find_device(name));
    probe.devices.push_back(device);
  }
  if (probe.record_all && !options_.user.empty() && options_.command.empty()) {
    IOTAPE_ASSIGN(const RunAs who, find_user(options_.user));
    probe.record_user = true;
    probe.user = who.user;
  }
  return probe;
}

Result<void> RecordRun::start_workload() {
  if (options_.command.empty()) return {};
  WorkloadProcess::Options start{options_.command, std::nullopt, options_.output == "-"};
  const char* caller = std::getenv("SUDO_USER");
  const std::string user = !options_.user.empty() ? options_.user : caller != nullptr ? caller : "";
  if (!user.empty() && user != "root") {
    IOTAPE_ASSIGN(start.run_as, find_user(user));
  }
  IOTAPE_ASSIGN(workload_, WorkloadProcess::start(start));
  return {};
}

Result<void> RecordRun::follow() {
  if (workload_) return recording_->follow_command(workload_->id());
  for (const std::int32_t process : options_.processes) IOTAPE_TRY(recording_->follow_process(ProcessId(process)));
  return {};
}

std::string source_command(const RecordOptions& options) {
  if (options.command.empty() || options.arguments == ArgumentPolicy::kNone) return {};
  std::string words = std::filesystem::path(options.command.front()).filename().string();
  if (options.arguments == ArgumentPolicy::kAll)
    for (std::size_t word = 1; word < options.command.size(); ++word) words += " " + options.command[word];
  return words;
}

Result<void> RecordRun::create_writer() {
  TraceHeader header;
  recording_->describe(header);
  header.cache = options_.cold ? CacheCondition::kCold : CacheCondition::kAsFound;
  header.source_command = source_command(options_);
  header.history.push_back(
      {"record" + (header.source_command.empty() ? "" : " -- " + header.source_command), IOTAPE_VERSION});
  WriterOptions writing;
  constexpr std::int64_t kReorderWindow = 10'000'000;  // two processors' hooks differ by far less
  writing.reorder_window = Nanoseconds(kReorderWindow);
  IOTAPE_ASSIGN(writer_, TraceWriter::create(output_->take_file(), std::move(header), writing));
  return {};
}

Result<void> RecordRun::walk_trees() {
  for (const std::string& tree : options_.trees) {
    IOTAPE_ASSIGN(const TreeWalkReport report, snapshot_tree(tree, *watch_, [] { return pending_end() != 0; }));
    if (!terminal_.quiet)
      fmt::print(terminal_.err, "iotape: {} holds {} entries{}\n", tree, format_count(report.entries),
                 report.complete ? "" : "; the walk stopped at its bound");
  }
  return {};
}

std::optional<Ending> RecordRun::check_limits() const {
  if (options_.max_size && writer_->bytes_written() >= *options_.max_size) return Ending::kTooLarge;
  if (recording_->failure()) return Ending::kSinkFailed;
  struct statvfs space {};
  const std::string place = std::filesystem::absolute(output_->name()).parent_path();
  if (options_.min_free && !output_->standard_output() && ::statvfs(place.c_str(), &space) == 0 &&
      std::uint64_t{space.f_bavail} * space.f_frsize < *options_.min_free)
    return Ending::kDiskLow;
  return std::nullopt;
}

Ending RecordRun::wait_for_end(const sigset_t& signals) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  std::optional<Clock::time_point> give_up;
  for (;;) {
    constexpr timespec kTick{0, 50'000'000};
    const int signal = ::sigtimedwait(&signals, nullptr, &kTick);
    if (workload_ && !workload_status_) workload_status_ = workload_->poll();
    if (workload_status_) return give_up ? Ending::kInterrupted : Ending::kWorkloadEnded;
    if (signal == SIGTERM || signal == SIGHUP) interrupted_by_ = signal;
    if (signal == SIGTERM || signal == SIGHUP) return Ending::kInterrupted;
    // Ctrl-C went to the command too: it is given time to end in its own way. A second one is meant for us.
    if (signal == SIGINT && (!workload_ || give_up)) return Ending::kInterrupted;
    if (signal == SIGINT) give_up = Clock::now() + kGraceAfterInterrupt;
    if (give_up && Clock::now() >= *give_up) return Ending::kInterrupted;
    if (options_.window && Clock::now() - began >= std::chrono::nanoseconds(options_.window->value))
      return Ending::kWindow;
    if (const auto limit = check_limits()) return *limit;
  }
}

int RecordRun::exit_status(Ending ending) const {
  if (recording_->failure()) return kExitRecorderFailed;
  if (options_.strict && lost_) return kExitDamaged;
  if (workload_status_) {
    const int status = *workload_status_;
    return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return ending == Ending::kInterrupted && workload_ ? kSignalBase + interrupted_by_ : kExitOk;
}

void RecordRun::print_losses(const TraceTotals& totals) const {
  struct Wording {
    LossCause cause;
    const char* text;
  };
  constexpr Wording kWordings[] = {
      {LossCause::kRingFull, "found no room in the ring: record again with a larger --ring-size"},
      {LossCause::kTaskStorage, "threads could not be followed for lack of memory"},
      {LossCause::kRequestMap, "requests could not be paired"},
      {LossCause::kDiskFull, "could not be written"},
      {LossCause::kMalformedRecord, "could not be decoded (a fault of iotape: please report it)"},
  };
  for (const Wording& wording : kWordings)
    if (const std::uint64_t count = totals.losses[static_cast<std::size_t>(wording.cause)]; count != 0)
      fmt::print(terminal_.err, "iotape: LOST: {} {}\n", format_count(count), wording.text);
  if (recording_->uncaptured_uring() != 0)
    fmt::print(terminal_.err,
               "iotape: NOT CAPTURED: {} operations went by io_uring, which this version does not record\n",
               format_count(recording_->uncaptured_uring()));
  if (recording_->uncaptured_aio() != 0)
    fmt::print(terminal_.err,
               "iotape: NOT CAPTURED: {} operations went by Linux AIO, which this version does not record\n",
               format_count(recording_->uncaptured_aio()));
}

void RecordRun::print_roots() const {
  for (const ChangingRoots::Root& root : watch_->roots())
    fmt::print(terminal_.err, "iotape: {} changing calls below {}\n", format_count(root.calls), root.path);
}

void RecordRun::print_unseen_removals() const {
  const RemovalWatch& removals = watch_->removals();
  if (removals.unseen() == 0 || !options_.calls || !options_.states) return;
  fmt::print(terminal_.err,
             "iotape: {} removed files had a size nobody saw; this would have told:", format_count(removals.unseen()));
  for (const ChangingRoots::Root& root : removals.directories())
    fmt::print(terminal_.err, " --snapshot tree={}", root.path);
  fmt::print(terminal_.err, "\n");
}

void RecordRun::summarise(const TraceTotals& totals, Ending ending) const {
  print_losses(totals);
  if (terminal_.quiet) return;
  const std::uint64_t bytes = writer_->bytes_written();
  const double each = totals.written == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(totals.written);
  const char* reason = reason_of(ending);
  if (*reason != '\0') fmt::print(terminal_.err, "iotape: {}\n", reason);
  print_roots();
  print_unseen_removals();
  fmt::print(terminal_.err,
             "iotape: {}: {} events ({} calls, {} requests)\niotape: {}, {:.2f} bytes per event, lost {}\n",
             shell_word(output_->name()), format_count(totals.written), format_count(totals.syscalls),
             format_count(totals.requests), format_size(bytes), each, format_count(totals.lost()));
  if (!output_->standard_output())
    fmt::print(terminal_.err, "iotape: next: iotape info {}\n", shell_word(output_->name()));
}

// When the trace could not be written the command is still the user's foreground job: its end is waited for,
// unrecorded.
void RecordRun::let_workload_end(const sigset_t& signals) {
  while (workload_ && !workload_status_) {
    constexpr timespec kTick{0, 50'000'000};
    const int signal = ::sigtimedwait(&signals, nullptr, &kTick);
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) return;
    workload_status_ = workload_->poll();
  }
}

Result<void> RecordRun::finish(Ending ending) {
  IOTAPE_ASSIGN(TraceTotals totals, recording_->stop());
  if (workload_status_) totals.workload_status = *workload_status_;
  lost_ = totals.lost() != 0;
  if (const auto failed = recording_->failure()) {
    summarise(totals, ending);
    return tl::make_unexpected(Error(*failed).within(fmt::format(
        "writing {} (what was written before is readable; the workload was not touched)", output_->name())));
  }
  IOTAPE_TRY(writer_->finish(totals));
  summarise(totals, ending);
  return {};
}

Result<void> RecordRun::get_ready() {
  IOTAPE_TRY(create_writer());
  watch_.emplace(file_.emplace(*writer_));
  IOTAPE_TRY(walk_trees());
  if (options_.cold && pending_end() == 0) IOTAPE_TRY(make_caches_cold());
  return {};
}

// The command is still waiting to be let go: it ends without having been anything but a copy of this program.
int RecordRun::stop_early(int signal) const {
  if (!terminal_.quiet)
    fmt::print(terminal_.err, "iotape: interrupted before anything was recorded{}\n",
               workload_ ? "; the command was not started" : "");
  return kSignalBase + signal;
}

// The errno of the command's exec, 0 when it runs; anything else when a signal came first.
Result<int> RecordRun::release_workload() {
  if (pending_end() != 0) return EINTR;
  return workload_ ? workload_->release() : Result<int>(0);
}

int RecordRun::command_refused(int reason) const {
  fmt::print(terminal_.err, "iotape record: {}: {}\n", options_.command.front(), std::strerror(reason));
  return reason == ENOENT ? kNotFound : kCannotExecute;
}

Result<int> RecordRun::record(const sigset_t& signals) {
  IOTAPE_TRY(get_ready());
  if (const int signal = pending_end(); signal != 0) return stop_early(signal);
  IOTAPE_TRY(recording_->begin(*watch_));
  if (auto refused = release_workload(); !refused || *refused != 0) {
    IOTAPE_TRY(recording_->stop());
    // A Ctrl-C went to the waiting child as well, which then was not there to be let go.
    if (const int signal = pending_end(); signal != 0) return stop_early(signal);
    IOTAPE_TRY(refused);
    return command_refused(*refused);
  }
  begun_ = true;
  auto published = output_->publish();
  if (!published) {
    IOTAPE_TRY(recording_->stop());
    let_workload_end(signals);
    IOTAPE_TRY(std::move(published));
  }
  const Ending ending = wait_for_end(signals);
  auto finished = finish(ending);
  if (!finished) let_workload_end(signals);
  IOTAPE_TRY(std::move(finished));
  return exit_status(ending);
}

// What the trace is called after.
std::string RecordRun::subject() const {
  if (!options_.command.empty()) return options_.command.front();
  if (!options_.cgroup.empty()) return "cgroup";
  return options_.all ? "all" : fmt::format("pid-{}", options_.processes.front());
}

Result<int> RecordRun::run() {
  IOTAPE_ASSIGN(const ProbeOptions probe, probe_options());
  const sigset_t signals = block_signals();
  IOTAPE_ASSIGN(recording_, Recording::prepare(probe));
  if (const int signal = pending_end(); signal != 0) return stop_early(signal);
  IOTAPE_TRY(start_workload());
  IOTAPE_TRY(follow());
  // Last, so that a file under this name has its header at once.
  IOTAPE_ASSIGN(auto output,
                TraceOutput::open({options_.output, subject(), options_.force, terminal_.out_is_terminal,
                                   number_from_environment("SUDO_UID"), number_from_environment("SUDO_GID")}));
  output_.emplace(std::move(output));
  auto status = record(signals);
  if (!begun_) output_->discard();
  return status;
}

}  // namespace

int run_record(CommandCall& call) {
  RecordOptions options;
  if (const int status = parse_record_options(call, options); status >= 0) return status;
  RecordRun run(std::move(options), *call.terminal);
  const auto status = run.run();
  if (status) return *status;
  report_error(*call.terminal, "record", status.error());
  return kExitRecorderFailed;
}

}  // namespace iotape
