#include "tests/ext3/support/side_by_side/our_side.h"

#include <gtest/gtest.h>

#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/ext3/operations/namespace_operations.h"
#include "replayer/ext3/operations/xattr_operations.h"

namespace iotape::ext3::test {
namespace {

constexpr std::size_t kPiece = 256 << 10;

// Remembers the last bytes read.
class StepData final : public CallData {
 public:
  explicit StepData(std::uint64_t fill) : fill_(fill) {}
  std::span<const std::byte> to_write(std::size_t length) override {
    fill_bytes(fill_, length, bytes_);
    return {bytes_.data(), length};
  }
  std::span<std::byte> to_read(std::size_t length) override {
    pieces_.emplace_back(length);
    return pieces_.back();
  }
  // The first piece holds all but a read of more than a piece of issue_call's.
  [[nodiscard]] std::string seen(std::int64_t length) const {
    if (pieces_.empty() || length <= 0) return {};
    return {reinterpret_cast<const char*>(pieces_.front().data()), static_cast<std::size_t>(length)};
  }

 private:
  std::uint64_t fill_;
  std::vector<std::byte> bytes_;
  std::vector<std::vector<std::byte>> pieces_;
};

TimePicture picture_of_time(const FileTime& time) { return {time.seconds, time.nanoseconds}; }

template <typename T>
T must(Answer<T> answer, const std::string& path) {
  if (answer) return std::move(*answer);
  ADD_FAILURE() << printable_bytes(path) << ": errno " << answer.error().value;
  return T{};
}

}  // namespace

OurSide::OurSide(BlockDevice& device, const MountOptions& options) {
  auto mounted = mount_volume(host_, device, options);
  if (!mounted) {
    ADD_FAILURE() << mounted.error().message;
    return;
  }
  volume_ = std::move(*mounted);
  const HostEntry inside(host_);
  const InodeReference root = must(volume_->inodes->get(kRootInode), "/");
  thread_.descriptors = std::make_shared<DescriptorTable>();
  thread_.view = std::make_shared<FilesystemView>();
  thread_.view->start = {root, root};
}

OurSide::~OurSide() { unmount(); }

void OurSide::unmount() {
  if (!volume_) return;
  {
    const HostEntry inside(host_);
    thread_ = {};
  }
  const auto answer = unmount_volume(*volume_);
  EXPECT_TRUE(answer) << "unmounting: errno " << answer.error().value;
  EXPECT_EQ(volume_->damage_count, 0U) << volume_->first_damage.what;
  const HostEntry inside(host_);
  volume_.reset();
}

StepOutcome OurSide::issue(const Step& step) {
  const HostEntry inside(host_);
  thread_.credentials = {step.user, step.user, {}, step.user == 0};
  StepData data(step.fill);
  CallAnswer answer = issue_call(*volume_, thread_, step.operation, step.number, data, DeviceId(1));
  EXPECT_EQ(answer.skipped, SkipReason::kIssued) << describe(step);
  (void)tend_volume(*volume_);
  StepOutcome outcome{answer.outcome.value, answer.outcome.error_number, {}, std::move(answer.directory_names)};
  if (outcome.ok() && std::holds_alternative<Read>(step.operation)) outcome.seen = data.seen(outcome.value);
  return outcome;
}

TreePicture OurSide::picture() {
  const HostEntry inside(host_);
  TreePicture tree;
  const AccessTimes rule = std::exchange(volume_->options.access_times, AccessTimes::kOff);
  FirstNames names;
  const InodeReference root = must(volume_->inodes->get(kRootInode), "/");
  draw(*root, "", names, tree);
  volume_->options.access_times = rule;
  const VolumeFigures figures = volume_figures(*volume_);
  tree.free_blocks = figures.free_blocks;
  tree.free_inodes = figures.free_inodes;
  return tree;
}

void OurSide::draw(Inode& inode, const std::string& path, FirstNames& names, TreePicture& tree) {
  FilePicture picture = picture_of(inode, path, names);
  if (inode.is_directory()) {
    {
      const SleepLockGuard locked(volume_->host, inode.lock);
      must(read_directory(*volume_, inode, 0,
                          [&](const DirectoryListing& listing) {
                            if (listing.name != "." && listing.name != "..") picture.entries.emplace_back(listing.name);
                            return true;
                          }),
           path);
    }
    std::vector<std::string> sorted = picture.entries;
    std::sort(sorted.begin(), sorted.end());
    for (const std::string& name : sorted) {
      std::string below = path + "/";
      below += name;
      const InodeReference child = must(look_up(*volume_, inode, name), below);
      if (child) draw(*child, below, names, tree);
    }
  }
  tree.files.emplace(path, std::move(picture));
}

FilePicture OurSide::picture_of(Inode& inode, const std::string& path, FirstNames& names) {
  FilePicture picture;
  picture.mode = inode.mode;
  picture.user = inode.user;
  picture.group = inode.group;
  picture.links = inode.links;
  picture.size = inode.size;
  picture.sectors = inode.sectors;
  if (S_ISCHR(inode.mode) || S_ISBLK(inode.mode)) picture.device = device_number(inode);
  picture.first_name = names.of(inode.number.value, path);
  if (inode.is_regular()) picture.contents = contents_of(inode);
  if (inode.is_symlink()) picture.contents = must(read_symlink(*volume_, inode), path);
  for (const std::string& name : must(read_xattr_names(*volume_, inode), path))
    picture.attributes[name] = must(read_xattr(*volume_, inode, name), path);
  picture.access = picture_of_time(inode.access_time);
  picture.modification = picture_of_time(inode.modification_time);
  return picture;
}

std::string OurSide::contents_of(Inode& inode) {
  ContentsPicture contents;
  std::vector<std::byte> bytes(kPiece);
  ReadAheadState ahead;
  for (std::uint64_t at = 0;;) {
    const auto data = seek_data(*volume_, inode, at);
    if (!data) break;
    at = *data;
    const std::uint64_t end = must(seek_hole(*volume_, inode, at), "");
    while (at < end) {
      const std::size_t length = must(
          read_file(*volume_, inode, at, std::span(bytes).first(std::min<std::uint64_t>(kPiece, end - at)), ahead), "");
      if (length == 0) return "cannot be read";
      contents.data(at, reinterpret_cast<const char*>(bytes.data()), length);
      at += length;
    }
  }
  return contents.text();
}

}  // namespace iotape::ext3::test
