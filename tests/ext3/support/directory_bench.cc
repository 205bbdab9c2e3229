#include "tests/ext3/support/directory_bench.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "replayer/ext3/inode_cache.h"

namespace iotape::ext3::test {
namespace {

constexpr std::uint32_t kFileMode = 0100644;

std::unique_ptr<MemoryDevice> device_with_files(const DirectoryBenchOptions& options, std::size_t files) {
  const iotape::test::ScratchDirectory scratch;
  iotape::test::write_file(scratch / "empty", "");
  TestVolumeImage image(options.bytes, options.filesystem);
  image.save(scratch / "image");
  std::vector<std::string> requests{"mkdir d"};
  for (std::size_t i = 0; i < files; ++i) requests.push_back(fmt::format("write {} f{}", scratch / "empty", i));
  run_debugfs(scratch / "image", requests);
  return load_device(scratch / "image");
}

InodeNumber child(Volume& volume, Inode& directory, std::string_view name) {
  auto probe = probe_directory(volume, directory, name);
  EXPECT_TRUE(probe && probe->found()) << name;
  return probe ? probe->inode : kNoInode;
}

}  // namespace

FilesystemOptions DirectoryBenchOptions::without_journal(std::uint32_t block_size) {
  FilesystemOptions options;
  options.block_size = block_size;
  options.features.has_journal = false;
  options.now = 1'700'000'000;
  return options;
}

DirectoryBench::DirectoryBench(const DirectoryBenchOptions& options) : device_(device_with_files(options, kFiles)) {
  auto mounted = mount_volume(host_, *device_, options.mount);
  if (!mounted) ADD_FAILURE() << mounted.error().message;
  volume_ = std::move(*mounted);
  const HostEntry inside(host_);
  InodeReference root = *volume_->inodes->get(kRootInode);
  directory_ = *volume_->inodes->get(child(*volume_, *root, "d"));
  for (std::size_t i = 0; i < kFiles; ++i)
    files_[i] = *volume_->inodes->get(child(*volume_, *root, fmt::format("f{}", i)));
}

DirectoryBench::~DirectoryBench() {
  if (volume_ == nullptr) return;
  const HostEntry inside(host_);
  directory_ = {};
  files_ = {};
}

std::size_t DirectoryBench::index_of(InodeNumber number) const {
  for (std::size_t i = 0; i < kFiles; ++i)
    if (files_[i]->number == number) return i;
  ADD_FAILURE() << "not one of the files: " << number.value;
  return 0;
}

int DirectoryBench::insert(std::string_view name) {
  const HostEntry inside(host_);
  auto probe = probe_directory(*volume_, *directory_, name);
  if (!probe) return probe.error().value;
  if (probe->found()) return EEXIST;
  const std::size_t file = next_file_++ % kFiles;
  Handle handle = *volume_->journal->start(insert_credits(*volume_));
  const auto answer = insert_name(*volume_, handle, *directory_, *probe, name, files_[file]->number, kFileMode);
  if (!answer) return answer.error().value;
  ++links_[file];
  return 0;
}

int DirectoryBench::erase(std::string_view name) {
  const HostEntry inside(host_);
  const auto probe = probe_directory(*volume_, *directory_, name);
  if (!probe) return probe.error().value;
  if (!probe->found()) return ENOENT;
  --links_[index_of(probe->inode)];
  Handle handle = *volume_->journal->start(kEraseCredits);
  const auto answer = erase_name(*volume_, handle, *directory_, *probe);
  return answer ? 0 : answer.error().value;
}

int DirectoryBench::rewrite(std::string_view name, std::size_t new_file) {
  const HostEntry inside(host_);
  const auto probe = probe_directory(*volume_, *directory_, name);
  if (!probe) return probe.error().value;
  if (!probe->found()) return ENOENT;
  --links_[index_of(probe->inode)];
  ++links_[new_file % kFiles];
  Handle handle = *volume_->journal->start(kEraseCredits);
  const auto answer = rewrite_name(*volume_, handle, *directory_, *probe, file(new_file), kFileMode);
  return answer ? 0 : answer.error().value;
}

InodeNumber DirectoryBench::lookup(std::string_view name) {
  const HostEntry inside(host_);
  const auto probe = probe_directory(*volume_, *directory_, name);
  if (!probe) ADD_FAILURE() << "lookup: errno " << probe.error().value;
  return probe ? probe->inode : kNoInode;
}

std::vector<std::string> DirectoryBench::list(std::size_t batch, bool keep_position) {
  const HostEntry inside(host_);
  std::vector<std::string> names;
  DirectoryPosition position;
  std::uint64_t cookie = 0;
  for (std::size_t before = 1; names.size() != before;) {
    before = names.size();
    std::size_t taken = 0;
    const auto take = [&](const DirectoryListing& listing) {
      if (taken++ == batch) return false;
      names.emplace_back(listing.name);
      cookie = listing.next_cookie;
      return true;
    };
    if (!keep_position) position = {};
    const auto answer = read_directory(*volume_, *directory_, position, cookie, take);
    EXPECT_TRUE(answer) << "errno " << answer.error().value;
    if (!answer || taken <= batch) break;
  }
  return names;
}

void DirectoryBench::finish() {
  {
    const HostEntry inside(host_);
    Handle handle = *volume_->journal->start(kFiles);
    for (std::size_t i = 0; i < kFiles; ++i) {
      files_[i]->links = static_cast<std::uint32_t>(1 + links_[i]);
      EXPECT_TRUE(volume_->inodes->write(handle, *files_[i]));
    }
    EXPECT_TRUE(handle.stop());
    directory_ = {};
    files_ = {};
  }
  EXPECT_TRUE(unmount_volume(*volume_));
  volume_.reset();
}

void DirectoryBench::expect_clean(std::vector<std::string> names) {
  finish();
  IOTAPE_EXPECT_E2FSCK_CLEAN(*device_);
  std::vector<std::string> listed = names_by_debugfs(*device_, "/d");
  std::sort(listed.begin(), listed.end());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(listed, names);
}

std::vector<std::string> names_by_debugfs(MemoryDevice& device, const std::string& path) {
  const iotape::test::ScratchDirectory scratch;
  TestVolumeImage::save_device(device, scratch / "image");
  std::istringstream out(iotape::test::run_program({"debugfs", "-R", "ls -p " + path, scratch / "image"}).out);
  std::vector<std::string> names;
  // /inode/mode/user/group/name/size/; inode 0 is a free record.
  for (std::string line; std::getline(out, line);) {
    std::size_t at = 0;
    for (int field = 0; field < 5 && at != std::string::npos; ++field) at = line.find('/', at + (field == 0 ? 0 : 1));
    if (at == std::string::npos || line.rfind("/0/", 0) == 0) continue;
    const std::string name = line.substr(at + 1, line.find('/', at + 1) - at - 1);
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

}  // namespace iotape::ext3::test
