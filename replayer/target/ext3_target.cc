#include "replayer/target/ext3_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <vector>

#include "replayer/ext3/device/tracing_device.h"
#include "replayer/ext3/solo_host.h"
#include "replayer/machine/forgetful_device.h"
#include "replayer/target/ext3_disk.h"
#include "replayer/target/ext3_session.h"
#include "replayer/target/host_clock.h"
#include "replayer/target/machine_target.h"

namespace iotape {
namespace {

// A block device number from the range that is nobody's.
constexpr DeviceId kDevice = DeviceId::of(240, 0);
constexpr std::string_view kDeviceName = "ext3";
constexpr Nanoseconds kTendEvery{100'000'000};

constexpr auto kDueLater = [](const TargetCall& a, const TargetCall& b) { return a.not_before > b.not_before; };

class Ext3Target final : public Target {
 public:
  Ext3Target(const TargetSpec& spec, Ext3Settings settings, std::unique_ptr<ext3::BlockDevice> disk, DataPool pool)
      : spec_(spec),
        settings_(std::move(settings)),
        disk_(std::move(disk)),
        traced_(*disk_, kDevice, request_context()),
        session_(spec.place.empty() ? spec.text() : spec.place, settings_, host_, traced_, kDevice, std::move(pool)) {
    traced_.set_watching(false);
  }
  ~Ext3Target() override { traced_.set_watching(false); }

  // fresh: its filesystem was made for this run.
  Result<void> mount(bool fresh, TreePolicy tree) {
    if (fresh) session_.own_image(spec_.place);
    IOTAPE_TRY(session_.mount());
    return fresh || tree == TreePolicy::kExisting ? Result<void>{} : session_.require_empty();
  }

  [[nodiscard]] TargetFacts facts() const override {
    TargetFacts facts;
    facts.description = spec_.text();
    facts.filesystem = session_.filesystem() + " (built in)";
    facts.device = kDevice;
    facts.makes_requests = true;
    facts.notes = {
        "requests are as the filesystem issued them, without an elevator or a disk's time; commits come by this "
        "host's clock, so a slow host makes more (disk= makes them the same everywhere)"};
    return facts;
  }
  [[nodiscard]] Nanoseconds now() const override { return host_now(); }

  Result<void> prepare(const InitialTree& tree, const PrepareProgress& progress) override {
    return session_.prepare(tree, progress);
  }
  Result<void> make_cold() override {
    IOTAPE_TRY(session_.unmount());
    return session_.mount();
  }

  Result<void> start_thread(const ThreadStart& start) override { return session_.start_thread(start); }
  [[nodiscard]] std::optional<ThreadKey> system_thread(TargetThread thread) const override {
    return session_.recorded(Ext3Session::host_thread(thread));
  }
  Result<void> end_thread(TargetThread thread) override {
    session_.end_thread(thread);
    return {};
  }

  Result<void> submit(TargetCall call) override {
    pending_.push_back(std::move(call));
    std::ranges::push_heap(pending_, kDueLater);
    return {};
  }
  Result<Completion> next_completion() override;

  Result<void> watch_requests() override {
    (void)traced_.take();
    traced_.set_watching(true);
    described_ = false;
    return {};
  }
  Result<std::uint64_t> take_requests(EventSink& sink) override;
  Result<std::optional<std::uint64_t>> space_used() override { return session_.space_used(); }

  Result<void> finish(bool sync) override {
    session_.end_threads();
    return sync ? session_.sync() : Result<void>{};
  }

 private:
  ext3::RequestContext request_context() {
    return {[] { return host_now(); }, [this] { return std::pair(submitter_, call_start_); },
            [this](ext3::InodeNumber inode) { return session_.generation_of(inode); },
            [this](std::uint32_t thread) { return session_.recorded(thread); }};
  }

  TargetSpec spec_;
  Ext3Settings settings_;
  ext3::SoloHost host_;
  std::unique_ptr<ext3::BlockDevice> disk_;  // one in memory goes with the target
  ThreadKey submitter_;
  std::optional<Nanoseconds> call_start_;
  ext3::TracingDevice traced_;
  Ext3Session session_;
  std::vector<TargetCall> pending_;  // a heap by not_before
  Nanoseconds last_tended_;
  bool described_ = false;
};

Result<Completion> Ext3Target::next_completion() {
  if (pending_.empty()) return failure(ErrorCode::kIo, "ext3: no call is in flight");
  std::ranges::pop_heap(pending_, kDueLater);
  const TargetCall call = std::move(pending_.back());
  pending_.pop_back();
  Completion completion;
  completion.start = wait_until(call.not_before);
  host_.become(Ext3Session::host_thread(call.thread));
  submitter_ = session_.recorded(host_.thread());
  call_start_ = completion.start;
  IOTAPE_TRY(session_.carry_out(call, completion));
  completion.end = host_now();
  call_start_.reset();
  if (completion.end - last_tended_ > kTendEvery) {
    last_tended_ = completion.end;
    submitter_ = {};
    IOTAPE_TRY(session_.tend());
  }
  return completion;
}

Result<std::uint64_t> Ext3Target::take_requests(EventSink& sink) {
  if (!described_) {
    described_ = true;
    DeviceInfo device;
    device.device = device.whole_disk = kDevice;
    device.name = kDeviceName;
    device.size = Sectors(static_cast<std::int64_t>(disk_->size() / 512));
    IOTAPE_TRY(sink.append(device));
    IOTAPE_TRY(sink.append(session_.mount_info()));
  }
  std::vector<BlockRequest> requests = traced_.take();
  for (BlockRequest& request : requests) IOTAPE_TRY(sink.append(std::move(request)));
  return requests.size();
}

}  // namespace

Result<std::unique_ptr<Target>> make_ext3_target(const TargetSpec& spec, const TargetOptions& options) {
  IOTAPE_ASSIGN(Ext3Settings settings, read_ext3_settings(spec));
  if (settings.machine) return make_machine_target(spec, std::move(settings), options);
  IOTAPE_ASSIGN(Ext3Disk disk, open_ext3_disk(spec, settings, std::time(nullptr)));
  if (spec.place.empty()) disk.device = std::make_unique<machine::ForgetfulDevice>(std::move(disk.device));
  IOTAPE_ASSIGN(DataPool pool, DataPool::make(options.fill, settings.make.seed));
  auto target = std::make_unique<Ext3Target>(spec, std::move(settings), std::move(disk.device), std::move(pool));
  IOTAPE_TRY(target->mount(disk.fresh, options.tree));
  return target;
}

}  // namespace iotape
