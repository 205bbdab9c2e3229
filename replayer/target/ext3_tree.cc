#include "replayer/target/ext3_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/ext3/operations/file_operations.h"
#include "replayer/ext3/operations/namespace_operations.h"
#include "replayer/ext3/operations/xattr_operations.h"
#include "replayer/ext3/path/path_walk.h"

namespace iotape {
namespace {

using ext3::Answer;
using ext3::InodeReference;

constexpr std::size_t kChunkBytes = std::size_t{1} << 20U;
constexpr std::uint64_t kProgressStep = 1024;

std::uint32_t type_bits(FileKind kind) {
  switch (kind) {
    case FileKind::kDirectory:
      return S_IFDIR;
    case FileKind::kSymbolicLink:
      return S_IFLNK;
    case FileKind::kFifo:
      return S_IFIFO;
    case FileKind::kSocket:
      return S_IFSOCK;
    case FileKind::kCharacterDevice:
      return S_IFCHR;
    case FileKind::kBlockDevice:
      return S_IFBLK;
    case FileKind::kUnknown:
    case FileKind::kAnonymous:
    case FileKind::kRegular:
      break;
  }
  return S_IFREG;
}

ext3::FileTime file_time(std::int64_t nanoseconds) {
  std::int64_t seconds = nanoseconds / kNanosecondsPerSecond;
  std::int64_t rest = nanoseconds % kNanosecondsPerSecond;
  if (rest < 0) {
    --seconds;
    rest += kNanosecondsPerSecond;
  }
  return {seconds, static_cast<std::uint32_t>(rest)};
}

class TreeBuilder {
 public:
  TreeBuilder(ext3::Volume& volume, ext3::CallData& data, const ext3::WalkStart& start)
      : volume_(volume), data_(data), start_(start) {}

  Answer<void> add(const InitialNode& node) {
    if (node.path.empty() || node.path == "/") return {};
    EXT3_ASSIGN(const InodeReference parent, directory_of(node.path));
    const std::string_view name = last_component(node.path);
    if (!node.hard_link_to.empty()) {
      EXT3_ASSIGN(const InodeReference existing, find(node.hard_link_to));
      return ext3::link_node(volume_, *parent, name, *existing);
    }
    EXT3_ASSIGN(const InodeReference inode, make(*parent, name, node));
    if (inode->is_regular()) EXT3_TRY(fill(*inode, node));
    if (inode->is_directory()) return {};
    return set_attributes(*inode, node);
  }

  Answer<void> finish_directory(const InitialNode& node) {
    EXT3_ASSIGN(const InodeReference inode, find(node.path));
    return set_attributes(*inode, node);
  }

 private:
  static std::string_view last_component(std::string_view path) { return path.substr(path.rfind('/') + 1); }

  Answer<InodeReference> find(std::string_view path) {
    return ext3::find_path(volume_, start_, path, ext3::LastSymlink::kKeep, credentials_);
  }

  // The directory that holds a path's last component, made where it is missing. Consecutive nodes mostly share it.
  Answer<InodeReference> directory_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    const std::string_view directory = path.substr(0, slash);
    if (directory.empty() || slash == std::string_view::npos) return start_.root;
    if (last_directory_ && directory == last_path_) return last_directory_;
    auto found = find(directory);
    if (!found && found.error().value == ENOENT) {
      EXT3_ASSIGN(const InodeReference parent, directory_of(directory));
      found = ext3::create_node(volume_, *parent, last_component(directory), {S_IFDIR | 0755U, 0, {}}, {});
    }
    EXT3_TRY(found);
    last_path_ = directory;
    last_directory_ = *found;
    return last_directory_;
  }

  Answer<InodeReference> make(ext3::Inode& parent, std::string_view name, const InitialNode& node) {
    const std::uint64_t device = node.special_device;
    const ext3::NewNode fresh{type_bits(node.kind) | (node.mode & 07777U), device, node.link_target};
    auto made = ext3::create_node(volume_, parent, name, fresh, {});
    // A directory that an earlier node's path called for.
    if (!made && made.error().value == EEXIST && node.kind == FileKind::kDirectory) return find(node.path);
    return made;
  }

  Answer<void> fill(ext3::Inode& inode, const InitialNode& node) {
    const std::uint64_t bytes = std::min(node.allocated.value_or(node.size), node.size);
    for (std::uint64_t done = 0; done < bytes;) {
      const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(kChunkBytes, bytes - done));
      std::uint64_t offset = done;
      EXT3_ASSIGN(const std::size_t written,
                  ext3::write_file(volume_, inode, offset, data_.to_write(length), false, {}));
      if (written == 0) return ext3::refuse(ENOSPC);
      done += written;
    }
    if (bytes < node.size) return ext3::truncate_file(volume_, inode, node.size, {});
    return {};
  }

  Answer<void> set_attributes(ext3::Inode& inode, const InitialNode& node) {
    ext3::AttributeChange change;
    change.user = node.user;
    change.group = node.group;
    if (!inode.is_symlink()) change.permissions = node.mode;
    // Before the times: it is a change of its own.
    for (const auto& [name, value] : node.xattrs) {
      const auto set = ext3::write_xattr(volume_, inode, name, value, ext3::XattrMode::kEither, {});
      // A namespace that ext3 does not keep was another filesystem's own affair.
      if (!set && set.error().value != EOPNOTSUPP) return set;
    }
    if (node.modification_time) change.modification_time = file_time(*node.modification_time);
    return ext3::change_attributes(volume_, inode, change);
  }

  ext3::Volume& volume_;
  ext3::CallData& data_;
  const ext3::WalkStart& start_;
  ext3::Credentials credentials_;
  std::string last_path_;
  InodeReference last_directory_;
};

tl::unexpected<Error> refused(const InitialNode& node, ext3::Errno error) {
  return system_failure(fmt::format("making {} on the built-in ext3", node.path), error.value);
}

}  // namespace

Result<void> build_ext3_tree(ext3::Volume& volume, const InitialTree& tree, ext3::CallData& data,
                             const PrepareProgress& progress) {
  const auto root = volume.inodes->get(ext3::kRootInode);
  if (!root) return system_failure("preparing the built-in ext3", root.error().value);
  const ext3::WalkStart start{*root, *root};
  TreeBuilder builder(volume, data, start);
  std::uint64_t done = 0;
  for (const InitialNode& node : tree) {
    if (const auto made = builder.add(node); !made) return refused(node, made.error());
    if (++done % kProgressStep == 0 && progress) progress(done);
  }
  for (auto node = tree.rbegin(); node != tree.rend(); ++node) {
    if (node->kind != FileKind::kDirectory || !node->hard_link_to.empty()) continue;
    if (const auto set = builder.finish_directory(*node); !set) return refused(*node, set.error());
  }
  if (progress) progress(done);
  return {};
}

}  // namespace iotape
