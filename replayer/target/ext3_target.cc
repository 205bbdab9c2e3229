#include "replayer/target/ext3_target.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <vector>

#include "replayer/ext3/calls/call_issuer.h"
#include "replayer/ext3/device/file_device.h"
#include "replayer/ext3/device/memory_device.h"
#include "replayer/ext3/device/tracing_device.h"
#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/mount.h"
#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/ext3/solo_host.h"
#include "replayer/target/data_pool.h"
#include "replayer/target/ext3_settings.h"
#include "replayer/target/ext3_tree.h"
#include "replayer/target/host_clock.h"

namespace iotape {
namespace {

// A block device number from the range that is nobody's.
constexpr DeviceId kDevice = DeviceId::of(240, 0);
constexpr std::string_view kDeviceName = "ext3";
constexpr Nanoseconds kTendEvery{100'000'000};

constexpr auto kDueLater = [](const TargetCall& a, const TargetCall& b) { return a.not_before > b.not_before; };

class PoolData final : public ext3::CallData {
 public:
  explicit PoolData(DataPool pool) : pool_(std::move(pool)) {}
  std::span<const std::byte> to_write(std::size_t length) override {
    return {pool_.next_data(cursor_, length), length};
  }
  std::span<std::byte> to_read(std::size_t length) override { return {pool_.scratch(), length}; }

 private:
  DataPool pool_;
  DataPool::Cursor cursor_;
};

class Ext3Target final : public Target {
 public:
  Ext3Target(const TargetSpec& spec, Ext3Settings settings, std::unique_ptr<ext3::BlockDevice> disk, DataPool pool)
      : spec_(spec),
        settings_(std::move(settings)),
        disk_(std::move(disk)),
        traced_(*disk_, kDevice, request_context()),
        data_(std::move(pool)) {
    traced_.set_watching(false);
  }
  ~Ext3Target() override { release(); }

  Result<void> mount() {
    IOTAPE_ASSIGN(volume_, ext3::mount_volume(host_, traced_, settings_.mount));
    const auto root = volume_->inodes->get(ext3::kRootInode);
    if (!root) return system_failure(fmt::format("mounting {}", spec_.text()), root.error().value);
    root_ = *root;
    return {};
  }
  // Nothing in it but lost+found.
  Result<void> require_empty() {
    bool empty = true;
    const auto answer = ext3::read_directory(*volume_, *root_, 0, [&](const ext3::DirectoryListing& entry) {
      empty = entry.name == "." || entry.name == ".." || entry.name == "lost+found";
      return empty;
    });
    if (!answer) return system_failure(fmt::format("reading {}", spec_.text()), answer.error().value);
    if (empty) return {};
    return failure(
        ErrorCode::kUsage,
        fmt::format("{} is not empty; name another image, or use what it holds with --tree existing", spec_.place));
  }

  [[nodiscard]] TargetFacts facts() const override {
    TargetFacts facts;
    facts.description = spec_.text();
    facts.filesystem = settings_.mount.journaled ? "ext3 (built in)" : "ext2 (built in)";
    facts.device = kDevice;
    facts.makes_requests = true;
    facts.notes = {"requests are as the filesystem issued them, without an elevator or a disk's time"};
    return facts;
  }
  [[nodiscard]] Nanoseconds now() const override { return host_now(); }

  Result<void> prepare(const InitialTree& tree, const PrepareProgress& progress) override {
    IOTAPE_TRY(build_ext3_tree(*volume_, tree, data_, progress));
    return filesystem_answer("syncing the prepared tree", ext3::sync_volume(*volume_));
  }

  Result<void> make_cold() override {
    root_ = {};
    IOTAPE_TRY(filesystem_answer("emptying the cache", ext3::unmount_volume(*volume_)));
    volume_.reset();
    return mount();
  }

  Result<void> start_thread(const ThreadStart& start) override;
  [[nodiscard]] std::optional<ThreadKey> system_thread(TargetThread thread) const override { return key_of(thread); }
  Result<void> end_thread(TargetThread thread) override {
    threads_.erase(thread.value);
    return {};
  }

  Result<void> submit(TargetCall call) override {
    pending_.push_back(std::move(call));
    std::ranges::push_heap(pending_, kDueLater);
    return {};
  }
  Result<Completion> next_completion() override;

  Result<void> watch_requests() override {
    traced_.set_watching(true);
    return {};
  }
  Result<std::uint64_t> take_requests(EventSink& sink) override;

  Result<std::optional<std::uint64_t>> space_used() override {
    const ext3::VolumeFigures figures = ext3::volume_figures(*volume_);
    return (figures.blocks - figures.free_blocks) * figures.block_size;
  }

  Result<void> finish(bool sync) override {
    threads_.clear();
    if (sync) IOTAPE_TRY(filesystem_answer("the final sync", ext3::sync_volume(*volume_)));
    return {};
  }

 private:
  static ThreadKey key_of(TargetThread thread) {
    const auto number = static_cast<std::int32_t>(thread.value) + 1;
    return {ProcessId(number), ThreadId(number)};
  }
  ext3::RequestContext request_context() {
    return {[] { return host_now(); }, [this] { return std::pair(submitter_, call_start_); },
            [this](ext3::InodeNumber inode) { return volume_ ? volume_->inodes->generation_of(inode) : 0U; }};
  }
  [[nodiscard]] Result<void> filesystem_answer(std::string_view what, const ext3::Answer<void>& answer) const {
    if (answer) return {};
    return system_failure(fmt::format("{}: {}", spec_.text(), what), answer.error().value);
  }
  // In order: what holds inodes, the volume, the disk. A disk in memory goes with it.
  void release() {
    threads_.clear();
    root_ = {};
    traced_.set_watching(false);
    if (volume_) (void)ext3::unmount_volume(*volume_);
    volume_.reset();
  }

  TargetSpec spec_;
  Ext3Settings settings_;
  ext3::SoloHost host_;
  std::unique_ptr<ext3::BlockDevice> disk_;
  ThreadKey submitter_;
  std::optional<Nanoseconds> call_start_;
  ext3::TracingDevice traced_;
  PoolData data_;
  std::unique_ptr<ext3::Volume> volume_;
  ext3::InodeReference root_;
  std::map<std::uint32_t, ext3::CallThread> threads_;
  std::vector<TargetCall> pending_;  // a heap by not_before
  Nanoseconds last_tended_;
  bool described_ = false;
};

Result<void> Ext3Target::start_thread(const ThreadStart& start) {
  ext3::CallThread thread;
  thread.credentials.privileged = start.privileged;
  if (!start.privileged) thread.credentials.user = thread.credentials.group = 65534;
  const auto parent = start.parent ? threads_.find(start.parent->value) : threads_.end();
  if (parent == threads_.end()) {
    thread.descriptors = std::make_shared<ext3::DescriptorTable>();
    thread.view = std::make_shared<ext3::FilesystemView>();
    thread.view->umask = start.umask;
    thread.view->start = {root_, root_};
    const auto place = ext3::find_path(*volume_, thread.view->start, start.working_directory,
                                       ext3::LastSymlink::kFollow, thread.credentials);
    if (place) thread.view->start.current = *place;
  } else {
    const ext3::CallThread& from = parent->second;
    thread.descriptors =
        start.share_descriptors ? from.descriptors : std::make_shared<ext3::DescriptorTable>(*from.descriptors);
    thread.view = start.share_filesystem ? from.view : std::make_shared<ext3::FilesystemView>(*from.view);
  }
  threads_.insert_or_assign(start.thread.value, std::move(thread));
  return {};
}

Result<Completion> Ext3Target::next_completion() {
  if (pending_.empty()) return failure(ErrorCode::kIo, "ext3: no call is in flight");
  std::ranges::pop_heap(pending_, kDueLater);
  const TargetCall call = std::move(pending_.back());
  pending_.pop_back();
  const auto thread = threads_.find(call.thread.value);
  if (thread == threads_.end()) return failure(ErrorCode::kIo, "ext3: a call of a thread that was never started");
  Completion completion;
  completion.thread = call.thread;
  completion.cookie = call.cookie;
  completion.start = wait_until(call.not_before);
  submitter_ = key_of(call.thread);
  host_.become(call.thread.value + 1);
  call_start_ = completion.start;
  ext3::CallAnswer answer = ext3::issue_call(*volume_, thread->second, call.operation, call.number, data_, kDevice);
  completion.end = host_now();
  call_start_.reset();
  if (completion.end - last_tended_ > kTendEvery) {
    last_tended_ = completion.end;
    submitter_ = {};
    IOTAPE_TRY(filesystem_answer("writing back", ext3::tend_volume(*volume_)));
  }
  completion.skipped = answer.skipped;
  if (answer.skipped == SkipReason::kIssued) completion.outcome = answer.outcome;
  if (answer.opened.known()) completion.opened = answer.opened;
  completion.directory_names = std::move(answer.directory_names);
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
    MountInfo mount;
    mount.device = mount.block_device = kDevice;
    mount.mount_point = "/";
    mount.filesystem = settings_.mount.journaled ? "ext3" : "ext2";
    mount.subtree = "/";
    mount.block_size = volume_->geometry.block_size;
    mount.hash_version = volume_->superblock().default_hash_version;
    IOTAPE_TRY(sink.append(mount));
  }
  std::vector<BlockRequest> requests = traced_.take();
  for (BlockRequest& request : requests) IOTAPE_TRY(sink.append(std::move(request)));
  return requests.size();
}

Result<std::unique_ptr<ext3::BlockDevice>> make_disk(const TargetSpec& spec, Ext3Settings& settings, bool& fresh) {
  fresh = true;
  if (spec.place.empty()) return std::make_unique<ext3::MemoryDevice>(settings.bytes);
  struct stat status {};
  fresh = ::stat(spec.place.c_str(), &status) != 0 && errno == ENOENT;
  if (fresh) {
    const FileDescriptor image(::open(spec.place.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!image || ::ftruncate(image.get(), static_cast<off_t>(settings.bytes)) != 0)
      return system_failure(fmt::format("making {}", spec.place), errno);
  }
  IOTAPE_ASSIGN(ext3::FileDevice device, ext3::FileDevice::open(spec.place, ext3::FileDeviceMode::kReadWrite));
  return std::make_unique<ext3::FileDevice>(std::move(device));
}

}  // namespace

Result<std::unique_ptr<Target>> make_ext3_target(const TargetSpec& spec, const TargetOptions& options) {
  IOTAPE_ASSIGN(Ext3Settings settings, read_ext3_settings(spec));
  bool fresh = false;
  IOTAPE_ASSIGN(auto disk, make_disk(spec, settings, fresh));
  if (fresh) {
    settings.make.now = std::time(nullptr);
    IOTAPE_ASSIGN([[maybe_unused]] const ext3::MadeFilesystem made, ext3::make_filesystem(*disk, settings.make));
  }
  IOTAPE_ASSIGN(DataPool pool, DataPool::make(options.fill, settings.make.seed));
  auto target = std::make_unique<Ext3Target>(spec, std::move(settings), std::move(disk), std::move(pool));
  IOTAPE_TRY(target->mount());
  if (!fresh && options.tree != TreePolicy::kExisting) IOTAPE_TRY(target->require_empty());
  return target;
}

}  // namespace iotape
