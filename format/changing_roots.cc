#include "format/changing_roots.h"

#include <fcntl.h>

#include <algorithm>
#include <array>

namespace iotape {
namespace {

// Length of the longest common leading part of two absolute paths that ends at a component's end.
std::size_t common_directory_length(std::string_view a, std::string_view b) {
  const auto differs = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto same = static_cast<std::size_t>(differs.first - a.begin());
  const bool a_at_end = same == a.size() || a[same] == '/';
  const bool b_at_end = same == b.size() || b[same] == '/';
  if (a_at_end && b_at_end) return same;
  const std::size_t slash = a.substr(0, same).rfind('/');
  return slash == std::string_view::npos ? 0 : slash;
}

std::string_view without_trailing_slashes(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// Calls visit(path) for each path whose directory a successful call changed.
struct ChangedPaths {
  const std::function<void(const PathArgument&)>& visit;

  void operator()(const Open& op) const {
    // A terminal or a pipe is written to without anything in its directory changing.
    if (op.opened.known() && op.opened.kind != FileKind::kRegular) return;
    if ((op.flags & (O_CREAT | O_TRUNC)) != 0 || (op.flags & O_ACCMODE) != O_RDONLY) visit(op.path);
  }
  void operator()(const Rename& op) const { visit(op.from), visit(op.to); }
  void operator()(const HardLink& op) const { visit(op.created); }
  void operator()(const SymbolicLink& op) const { visit(op.created); }
  void operator()(const Unlink& op) const { visit(op.path); }
  void operator()(const MakeDirectory& op) const { visit(op.path); }
  void operator()(const MakeNode& op) const { visit(op.path); }
  void operator()(const TruncatePath& op) const { visit(op.path); }
  void operator()(const ChangeModePath& op) const { visit(op.path); }
  void operator()(const ChangeOwnerPath& op) const { visit(op.path); }
  void operator()(const SetTimes& op) const { visit(op.path); }
  void operator()(const SetXattrPath& op) const { visit(op.path); }
  void operator()(const RemoveXattrPath& op) const { visit(op.path); }
  template <typename Op>
  void operator()(const Op&) const {}
};

}  // namespace

void for_each_changed_path(const Operation& operation, const std::function<void(const PathArgument&)>& visit) {
  std::visit(ChangedPaths{visit}, operation);
}

void ChangingRoots::add(DeviceId device, std::string_view directory, std::uint64_t calls) {
  if (!directory.starts_with('/')) return;
  const std::string_view path = without_trailing_slashes(directory);
  const auto [found, is_new] = by_device_.try_emplace(device, Root{device, std::string(path), 0});
  Root& root = found->second;
  root.calls += calls;
  if (!is_new && root.path != path) root.path.resize(common_directory_length(root.path, path));
}

std::vector<ChangingRoots::Root> ChangingRoots::roots() const {
  std::vector<Root> all;
  for (const auto& [device, root] : by_device_) {
    all.push_back(root);
    if (all.back().path.empty()) all.back().path.push_back('/');
  }
  std::stable_sort(all.begin(), all.end(), [](const Root& a, const Root& b) { return a.calls > b.calls; });
  return all;
}

bool is_pseudo_filesystem(std::string_view filesystem) {
  static constexpr std::array<std::string_view, 18> kPseudo = {
      "proc", "sysfs",    "devtmpfs", "devpts", "cgroup",   "cgroup2", "securityfs",  "debugfs",   "tracefs",
      "bpf",  "configfs", "mqueue",   "pstore", "efivarfs", "fusectl", "binfmt_misc", "hugetlbfs", "nsfs"};
  return std::find(kPseudo.begin(), kPseudo.end(), filesystem) != kPseudo.end();
}

}  // namespace iotape
