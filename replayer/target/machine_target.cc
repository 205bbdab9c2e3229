#include "replayer/target/machine_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "format/base/units.h"
#include "replayer/ext3/daemons.h"
#include "replayer/ext3/fiber_host.h"
#include "replayer/machine/forgetful_device.h"
#include "replayer/machine/processor.h"
#include "replayer/machine/simulated_device.h"
#include "replayer/target/ext3_disk.h"
#include "replayer/target/ext3_session.h"

namespace iotape {
namespace {

// Numbers from the range that is nobody's.
constexpr DeviceId kWholeDisk = DeviceId::of(240, 0);
constexpr DeviceId kPartition = DeviceId::of(240, 1);
// When the virtual clock begins: the day the Orlov allocator was first timed in public, 5 November 2002.
constexpr std::int64_t kFirstSecond = 1'036'454'400;
constexpr Nanoseconds kStart{kFirstSecond * 1'000'000'000};
constexpr Nanoseconds kLongest{std::int64_t{100} * 365 * 86'400 * 1'000'000'000};  // a century

// The machine's own threads, far above any traced one.
constexpr std::uint32_t kJournalThread = 0x7FFFFF01;
constexpr std::uint32_t kFlusherThread = 0x7FFFFF02;
constexpr std::uint32_t kDiskThread = 0x7FFFFF03;
constexpr std::uint32_t kSyncThread = 0x7FFFFF04;

class MachineTarget final : public Target {
 public:
  MachineTarget(const TargetSpec& spec, Ext3Settings settings, std::unique_ptr<ext3::BlockDevice> disk, DataPool pool,
                const std::atomic<bool>* stop)
      : spec_(spec),
        settings_(std::move(settings)),
        disk_(std::move(disk)),
        host_(kStart),
        processor_(host_, settings_.machine->cpus),
        device_(*disk_, host_, device_options(*settings_.machine), request_context()),
        session_(spec.place.empty() ? spec.text() : spec.place, settings_, host_, device_, kPartition, std::move(pool)),
        stop_(stop) {}
  ~MachineTarget() override { (void)stand_still(); }

  // fresh: its filesystem was made for this run.
  Result<void> mount(bool fresh, TreePolicy tree) {
    if (fresh) session_.own_image(spec_.place);
    IOTAPE_TRY(session_.mount());
    return fresh || tree == TreePolicy::kExisting ? Result<void>{} : session_.require_empty();
  }

  [[nodiscard]] TargetFacts facts() const override;
  [[nodiscard]] Nanoseconds now() const override { return host_.now(); }

  // Making the tree costs no virtual time.
  Result<void> prepare(const InitialTree& tree, const PrepareProgress& progress) override {
    IOTAPE_TRY(stand_still());
    return session_.prepare(tree, progress);
  }
  // As after a restart of the machine: the disk's own cache is empty, too.
  Result<void> make_cold() override {
    IOTAPE_TRY(stand_still());
    IOTAPE_TRY(session_.unmount());
    device_.power_cycle();
    return session_.mount();
  }

  Result<void> start_thread(const ThreadStart& start) override;
  [[nodiscard]] std::optional<ThreadKey> system_thread(TargetThread thread) const override {
    return session_.recorded(Ext3Session::host_thread(thread));
  }
  Result<void> end_thread(TargetThread thread) override;
  Result<void> submit(TargetCall call) override;
  Result<Completion> next_completion() override;

  Result<void> watch_requests() override {
    (void)device_.take();
    watching_ = true;
    described_ = false;
    return {};
  }
  Result<std::uint64_t> take_requests(EventSink& sink) override;
  Result<std::optional<std::uint64_t>> space_used() override { return session_.space_used(); }
  Result<void> finish(bool sync) override;

 private:
  // A traced thread on its fiber.
  struct Worker {
    TargetThread thread;
    std::optional<TargetCall> call;
    std::optional<Nanoseconds> call_start;
    bool ends = false;
    bool ended = false;
  };

  static machine::SimulatedDeviceOptions device_options(const MachineSettings& machine) {
    machine::SimulatedDeviceOptions options;
    options.disk = machine.disk;
    options.elevator = machine.elevator;
    options.position = machine.position;
    options.whole_disk = kWholeDisk;
    options.partition = kPartition;
    return options;
  }
  ext3::RequestContext request_context() {
    return {[this] { return host_.now(); }, [this] { return submitter(); },
            [this](ext3::InodeNumber inode) { return session_.generation_of(inode); },
            [this](std::uint32_t thread) { return session_.recorded(thread); }};
  }
  [[nodiscard]] std::pair<ThreadKey, std::optional<Nanoseconds>> submitter() const {
    const auto worker = workers_.find(host_.thread());
    return {session_.recorded(host_.thread()), worker == workers_.end() ? std::nullopt : worker->second->call_start};
  }
  [[nodiscard]] Nanoseconds scaled(Nanoseconds work) const {
    const double spent = static_cast<double>(work.value) * settings_.machine->cpu;
    return Nanoseconds(static_cast<std::int64_t>(std::min(spent, static_cast<double>(kLongest.value))));
  }
  // A claim of the trace or a key that leads beyond what the clock can count.
  [[nodiscard]] bool too_late(Nanoseconds moment) const { return moment >= kStart + kLongest; }
  Result<void> run_until(const std::function<bool()>& done) {
    const auto stopped = [this] { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); };
    if (host_.run_until([&] { return done() || stopped(); })) {
      if (done()) return {};
      processor_.break_off();
      return failure(ErrorCode::kInterrupted, "stopped");
    }
    return failure(ErrorCode::kIo,
                   fmt::format("{}: the simulated machine stands still: every thread waits for another; this is a bug "
                               "of iotape",
                               spec_.text()));
  }
  // Whatever may wait for the disk or for a lock does so on a fiber.
  Result<void> on_fiber(std::uint32_t thread, const std::function<Result<void>()>& body) {
    bool ended = false;
    Result<void> done;
    host_.spawn(thread, [&] {
      done = body();
      ended = true;
    });
    IOTAPE_TRY(run_until([&] { return ended; }));
    return done;
  }
  void start_machine();
  Result<void> stand_still();
  void work(Worker& worker);
  void carry_out(Worker& worker, const TargetCall& call);
  Result<void> describe(EventSink& sink);

  TargetSpec spec_;
  Ext3Settings settings_;
  std::unique_ptr<ext3::BlockDevice> disk_;  // one in memory goes with the target
  ext3::FiberHost host_;
  machine::Processor processor_;
  machine::SimulatedDevice device_;
  Ext3Session session_;
  std::map<std::uint32_t, std::unique_ptr<Worker>> workers_;  // by Host::thread()
  std::deque<Completion> completed_;
  std::optional<Error> broken_;
  const std::atomic<bool>* stop_;  // may be nullptr
  std::size_t in_flight_ = 0;      // calls submitted and not taken
  std::size_t ended_workers_ = 0;  // that are still among workers_
  std::uint32_t daemons_ = 0;      // that run
  bool running_ = false;
  bool watching_ = false;
  bool described_ = false;
};

TargetFacts MachineTarget::facts() const {
  const MachineSettings& machine = *settings_.machine;
  TargetFacts facts;
  facts.description = spec_.text();
  facts.filesystem = session_.filesystem() + " (built in)";
  facts.device = kWholeDisk;
  facts.clock = ClockKind::kVirtual;
  facts.makes_requests = true;
  facts.machine = SimulatedMachineFacts{machine.cpus, machine.memory};
  facts.notes = {
      fmt::format("time is virtual: simulated disk {}, {} of memory", machine.disk.name, format_size(machine.memory))};
  if (running_ || processor_.busy().value > 0)
    facts.notes.push_back(fmt::format("processors computed for {:.3f} s, the disk worked for {:.3f} s",
                                      static_cast<double>(processor_.busy().value) / 1e9,
                                      static_cast<double>(device_.busy().value) / 1e9));
  return facts;
}

// ---- the machine's own threads ----

void MachineTarget::start_machine() {
  if (running_) return;
  running_ = true;
  device_.start();
  session_.volume().daemons_end = false;
  host_.spawn_daemon(kDiskThread, [this] { device_.run_disk(); });
  daemons_ = 2;
  host_.spawn_daemon(kJournalThread, [this] {
    ext3::run_commit_daemon(session_.volume());
    --daemons_;
  });
  host_.spawn_daemon(kFlusherThread, [this] {
    ext3::run_flush_daemon(session_.volume(), {});
    --daemons_;
  });
}

// Everything under way comes to its end, all threads included; from then on time stands.
Result<void> MachineTarget::stand_still() {
  if (!running_) return {};
  for (const auto& [thread, worker] : workers_) {
    worker->ends = true;
    host_.wake(worker.get());
  }
  ext3::end_daemons(session_.volume());
  device_.end_disk();
  stop_ = nullptr;  // to its end, whatever was asked for
  auto done = run_until([this] {
    return daemons_ == 0 && device_.ended() &&
           std::ranges::all_of(workers_, [](const auto& entry) { return entry.second->ended; });
  });
  workers_.clear();
  running_ = false;
  return done;
}

// ---- traced threads ----

Result<void> MachineTarget::start_thread(const ThreadStart& start) {
  start_machine();
  const std::uint32_t thread = Ext3Session::host_thread(start.thread);
  // One without a parent looks for its working directory.
  IOTAPE_TRY(start.parent ? session_.start_thread(start)
                          : on_fiber(thread, [&] { return session_.start_thread(start); }));
  auto& worker = workers_[thread];
  worker = std::make_unique<Worker>();
  worker->thread = start.thread;
  host_.spawn_daemon(thread, [this, raw = worker.get()] { work(*raw); });
  return {};
}

// While others' calls are under way, what its open files leave to be done takes its time beside them.
Result<void> MachineTarget::end_thread(TargetThread thread) {
  const auto found = workers_.find(Ext3Session::host_thread(thread));
  if (found == workers_.end()) return {};
  Worker& worker = *found->second;
  worker.ends = true;
  host_.wake(&worker);
  if (in_flight_ > 0) return {};
  IOTAPE_TRY(run_until([&] { return worker.ended; }));
  workers_.erase(found);
  return {};
}

void MachineTarget::work(Worker& worker) {
  while (true) {
    while (!worker.call && !worker.ends) host_.wait(&worker);
    if (!worker.call) break;
    const TargetCall call = std::move(*worker.call);
    worker.call.reset();
    carry_out(worker, call);
  }
  session_.end_thread(worker.thread);  // the last close of a removed file frees its blocks
  worker.ended = true;
  ++ended_workers_;
}

void MachineTarget::carry_out(Worker& worker, const TargetCall& call) {
  if (too_late(host_.now() + scaled(call.work.before)) || too_late(call.not_before)) {
    broken_ = Error{ErrorCode::kLimit,
                    fmt::format("{}: the run would take more than a century of virtual time; a smaller cpu=, less "
                                "thinking or --max-gap shortens it",
                                spec_.text())};
    completed_.emplace_back();
    return;
  }
  host_.sleep_until(call.not_before);
  processor_.use(scaled(call.work.before));
  Completion completion;
  completion.start = host_.now();
  worker.call_start = completion.start;
  const Nanoseconds inside = scaled(call.work.inside);
  processor_.use(inside);
  if (auto done = session_.carry_out(call, completion); !done) broken_ = std::move(done).error();
  worker.call_start.reset();
  completion.end = host_.now();
  completion.blocked = completion.end - completion.start - inside;
  completed_.push_back(std::move(completion));
}

Result<void> MachineTarget::submit(TargetCall call) {
  const auto found = workers_.find(Ext3Session::host_thread(call.thread));
  if (found == workers_.end()) return failure(ErrorCode::kIo, "ext3: a call of a thread that was never started");
  ++in_flight_;
  found->second->call = std::move(call);
  host_.wake(found->second.get());
  return {};
}

Result<Completion> MachineTarget::next_completion() {
  IOTAPE_TRY(run_until([this] { return !completed_.empty(); }));
  if (broken_) return tl::make_unexpected(*broken_);
  Completion completion = std::move(completed_.front());
  completed_.pop_front();
  --in_flight_;
  if (ended_workers_ > 0) std::erase_if(workers_, [](const auto& entry) { return entry.second->ended; });
  ended_workers_ = 0;
  return completion;
}

Result<void> MachineTarget::finish(bool sync) {
  start_machine();
  return on_fiber(kSyncThread, [&] {
    session_.end_threads();
    return sync ? session_.sync() : Result<void>{};
  });
}

// ---- what the result trace is told ----

Result<void> MachineTarget::describe(EventSink& sink) {
  const MachineSettings& machine = *settings_.machine;
  DeviceInfo disk;
  disk.device = disk.whole_disk = kWholeDisk;
  disk.name = "sim";
  const auto sectors = static_cast<std::int64_t>(disk_->size() / 512);
  disk.size = Sectors(machine.disk.capacity() != 0 ? machine.disk.capacity() : sectors);
  disk.rotational = machine.disk.kind == DiskKind::kDisk;
  IOTAPE_TRY(sink.append(disk));
  DeviceInfo partition = disk;
  partition.device = kPartition;
  partition.name = "sim1";
  partition.start = machine.position;
  partition.size = Sectors(sectors);
  IOTAPE_TRY(sink.append(partition));
  IOTAPE_TRY(sink.append(session_.mount_info()));
  for (const auto& [thread, name] :
       {std::pair(kJournalThread, "kjournald"), std::pair(kFlusherThread, "pdflush"), std::pair(kSyncThread, "sync")}) {
    ProcessStart start;
    start.time = host_.now();
    start.thread = ext3::key_of(thread);
    start.already_running = true;
    start.command = name;
    IOTAPE_TRY(sink.append(start));
  }
  return {};
}

Result<std::uint64_t> MachineTarget::take_requests(EventSink& sink) {
  if (!watching_) return 0;
  if (!described_) IOTAPE_TRY(describe(sink));
  described_ = true;
  std::vector<BlockRequest> requests = device_.take();
  for (BlockRequest& request : requests) IOTAPE_TRY(sink.append(std::move(request)));
  return requests.size();
}

}  // namespace

Result<std::unique_ptr<Target>> make_machine_target(const TargetSpec& spec, Ext3Settings settings,
                                                    const TargetOptions& options) {
  IOTAPE_ASSIGN(Ext3Disk disk, open_ext3_disk(spec, settings, kFirstSecond));
  IOTAPE_TRY(place_on_disk(*settings.machine, disk.device->size()));
  if (spec.place.empty()) disk.device = std::make_unique<machine::ForgetfulDevice>(std::move(disk.device));
  IOTAPE_ASSIGN(DataPool pool, DataPool::make(options.fill, settings.make.seed));
  auto target =
      std::make_unique<MachineTarget>(spec, std::move(settings), std::move(disk.device), std::move(pool), options.stop);
  IOTAPE_TRY(target->mount(disk.fresh, options.tree));
  return target;
}

}  // namespace iotape
