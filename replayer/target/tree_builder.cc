#include "replayer/target/tree_builder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "format/base/file_descriptor.h"
#include "replayer/target/data_pool.h"

namespace iotape {
namespace {

constexpr mode_t kPermissionBits = 07777;
constexpr mode_t kSetIdBits = S_ISUID | S_ISGID;
constexpr std::size_t kChunkBytes = std::size_t{1} << 20U;

struct SplitPath {
  std::string_view directory;
  std::string_view name;
};

SplitPath split(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::string printable(std::string_view path) {
  std::string text;
  for (const char c : path) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  return text;
}

std::uint64_t allocated_bytes(const InitialNode& node) {
  if (node.kind != FileKind::kRegular || !node.hard_link_to.empty()) return 0;
  return std::min(node.allocated.value_or(node.size), node.size);
}

mode_t type_bits(FileKind kind) {
  if (kind == FileKind::kFifo) return S_IFIFO;
  if (kind == FileKind::kSocket) return S_IFSOCK;
  if (kind == FileKind::kCharacterDevice) return S_IFCHR;
  return kind == FileKind::kBlockDevice ? S_IFBLK : S_IFREG;
}

class TreeBuilder {
 public:
  TreeBuilder(Fill fill, std::uint64_t seed, const Policy& policy, std::atomic<std::uint64_t>& done)
      : policy_(policy), done_(done), chunk_(kChunkBytes) {
    if (fill == Fill::kRandom) fill_random(chunk_, seed);
    random_ = fill == Fill::kRandom;
  }

  Result<void> build(const InitialTree& tree) {
    ::umask(0);
    top_.reset(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!top_) return system_failure("opening the target's top", errno);
    for (const InitialNode& node : tree) {
      if (const int error = make(node); error != 0)
        return system_failure("making " + printable(node.path) + " in the target", error);
      done_.fetch_add(1, std::memory_order_relaxed);
    }
    for (auto node = directories_.rbegin(); node != directories_.rend(); ++node)
      if (const int error = finish_directory(**node); error != 0)
        return system_failure("setting mode and times of " + printable((*node)->path), error);
    if (::syncfs(top_.get()) != 0) return system_failure("syncing the target", errno);
    return {};
  }

 private:
  int make(const InitialNode& node);
  int make_regular(const InitialNode& node, int directory, const char* name);
  int make_special(const InitialNode& node, int directory, const char* name);
  int make_link(const InitialNode& node, int directory, const char* name);
  int finish_node(const InitialNode& node, int directory, const char* name);
  int finish_directory(const InitialNode& node);
  int fill_file(int file, std::uint64_t bytes);
  int set_xattrs(const InitialNode& node, int directory, const char* name) const;

  Result<int> open_directory(std::string_view path);
  // The directory itself when its path fits one call, else its parent's descriptor walked component by component.
  int walk(std::string_view path, FileDescriptor& opened, bool make_missing);

  [[nodiscard]] mode_t allowed_mode(const InitialNode& node) const {
    const mode_t mode = node.mode & kPermissionBits;
    return policy_.keep.setuid ? mode : mode & ~kSetIdBits;
  }

  const Policy& policy_;
  std::atomic<std::uint64_t>& done_;
  std::vector<std::byte> chunk_;
  bool random_ = true;
  std::uint64_t stamp_ = 1;
  FileDescriptor top_;
  std::string current_path_ = "\n";  // no path looks like this
  FileDescriptor current_;
  std::vector<const InitialNode*> directories_;
};

int TreeBuilder::walk(std::string_view path, FileDescriptor& opened, bool make_missing) {
  opened.reset(::openat(top_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (opened && !path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string component(path.substr(0, slash));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (component.empty()) continue;
    int next = ::openat(opened.get(), component.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (next < 0 && errno == ENOENT && make_missing && ::mkdirat(opened.get(), component.c_str(), 0755) == 0)
      next = ::openat(opened.get(), component.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (next < 0) return errno;
    opened.reset(next);
  }
  return opened ? 0 : errno;
}

Result<int> TreeBuilder::open_directory(std::string_view path) {
  if (path == current_path_) return current_.get();
  std::string relative(path.substr(std::min(path.find_first_not_of('/'), path.size())));
  int error = 0;
  if (relative.empty()) relative = ".";
  current_.reset(::openat(top_.get(), relative.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!current_) error = errno;
  if (error == ENOENT || error == ENAMETOOLONG) error = walk(path, current_, true);
  current_path_ = path;
  if (error != 0) {
    current_path_ = "\n";
    return system_failure("", error);
  }
  return current_.get();
}

int TreeBuilder::make(const InitialNode& node) {
  const auto [parent, leaf] = split(node.path);
  if (leaf.empty()) {  // the top itself
    directories_.push_back(&node);
    return 0;
  }
  const auto directory = open_directory(parent);
  if (!directory) return directory.error().os_errno;
  const std::string name(leaf);
  if (!node.hard_link_to.empty()) return make_link(node, *directory, name.c_str());
  if (node.kind == FileKind::kDirectory) {
    directories_.push_back(&node);
    if (::mkdirat(*directory, name.c_str(), 0700) == 0 || errno == EEXIST) return 0;
    return errno;
  }
  if (node.kind == FileKind::kSymbolicLink) {
    if (::symlinkat(node.link_target.c_str(), *directory, name.c_str()) != 0) return errno;
    return finish_node(node, *directory, name.c_str());
  }
  if (type_bits(node.kind) != S_IFREG) return make_special(node, *directory, name.c_str());
  return make_regular(node, *directory, name.c_str());
}

int TreeBuilder::make_link(const InitialNode& node, int directory, const char* name) {
  const auto [parent, leaf] = split(node.hard_link_to);
  FileDescriptor source;
  if (const int error = walk(parent, source, false); error != 0) return error;
  return ::linkat(source.get(), std::string(leaf).c_str(), directory, name, 0) == 0 ? 0 : errno;
}

int TreeBuilder::make_special(const InitialNode& node, int directory, const char* name) {
  const mode_t type = type_bits(node.kind);
  const bool device = type == S_IFCHR || type == S_IFBLK;
  if (device && !policy_.keep.special) return make_regular(node, directory, name);
  if (::mknodat(directory, name, type | 0600, node.special_device) != 0) return errno;
  return finish_node(node, directory, name);
}

// Each page gets a number of its own, so that no two blocks of the tree are alike.
int TreeBuilder::fill_file(int file, std::uint64_t bytes) {
  constexpr std::size_t kPage = 4096;
  while (bytes > 0) {
    const std::size_t size = std::min<std::uint64_t>(bytes, chunk_.size());
    for (std::size_t at = 0; random_ && at + sizeof(stamp_) <= size; at += kPage, ++stamp_)
      std::memcpy(chunk_.data() + at, &stamp_, sizeof(stamp_));
    const ssize_t written = ::write(file, chunk_.data(), size);
    if (written <= 0) return written == 0 ? ENOSPC : errno;
    bytes -= static_cast<std::uint64_t>(written);
  }
  return 0;
}

int TreeBuilder::make_regular(const InitialNode& node, int directory, const char* name) {
  const FileDescriptor file(::openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return errno;
  const std::uint64_t allocated = allocated_bytes(node);
  if (const int error = fill_file(file.get(), allocated); error != 0) return error;
  const bool hole = node.kind == FileKind::kRegular && allocated < node.size;
  if (hole && ::ftruncate(file.get(), static_cast<off_t>(node.size)) != 0) return errno;
  return finish_node(node, directory, name);
}

int TreeBuilder::set_xattrs(const InitialNode& node, int directory, const char* name) const {
  if (node.xattrs.empty() || ::fchdir(directory) != 0) return node.xattrs.empty() ? 0 : errno;
  int error = 0;
  for (const auto& [key, value] : node.xattrs) {
    const bool dangerous = key.starts_with("security.") || key.starts_with("trusted.");
    if (dangerous && !policy_.keep.setuid) continue;
    // A filesystem without attributes is a finding of the replay, not a reason not to start it.
    if (::lsetxattr(name, key.c_str(), value.data(), value.size(), 0) != 0 && errno != ENOTSUP && errno != EPERM)
      error = errno;
  }
  return ::chdir("/") == 0 ? error : errno;
}

int TreeBuilder::finish_node(const InitialNode& node, int directory, const char* name) {
  constexpr int kNoFollow = AT_SYMLINK_NOFOLLOW;
  if (policy_.keep.owner && (node.user || node.group) &&
      ::fchownat(directory, name, node.user.value_or(-1U), node.group.value_or(-1U), kNoFollow) != 0)
    return errno;
  if (const int error = set_xattrs(node, directory, name); error != 0) return error;
  if (node.kind != FileKind::kSymbolicLink && ::fchmodat(directory, name, allowed_mode(node), 0) != 0) return errno;
  if (!node.modification_time) return 0;
  std::int64_t seconds = *node.modification_time / kNanosecondsPerSecond;
  std::int64_t rest = *node.modification_time % kNanosecondsPerSecond;
  if (rest < 0) {  // before 1970
    rest += kNanosecondsPerSecond;
    --seconds;
  }
  const std::array<timespec, 2> times{{{seconds, rest}, {seconds, rest}}};
  return ::utimensat(directory, name, times.data(), kNoFollow) == 0 ? 0 : errno;
}

int TreeBuilder::finish_directory(const InitialNode& node) {
  const auto [parent, leaf] = split(node.path);
  FileDescriptor directory;
  if (const int error = walk(parent, directory, false); error != 0) return error;
  return finish_node(node, directory.get(), leaf.empty() ? "." : std::string(leaf).c_str());
}

}  // namespace

std::uint64_t tree_bytes(const InitialTree& tree) {
  std::uint64_t total = 0;
  for (const InitialNode& node : tree) {
    const std::uint64_t bytes = allocated_bytes(node);
    total = bytes > UINT64_MAX - total ? UINT64_MAX : total + bytes;
  }
  return total;
}

Result<void> build_tree(const InitialTree& tree, Fill fill, std::uint64_t seed, const Policy& policy,
                        std::atomic<std::uint64_t>& done) {
  return TreeBuilder(fill, seed, policy, done).build(tree);
}

}  // namespace iotape
