#include "replayer/engine/name_space.h"

#include <fmt/format.h>

#include <algorithm>

namespace iotape {
namespace {

constexpr int kMaximumLinks = 40;  // as the kernel allows
constexpr int kMaximumDepth = 100'000;

// Where directories lie of which only the identity was seen: a recording may tell the working directory by its inode
// alone. They keep a place of their own, outside of which ".." leads, until a call shows where they are.
constexpr std::string_view kUnplaced = "(unplaced)";

std::string unplaced_name(const FileIdentity& identity) {
  return fmt::format("{}-{}-{}", identity.device.value, identity.subvolume, identity.inode.value);
}

// stat(2) shows no generation, so a zero one may stand for any.
bool same_apart_from_generation(const FileIdentity& a, const FileIdentity& b) {
  return a.device == b.device && a.inode == b.inode && a.subvolume == b.subvolume &&
         (a.generation == 0 || b.generation == 0 || a.generation == b.generation);
}

}  // namespace

NameSpace::NameSpace() {
  FileRecord& top = files_.add();
  top.reference.kind = FileKind::kDirectory;
  top.origin = Origin::kExisted;
  top.mount_point = true;
}

FileIndex NameSpace::find(const FileReference& reference) const {
  if (!reference.known()) return kNoFile;
  const auto found = by_identity_.find(reference.identity);
  return found == by_identity_.end() ? kNoFile : found->second;
}

FileIndex NameSpace::unplaced() const { return child(kTopDirectory, kUnplaced); }

FileIndex NameSpace::find_or_float(const FileReference& reference) {
  if (!reference.known()) return kNoFile;
  if (const FileIndex known = find(reference); known != kNoFile) return known;
  if (reference.kind == FileKind::kDirectory) {
    FileIndex shelf = child(kTopDirectory, kUnplaced);
    if (shelf == kNoFile) shelf = add(kTopDirectory, kUnplaced, FileKind::kDirectory, Origin::kExisted);
    const FileIndex made = add(shelf, unplaced_name(reference.identity), FileKind::kDirectory, Origin::kExisted);
    set_reference(made, reference);
    return made;
  }
  const FileIndex made{static_cast<std::uint32_t>(files_.size())};
  files_.add();
  set_reference(made, reference);
  return made;
}

FileIndex NameSpace::child(FileIndex directory, std::string_view name) const {
  const auto found = entries_.find(EntryView{directory.value, name});
  return found == entries_.end() ? kNoFile : found->second;
}

FileIndex NameSpace::add(FileIndex directory, std::string_view name, FileKind kind, Origin origin) {
  const FileIndex made{static_cast<std::uint32_t>(files_.size())};
  files_.add().reference.kind = kind;
  set_entry(directory, name, made);
  if (origin == Origin::kExisted) mark_existed(made);
  if (origin == Origin::kCreated) mark_created(made);
  return made;
}

void NameSpace::set_entry(FileIndex directory, std::string_view name, FileIndex file) {
  entries_.insert_or_assign(EntryKey{directory.value, std::string(name)}, file);
  record(file).parent = directory;
  record(file).name = name;
}

void NameSpace::set_reference(FileIndex file, const FileReference& reference) {
  if (!reference.known()) return;
  record(file).reference = reference;
  by_identity_.insert_or_assign(reference.identity, file);
}

// The first place a file was met in is its initial one: no call can have moved it before, and directories above it
// that did move remember their own first place.
void NameSpace::mark_existed(FileIndex file) {
  FileRecord& entry = record(file);
  if (entry.origin != Origin::kUnknown || entry.parent == kNoFile) return;
  const Origin above = record(entry.parent).origin;
  if (above == Origin::kCreated) return mark_created(file);  // someone outside the trace made it in there
  entry.origin = Origin::kExisted;
  entry.initial_parent = entry.parent;
  entry.initial_name = entry.name;
  if (above == Origin::kUnknown) mark_existed(entry.parent);
}

void NameSpace::mark_created(FileIndex file) {
  FileRecord& entry = record(file);
  entry.origin = Origin::kCreated;
  entry.initial_parent = kNoFile;
  entry.initial_name.clear();
  entry.facts.reset();
}

FileIndex NameSpace::bind(FileIndex directory, std::string_view name, const FileReference& reference, Origin origin) {
  const FileIndex here = child(directory, name);
  if (origin == Origin::kCreated) return bind_created(directory, name, reference);
  if (!reference.known()) {
    if (here == kNoFile) return add(directory, name, FileKind::kUnknown, origin);
    if (origin == Origin::kExisted) mark_existed(here);
    return here;
  }
  if (here != kNoFile && record(here).reference.known() && find(record(here).reference) == here &&
      same_apart_from_generation(record(here).reference.identity, reference.identity)) {
    if (reference.identity.generation != 0 || record(here).reference.identity.generation == 0)
      set_reference(here, reference);
    if (origin == Origin::kExisted) mark_existed(here);
    return here;
  }
  const FileIndex known = find(reference);
  if (known != kNoFile && known != here) return join(directory, name, known, here, origin);
  FileIndex file = here;
  const bool replaced_unseen = here != kNoFile && known != here &&
                               by_identity_.contains(record(here).reference.identity) &&
                               find(record(here).reference) == here;
  if (here == kNoFile || replaced_unseen) file = add(directory, name, reference.kind, Origin::kUnknown);
  set_reference(file, reference);
  if (origin == Origin::kExisted) mark_existed(file);
  return file;
}

// A new file gets a new record even when its inode number was another's before; a record that only this very call's
// own state event made is turned into it.
FileIndex NameSpace::bind_created(FileIndex directory, std::string_view name, const FileReference& reference) {
  FileIndex file = child(directory, name);
  if (file == kNoFile || !record(file).provisional)
    file = add(directory, name, reference.kind, Origin::kCreated);
  else
    mark_created(file);
  record(file).provisional = false;
  set_reference(file, reference);
  return file;
}

// `known` was met elsewhere (or nowhere), `here` is what the name led to so far.
FileIndex NameSpace::join(FileIndex directory, std::string_view name, FileIndex known, FileIndex here, Origin origin) {
  const Origin here_origin = here == kNoFile ? Origin::kUnknown : record(here).origin;
  const bool placeless = record(known).parent == kNoFile;
  if (here != kNoFile && !by_identity_.contains(record(here).reference.identity)) {
    FileRecord& guess = record(here);  // the same file under a record made before its identity was seen
    FileRecord& real = record(known);
    real.minimum_size = std::max(real.minimum_size, guess.minimum_size);
    if (guess.facts && !real.facts) real.facts = std::move(guess.facts);
    guess.origin = Origin::kVoid;
  }
  const bool existed = origin == Origin::kExisted || here_origin == Origin::kExisted;
  const bool another_name = !placeless && !record(known).directory() && record(known).origin == Origin::kExisted &&
                            child(record(known).parent, record(known).name) == known;
  if (another_name) {
    if (existed && record(directory).origin != Origin::kCreated)
      initial_links_.push_back({known, directory, std::string(name)});
    entries_.insert_or_assign(EntryKey{directory.value, std::string(name)}, known);
    return known;
  }
  if (!placeless && record(known).directory()) remove_entry(record(known).parent, record(known).name);
  const FileIndex shelf = child(kTopDirectory, kUnplaced);
  const bool unplaced = shelf != kNoFile && record(known).initial_parent == shelf;
  set_entry(directory, name, known);
  if (unplaced) {  // now it is known where it was all the time
    record(known).origin = Origin::kUnknown;
    mark_existed(known);
  }
  if (unplaced && here_origin == Origin::kCreated) mark_created(known);
  if (existed) mark_existed(known);
  return known;
}

void NameSpace::remove_entry(FileIndex directory, std::string_view name) {
  if (const auto found = entries_.find(EntryView{directory.value, name}); found != entries_.end())
    entries_.erase(found);
}

void NameSpace::link(FileIndex directory, std::string_view name, FileIndex file) { set_entry(directory, name, file); }

void NameSpace::rename(FileIndex from, std::string_view from_name, FileIndex to, std::string_view to_name) {
  const FileIndex moved = child(from, from_name);
  if (moved == kNoFile || child(to, to_name) == moved) return;  // two names of one file: rename(2) does nothing
  remove_entry(from, from_name);
  set_entry(to, to_name, moved);
}

void NameSpace::exchange(FileIndex from, std::string_view from_name, FileIndex to, std::string_view to_name) {
  const FileIndex first = child(from, from_name);
  const FileIndex second = child(to, to_name);
  if (first == kNoFile || second == kNoFile) return;
  set_entry(to, to_name, first);
  set_entry(from, from_name, second);
}

// ---- resolving ----

struct NameSpace::Walk {
  const ResolveRequest& request;
  Resolution result;
  FileIndex current;      // the directory reached so far
  std::string_view rest;  // still to walk; in the request's bytes, or in expanded once a link was followed
  std::string expanded;
  int links = 0;
};

namespace {

std::string_view without_slashes_around(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

}  // namespace

bool NameSpace::follow(Walk& walk, FileIndex link, bool last) {
  const std::string& target = *record(link).current_link_target;
  if (++walk.links > kMaximumLinks) return walk.result.loop = true, false;
  if (target.starts_with('/')) {
    walk.current = walk.request.process_root;
    walk.result.absolute_link = true;
  }
  if (last && target.ends_with('/')) walk.result.trailing_slash = true;
  std::string expanded = target;
  if (!last) expanded.append("/").append(walk.rest);
  walk.expanded = std::move(expanded);
  walk.rest = without_slashes_around(walk.expanded);
  return true;
}

// Takes one component; false ends the walk.
bool NameSpace::step(Walk& walk, std::string_view component, bool last) {
  Resolution& result = walk.result;
  if (component == ".") return true;
  if (component == "..") {
    if (walk.current == walk.request.process_root) return true;
    if (record(walk.current).replay_root) result.left_root = true;
    if (record(walk.current).parent != kNoFile) walk.current = record(walk.current).parent;
    return true;
  }
  FileIndex next = child(walk.current, component);
  const bool must_be_directory = !last || result.trailing_slash;
  if (next != kNoFile && record(next).current_link_target && (must_be_directory || walk.request.follow_last))
    return follow(walk, next, last);
  if (last) {
    result.name = component;
    result.file = next;
    return true;
  }
  if (next == kNoFile && walk.request.create_directories)
    next = add(walk.current, component, FileKind::kDirectory, Origin::kExisted);
  if (next == kNoFile) return false;
  if (walk.request.create_directories) {
    if (record(next).reference.kind == FileKind::kUnknown) record(next).reference.kind = FileKind::kDirectory;
    mark_existed(next);
  }
  walk.current = next;
  return true;
}

Resolution NameSpace::resolve(const ResolveRequest& request) {
  Walk walk{request, {}, request.start, {}, {}, 0};
  if (request.bytes.starts_with('/')) walk.current = request.process_root;
  if (walk.current == kNoFile) return walk.result;
  walk.result.trailing_slash = request.bytes.ends_with('/');
  walk.rest = without_slashes_around(request.bytes);
  while (!walk.rest.empty()) {
    const std::string_view here = walk.rest;
    const std::size_t slash = std::min(here.find('/'), here.size());
    walk.rest = without_slashes_around(here.substr(slash));
    if (step(walk, here.substr(0, slash), walk.rest.empty())) continue;
    walk.result.unresolved = here;
    break;
  }
  walk.result.directory = walk.current;
  if (walk.result.unresolved.empty() && walk.result.name.empty()) walk.result.file = walk.current;
  return std::move(walk.result);
}

std::string NameSpace::path(FileIndex file) const {
  std::vector<std::string_view> parts;
  int depth = 0;
  while (file != kTopDirectory) {
    if (file == kNoFile || record(file).parent == kNoFile || ++depth > kMaximumDepth) return {};
    parts.push_back(record(file).name);
    file = record(file).parent;
  }
  std::string whole;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) whole.append("/").append(*part);
  return whole.empty() ? "/" : whole;
}

FileIndex NameSpace::mount_of(FileIndex file) const {
  for (int depth = 0; file != kNoFile && depth < kMaximumDepth; ++depth) {
    if (record(file).mount_point) return file;
    file = record(file).parent;
  }
  return kNoFile;
}

FileIndex NameSpace::place(std::string_view absolute_path, FileKind kind) {
  const Resolution found = resolve({.bytes = absolute_path, .follow_last = false, .create_directories = true});
  if (found.file != kNoFile) return found.file;
  return add(found.directory, found.name, kind, Origin::kExisted);
}

NameSpace NameSpace::rewound() const {
  NameSpace initial;
  std::size_t known = files_.size();  // what the trace made comes last and is nobody's business before the run
  while (known > 1 && files_[known - 1].origin != Origin::kExisted) --known;
  while (initial.files_.size() < known) initial.files_.add();
  for (std::uint32_t index = 0; index < known; ++index) {
    const FileRecord& was = files_[index];
    FileRecord& now = initial.files_[index];
    now.origin = was.origin == Origin::kExisted ? Origin::kExisted : Origin::kVoid;
    now.mount_point = was.mount_point;
    now.pseudo = was.pseudo;
    now.reference.kind = was.reference.kind;
    if (now.origin != Origin::kExisted) continue;
    initial.set_reference(FileIndex(index), was.reference);
    if (index == kTopDirectory.value) continue;
    initial.set_entry(was.initial_parent, was.initial_name, FileIndex(index));
    now.initial_parent = was.initial_parent;
    now.initial_name = was.initial_name;
    if (was.facts && was.facts->link_target)
      now.current_link_target = std::make_unique<std::string>(*was.facts->link_target);
  }
  for (const InitialLink& link : initial_links_)
    if (link.file.value < known && initial.record(link.file).origin == Origin::kExisted)
      initial.entries_.insert_or_assign(EntryKey{link.directory.value, link.name}, link.file);
  return initial;
}

}  // namespace iotape
