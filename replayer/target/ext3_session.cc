#include "replayer/target/ext3_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "replayer/ext3/device/request_parts.h"
#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/target/ext3_tree.h"

namespace iotape {

Ext3Session::Ext3Session(std::string name, const Ext3Settings& settings, ext3::Host& host, ext3::BlockDevice& device,
                         DeviceId volume_device, DataPool pool)
    : name_(std::move(name)),
      settings_(settings),
      host_(host),
      device_(device),
      volume_device_(volume_device),
      data_(std::move(pool)) {}

Ext3Session::~Ext3Session() { (void)unmount(); }

Result<void> Ext3Session::give_up_image(Result<void> done) {
  if (!done && !made_.empty()) ::unlink(std::exchange(made_, {}).c_str());
  return done;
}

Result<void> Ext3Session::told(std::string_view what, const ext3::Answer<void>& answer) {
  if (answer) return {};
  return give_up_image(system_failure(fmt::format("{}: {}", name_, what), answer.error().value));
}

Result<void> Ext3Session::mount() {
  IOTAPE_ASSIGN(volume_, ext3::mount_volume(host_, device_, settings_.mount));
  const auto root = volume_->inodes->get(ext3::kRootInode);
  if (!root) return system_failure(fmt::format("mounting {}", name_), root.error().value);
  root_ = *root;
  return {};
}

// In order: what holds inodes, the volume.
Result<void> Ext3Session::unmount() {
  threads_.clear();
  root_ = {};
  if (!volume_) return {};
  const auto answer = ext3::unmount_volume(*volume_);
  volume_.reset();
  return told("unmounting", answer);
}

Result<void> Ext3Session::require_empty() {
  bool empty = true;
  const auto answer = ext3::read_directory(*volume_, *root_, 0, [&](const ext3::DirectoryListing& entry) {
    empty = entry.name == "." || entry.name == ".." || entry.name == "lost+found";
    return empty;
  });
  if (!answer) return system_failure(fmt::format("reading {}", name_), answer.error().value);
  if (empty) return {};
  return failure(ErrorCode::kUsage,
                 fmt::format("{} is not empty; name another image, or use what it holds with --tree existing", name_));
}

Result<void> Ext3Session::prepare(const InitialTree& tree, const PrepareProgress& progress) {
  IOTAPE_TRY(give_up_image(build_ext3_tree(*volume_, tree, data_, progress)));
  return told("syncing the prepared tree", ext3::sync_volume(*volume_));
}

Result<void> Ext3Session::sync() { return told("the final sync", ext3::sync_volume(*volume_)); }
Result<void> Ext3Session::tend() { return told("writing back", ext3::tend_volume(*volume_)); }

Result<void> Ext3Session::start_thread(const ThreadStart& start) {
  recorded_[host_thread(start.thread)] = start.recorded;
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

Result<void> Ext3Session::carry_out(const TargetCall& call, Completion& completion) {
  const auto thread = threads_.find(call.thread.value);
  if (thread == threads_.end())
    return failure(ErrorCode::kIo, fmt::format("{}: a call of a thread that was never started", name_));
  completion.thread = call.thread;
  completion.cookie = call.cookie;
  ext3::CallAnswer answer =
      ext3::issue_call(*volume_, thread->second, call.operation, call.number, data_, volume_device_);
  completion.skipped = answer.skipped;
  if (answer.skipped == SkipReason::kIssued) completion.outcome = answer.outcome;
  if (answer.opened.known()) completion.opened = answer.opened;
  completion.directory_names = std::move(answer.directory_names);
  return {};
}

ThreadKey Ext3Session::recorded(std::uint32_t host_thread) const {
  const auto known = recorded_.find(host_thread);
  return known != recorded_.end() ? known->second : ext3::key_of(host_thread);
}

std::uint64_t Ext3Session::space_used() const {
  const ext3::VolumeFigures figures = ext3::volume_figures(*volume_);
  return (figures.blocks - figures.free_blocks) * figures.block_size;
}

std::string Ext3Session::filesystem() const {
  return volume_ == nullptr ? "ext3" : volume_->journaled() ? "ext3" : "ext2";
}

MountInfo Ext3Session::mount_info() const {
  MountInfo mount;
  mount.device = mount.block_device = volume_device_;
  mount.mount_point = "/";
  mount.filesystem = filesystem();
  mount.subtree = "/";
  mount.block_size = volume_->geometry.block_size;
  mount.hash_version = volume_->superblock().default_hash_version;
  return mount;
}

std::uint32_t Ext3Session::generation_of(ext3::InodeNumber inode) const {
  return volume_ != nullptr && volume_->inodes != nullptr ? volume_->inodes->generation_of(inode) : 0;
}

}  // namespace iotape
