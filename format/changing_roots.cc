#include "format/changing_roots.h"

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

}  // namespace

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
