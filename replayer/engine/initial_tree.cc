#include "replayer/engine/initial_tree.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace iotape {
namespace {

constexpr std::uint32_t kPermissions = 07777;
constexpr std::uint32_t kDefaultDirectoryMode = 0755;
constexpr std::uint32_t kDefaultFileMode = 0644;

class TreeBuilder {
 public:
  TreeBuilder(const NameSpace& names, const ReplayRoots& roots) : names_(names), roots_(roots) {}

  BuiltTree build() {
    collect();
    // Outer ones first: a root may lie in what another one's tree makes.
    std::vector<ReplayRoot> roots = roots_.all();
    std::stable_sort(roots.begin(), roots.end(),
                     [](const ReplayRoot& a, const ReplayRoot& b) { return a.to.size() < b.to.size(); });
    for (const ReplayRoot& root : roots) {
      add_parents(root.to);
      if (!root.to.empty() && !made_.contains(root.to)) add_node(root.directory, root.to);
      add_children(root.directory, root.to);
    }
    add_links();
    return std::move(built_);
  }

 private:
  void collect() {
    for (std::uint32_t index = 0; index < names_.size(); ++index) {
      const FileRecord& record = names_.record(FileIndex(index));
      if (record.origin == Origin::kExisted && record.initial_parent != kNoFile)
        children_[record.initial_parent.value].push_back(FileIndex(index));
    }
    for (auto& [directory, children] : children_)
      std::stable_sort(children.begin(), children.end(),
                       [&](FileIndex a, FileIndex b) { return position(a) < position(b); });
  }

  [[nodiscard]] std::uint64_t position(FileIndex file) const {
    const FileRecord& record = names_.record(file);
    return record.facts && record.facts->directory_position ? *record.facts->directory_position : UINT64_MAX;
  }

  void add_parents(const std::string& to) {
    for (std::size_t slash = to.find('/', 1); slash != std::string::npos; slash = to.find('/', slash + 1)) {
      const std::string parent = to.substr(0, slash);
      if (!made_.insert(parent).second) continue;
      InitialNode node;
      node.path = parent;
      node.kind = FileKind::kDirectory;
      node.mode = kDefaultDirectoryMode;
      built_.nodes.push_back(std::move(node));
    }
  }

  // Depth first with a stack of its own: traces may hold directories of any depth.
  void add_children(FileIndex top, const std::string& top_path) {
    std::vector<std::pair<FileIndex, std::string>> pending = {{top, top_path}};
    while (!pending.empty()) {
      const auto [directory, path] = std::move(pending.back());
      pending.pop_back();
      const auto found = children_.find(directory.value);
      if (found == children_.end()) continue;
      std::vector<std::pair<FileIndex, std::string>> below;
      for (const FileIndex child : found->second) {
        const std::string child_path = path + "/" + names_.record(child).initial_name;
        if (!inside(child)) continue;
        if (!made_.contains(child_path)) add_node(child, child_path);
        if (children_.contains(child.value)) below.emplace_back(child, child_path);
      }
      pending.insert(pending.end(), std::make_move_iterator(below.rbegin()), std::make_move_iterator(below.rend()));
    }
  }

  // Another root, or a mount the root does not go through, is not part of this root's tree.
  [[nodiscard]] bool inside(FileIndex file) const {
    const FileRecord& record = names_.record(file);
    if (record.replay_root || record.pseudo) return false;
    return !record.mount_point || roots_.initial_target_path(names_, file).has_value();
  }

  void add_node(FileIndex file, const std::string& path) {
    const FileRecord& record = names_.record(file);
    InitialNode node;
    node.path = path;
    node.kind = kind_of(file);
    node.mode = node.kind == FileKind::kDirectory ? kDefaultDirectoryMode : kDefaultFileMode;
    if (record.facts) take_facts(*record.facts, node);
    if (node.kind == FileKind::kRegular && !(record.facts && record.facts->size)) node.size = record.minimum_size;
    if (node.kind == FileKind::kRegular) node.size = std::max(node.size, record.minimum_size);
    if (node.kind == FileKind::kSymbolicLink) set_link_target(record, node);
    count(record, node);
    paths_[file.value] = path;
    if (node.kind == FileKind::kDirectory) made_.insert(path);
    built_.nodes.push_back(std::move(node));
  }

  [[nodiscard]] FileKind kind_of(FileIndex file) const {
    if (children_.contains(file.value)) return FileKind::kDirectory;
    const FileKind kind = names_.record(file).reference.kind;
    return kind == FileKind::kUnknown || kind == FileKind::kAnonymous ? FileKind::kRegular : kind;
  }

  static void take_facts(const InitialFacts& facts, InitialNode& node) {
    if (facts.mode) node.mode = *facts.mode & kPermissions;
    if (node.kind == FileKind::kRegular) node.size = facts.size.value_or(0);
    node.user = facts.user;
    node.group = facts.group;
    node.modification_time = facts.modification_time;
    node.special_device = facts.special_device.value_or(0);
    node.xattrs = facts.xattrs;
  }

  // A link whose text nobody saw gets one of the right length: that is what a readlink tells of it.
  static void set_link_target(const FileRecord& record, InitialNode& node) {
    if (record.facts && record.facts->link_target) {
      node.link_target = *record.facts->link_target;
    } else if (record.minimum_size > 0) {
      node.link_target.assign(record.minimum_size, 'x');
    } else {
      node.link_target.assign(record.facts && record.facts->size ? std::max<std::uint64_t>(*record.facts->size, 1) : 1,
                              'x');
    }
  }

  void count(const FileRecord& record, const InitialNode& node) {
    TreeSummary& summary = built_.summary;
    if (node.kind == FileKind::kDirectory)
      ++summary.directories;
    else if (node.kind == FileKind::kRegular)
      ++summary.files;
    else
      ++summary.others;
    summary.bytes += node.size;
    if (!record.facts) ++summary.inferred;
    if (node.kind == FileKind::kRegular && !(record.facts && record.facts->size)) ++summary.sizes_unknown;
  }

  void add_links() {
    for (const InitialLink& link : names_.initial_links()) {
      const auto original = paths_.find(link.file.value);
      const auto directory = roots_.initial_target_path(names_, link.directory);
      if (original == paths_.end() || !directory || names_.record(link.directory).origin != Origin::kExisted) continue;
      InitialNode node;
      node.path = (*directory == "/" ? "" : *directory) + "/" + link.name;
      node.kind = kind_of(link.file);
      node.hard_link_to = original->second;
      ++built_.summary.others;
      built_.nodes.push_back(std::move(node));
    }
  }

  const NameSpace& names_;
  const ReplayRoots& roots_;
  std::unordered_map<std::uint32_t, std::vector<FileIndex>> children_;
  std::unordered_map<std::uint32_t, std::string> paths_;
  std::unordered_set<std::string> made_;  // directories
  BuiltTree built_;
};

}  // namespace

BuiltTree build_initial_tree(const SurveyResult& survey, const ReplayRoots& roots) {
  return TreeBuilder(survey.model->names(), roots).build();
}

}  // namespace iotape
