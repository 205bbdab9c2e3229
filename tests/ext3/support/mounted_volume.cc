#include "tests/ext3/support/mounted_volume.h"

#include <gtest/gtest.h>

#include <cstring>

#include "replayer/ext3/directory/directory.h"

namespace iotape::ext3::test {
namespace {

// The value; or a failure of the test and an empty one.
template <typename T>
T require(Answer<T> answer, std::string_view what) {
  if (answer) return std::move(*answer);
  ADD_FAILURE() << what << ": errno " << answer.error().value;
  return T{};
}
void require(const Answer<void>& answer, std::string_view what) {
  if (!answer) ADD_FAILURE() << what << ": errno " << answer.error().value;
}

}  // namespace

MountedVolume::MountedVolume(BlockDevice& device, const MountOptions& options) {
  auto mounted = mount_volume(host_, device, options);
  if (!mounted) {
    ADD_FAILURE() << mounted.error().message;
    std::abort();
  }
  volume_ = std::move(*mounted);
}

MountedVolume::~MountedVolume() {
  if (volume_ != nullptr) unmount();
}

void MountedVolume::unmount() {
  EXPECT_EQ(volume_->damage_count, 0U) << volume_->first_damage.what;
  require(unmount_volume(*volume_), "unmount");
  volume_.reset();
}

InodeReference MountedVolume::get(InodeNumber number) {
  const HostEntry inside(host_);
  return require(volume_->inodes->get(number), "get");
}

InodeReference MountedVolume::create(Inode& parent, std::string_view name, std::uint32_t mode) {
  const HostEntry inside(host_);
  const SleepLockGuard locked(host_, parent.lock);
  DirectoryProbe probe = require(probe_directory(*volume_, parent, name), name);
  EXPECT_FALSE(probe.found()) << name;
  InodeReference inode;
  Handle handle = require(volume_->journal->start(insert_credits(*volume_) + map_credits(*volume_) + 8), "start");
  auto number = volume_->inode_numbers->allocate(handle, {parent, mode, name, probe.leaf_block});
  if (!number) {
    ADD_FAILURE() << name << ": no inode, errno " << number.error().value;
    return inode;
  }
  inode = require(volume_->inodes->create(*number), "create");
  inode->mode = mode;
  inode->links = S_ISDIR(mode) ? 2 : 1;
  inode->generation = volume_->next_generation++;
  inode->change_time = inode->modification_time = inode->access_time = volume_->now();
  if (S_ISDIR(mode)) {
    require(initialise_directory(*volume_, handle, *inode, parent.number), "initialise_directory");
    ++parent.links;
  }
  require(volume_->inodes->write(handle, *inode), "write");
  require(insert_name(*volume_, handle, parent, probe, name, inode->number, mode), name);
  require(handle.stop(), "stop");
  return inode;
}

void MountedVolume::remove(Inode& parent, std::string_view name) {
  const HostEntry inside(host_);
  const SleepLockGuard locked(host_, parent.lock);
  const DirectoryProbe probe = require(probe_directory(*volume_, parent, name), name);
  ASSERT_TRUE(probe.found()) << name;
  const InodeReference inode = require(volume_->inodes->get(probe.inode), name);
  Handle handle = require(volume_->journal->start(kEraseCredits + OrphanList::kCredits + 2), "start");
  require(erase_name(*volume_, handle, parent, probe), name);
  if (inode->is_directory()) {
    --parent.links;
    require(volume_->inodes->write(handle, parent), "write");
  }
  inode->links = 0;
  require(volume_->orphans.add(*volume_, handle, *inode), "orphan");
  require(volume_->inodes->write(handle, *inode), "write");
  require(handle.stop(), "stop");
}

Answer<BlockNumber> MountedVolume::put_block(Inode& inode, std::uint32_t file_block, bool privileged) {
  const HostEntry inside(host_);
  const SleepLockGuard locked(host_, inode.lock);
  const std::uint32_t block_size = volume_->geometry.block_size;
  const BlockTag tag{BlockCause::kData, inode.number, FileBlock(file_block), 0};
  EXT3_ASSIGN(Handle handle, volume_->journal->start(map_credits(*volume_) + 2));
  EXT3_ASSIGN(const MappedBlock mapped, map_or_allocate(*volume_, handle, inode, FileBlock(file_block), privileged));
  EXT3_ASSIGN(const BufferReference buffer, volume_->cache->get_zeroed(mapped.block, tag));
  const bool logged = volume_->journal->data_mode() == DataMode::kJournal;
  if (logged) EXT3_TRY(volume_->journal->get_write_access(handle, *buffer));
  std::memset(buffer->data, static_cast<int>(file_block % 251 + 1), block_size);
  EXT3_TRY(volume_->journal->dirty_data(handle, *buffer));
  inode.size = std::max(inode.size, (std::uint64_t{file_block} + 1) * block_size);
  EXT3_TRY(volume_->inodes->write(handle, inode));
  EXT3_TRY(handle.stop());
  return mapped.block;
}

BlockNumber MountedVolume::must_put(Inode& inode, std::uint32_t file_block) {
  return require(put_block(inode, file_block), "put_block");
}

BlockNumber MountedVolume::block_at(Inode& inode, std::uint32_t file_block) {
  const HostEntry inside(host_);
  return require(map_block(*volume_, inode, FileBlock(file_block)), "map_block");
}

Answer<void> MountedVolume::cut(Inode& inode, std::uint64_t size) {
  const HostEntry inside(host_);
  const SleepLockGuard locked(host_, inode.lock);
  return truncate(*volume_, inode, size);
}

void MountedVolume::commit() {
  const HostEntry inside(host_);
  const auto answer = volume_->journal->commit_running();
  if (!answer) ADD_FAILURE() << "commit: errno " << answer.error().value;
}

}  // namespace iotape::ext3::test
