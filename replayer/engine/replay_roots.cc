#include "replayer/engine/replay_roots.h"

#include <fmt/format.h>

#include <algorithm>

namespace iotape {
namespace {

constexpr int kMaximumDepth = 100'000;

bool is_absolute(std::string_view path) { return path.starts_with('/'); }

}  // namespace

Result<PathMapping> parse_path_mapping(std::string_view text) {
  std::string from;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '=') {
      from += text[at];
    } else if (at + 1 < text.size() && text[at + 1] == '=') {
      from += text[++at];
    } else {
      PathMapping mapping{from, std::string(text.substr(at + 1))};
      if (is_absolute(mapping.from) && is_absolute(mapping.to)) return mapping;
      break;
    }
  }
  return failure(ErrorCode::kUsage,
                 fmt::format("--map {}: write FROM=TO with two absolute paths, FROM as in the trace and TO inside the "
                             "target, e.g. /srv/data=/ (a '=' inside FROM is written twice)",
                             text));
}

void ReplayRoots::add(NameSpace& names, ReplayRoot root) {
  const bool known = std::any_of(roots_.begin(), roots_.end(),
                                 [&](const ReplayRoot& other) { return other.directory == root.directory; });
  if (known) return;
  while (root.to.ends_with('/')) root.to.pop_back();
  names.record(root.directory).replay_root = true;
  roots_.push_back(std::move(root));
}

void ReplayRoots::mark(NameSpace& names) const {
  for (const ReplayRoot& root : roots_) names.record(root.directory).replay_root = true;
}

const ReplayRoot* ReplayRoots::find(const NameSpace& names, FileIndex file) const {
  bool crossed_mount = false;
  for (int depth = 0; file != kNoFile && depth < kMaximumDepth; ++depth) {
    const FileRecord& record = names.record(file);
    if (record.replay_root) {
      const auto root = std::find_if(roots_.begin(), roots_.end(),
                                     [&](const ReplayRoot& candidate) { return candidate.directory == file; });
      if (!crossed_mount || root->through_mounts) return &*root;
    }
    if (record.pseudo) return nullptr;
    crossed_mount = crossed_mount || record.mount_point;
    file = record.parent;
  }
  return nullptr;
}

std::optional<std::string> ReplayRoots::target_path(const NameSpace& names, FileIndex file) const {
  const ReplayRoot* root = find(names, file);
  if (root == nullptr) return std::nullopt;
  std::vector<std::string_view> parts;
  for (FileIndex at = file; at != root->directory; at = names.record(at).parent) parts.push_back(names.record(at).name);
  std::string path = root->to;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) path.append("/").append(*part);
  if (path.empty()) path.push_back('/');
  return path;
}

std::optional<std::string> ReplayRoots::initial_target_path(const NameSpace& names, FileIndex file) const {
  std::vector<std::string_view> parts;
  bool crossed_mount = false;
  for (int depth = 0; file != kNoFile && depth < kMaximumDepth; ++depth) {
    const FileRecord& record = names.record(file);
    const auto root = std::find_if(roots_.begin(), roots_.end(),
                                   [&](const ReplayRoot& candidate) { return candidate.directory == file; });
    if (root != roots_.end() && (!crossed_mount || root->through_mounts)) {
      std::string path = root->to;
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) path.append("/").append(*part);
      if (path.empty()) path.push_back('/');
      return path;
    }
    if (record.pseudo) return std::nullopt;
    crossed_mount = crossed_mount || record.mount_point;
    parts.push_back(record.initial_name);
    file = record.initial_parent;
  }
  return std::nullopt;
}

}  // namespace iotape
