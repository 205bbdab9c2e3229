#include "replayer/engine/trace_model.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "format/changing_roots.h"

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

namespace iotape {
namespace {

constexpr std::uint32_t kRmdir = 84;
constexpr std::uint32_t kChroot = 161;
constexpr std::uint32_t kUnshare = 272;

template <typename T>
void take_better(std::optional<T>& kept, const std::optional<T>& seen, bool better) {
  if (seen && (!kept || better)) kept = seen;
}

// Lower is better: a snapshot beats a first touch beats a stat result beats what is known of a removal.
int rank_of(StateSource source) {
  static constexpr std::array<int, kStateSourceCount> kRank = {1, 2, 3, 0, 4};
  return kRank[static_cast<std::size_t>(source)];
}

// Whether a directory of which a name, or a stat result without a generation, is all that is known can be this one.
bool may_be(const FileReference& known, const FileReference& seen, bool has_identity) {
  if (!has_identity) return true;
  const FileIdentity& a = known.identity;
  const FileIdentity& b = seen.identity;
  return a.generation == 0 && a.device == b.device && a.inode == b.inode && a.subvolume == b.subvolume;
}

// "/proc/self/fd/4/dir/name", as the C library and tar spell calls that take no directory descriptor: the descriptor
// and what follows it. number is negative for all other paths.
struct BelowDescriptor {
  std::int32_t number = -1;
  std::string_view rest;
};
BelowDescriptor below_descriptor(std::string_view path) {
  for (const std::string_view prefix : {"/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"}) {
    if (!path.starts_with(prefix)) continue;
    const std::string_view text = path.substr(prefix.size());
    BelowDescriptor found;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found.number);
    found.rest = text.substr(static_cast<std::size_t>(end - text.data()));
    if (error != std::errc{} || found.number < 0 || !found.rest.starts_with('/')) continue;
    while (found.rest.starts_with('/')) found.rest.remove_prefix(1);
    return found;
  }
  return {};
}

}  // namespace

ProcessDirectories& TraceModel::directories(ThreadKey thread) {
  auto& found = directories_[thread];
  if (!found) {
    // A thread of a process that is known shares its directories; anything else starts from what its paths show.
    const auto sibling = directories_.lower_bound(ThreadKey{thread.process, ThreadId(INT32_MIN)});
    if (sibling != directories_.end() && sibling->first.process == thread.process && sibling->second)
      found = sibling->second;
    else
      found = std::make_shared<ProcessDirectories>();
  }
  return *found;
}

void TraceModel::observe(const EventBody& event) {
  if (const auto* state = std::get_if<FileState>(&event)) {
    // A state is told before the call that met the file, and only the call shows that its directory is the one that
    // was entered by name a moment ago.
    const bool waits = !state->name.empty() && state->parent.known() && names_.find(state->parent) == kNoFile;
    if (waits)
      waiting_states_.push_back(*state);
    else
      take_state(*state);
  }
  if (const auto* mount = std::get_if<MountInfo>(&event)) take_mount(*mount);
  if (const auto* context = std::get_if<ProcessContext>(&event)) take_context(*context);
  if (const auto* start = std::get_if<ProcessStart>(&event)) take_start(*start);
  if (const auto* exit = std::get_if<ProcessExit>(&event)) {
    directories_.erase(exit->thread);
    if (exit->whole_process) opened_directories_.erase(exit->thread.process);
  }
  if (const auto* inherited = std::get_if<InheritedDescriptor>(&event); inherited && inherited->path.starts_with('/'))
    locate({inherited->descriptor.file, inherited->path, false});
}

void TraceModel::take_mount(const MountInfo& mount) {
  if (!mount.mount_point.starts_with('/')) return;
  FileRecord& point = names_.record(names_.place(mount.mount_point, FileKind::kDirectory));
  point.mount_point = true;
  point.pseudo = is_pseudo_filesystem(mount.filesystem);
}

void TraceModel::take_start(const ProcessStart& start) {
  if (const auto opened = opened_directories_.find(start.parent.process);
      opened != opened_directories_.end() && start.parent.process != start.thread.process)
    opened_directories_.insert_or_assign(start.thread.process, OpenedDirectories(opened->second));
  const auto parent = directories_.find(start.parent);
  if (parent == directories_.end() || !parent->second || start.already_running) return;
  const bool shared = (start.clone_flags & CLONE_FS) != 0;
  directories_[start.thread] = shared ? parent->second : std::make_shared<ProcessDirectories>(*parent->second);
}

void TraceModel::take_context(const ProcessContext& context) {
  ProcessDirectories& directories = this->directories(context.thread);
  if (const FileIndex root = locate(context.root); root != kNoFile) directories.root = root;
  if (const FileIndex working = locate(context.working_directory); working != kNoFile) directories.working = working;
  directories.umask = context.umask;
}

FileIndex TraceModel::locate(const Location& location) {
  if (const FileIndex known = names_.find(location.file); known != kNoFile && names_.record(known).parent != kNoFile)
    return known;
  if (!location.path.starts_with('/') || location.deleted) return names_.find_or_float(location.file);
  const FileKind kind = location.file.known() ? location.file.kind : FileKind::kDirectory;
  const Resolution place = names_.resolve({.bytes = location.path, .follow_last = false, .create_directories = true});
  if (place.name.empty()) return identified(place.file, location.file);
  if (!location.file.known()) return names_.place(location.path, kind);
  return names_.bind(place.directory, place.name, location.file, Origin::kExisted);
}

// The top directory, and others met as "." or "..", have no name to be bound by.
FileIndex TraceModel::identified(FileIndex file, const FileReference& reference) {
  if (file != kNoFile && reference.known() && names_.find(reference) == kNoFile) names_.identify(file, reference);
  return file;
}

FileIndex TraceModel::locate_state(const FileState& state) {
  FileIndex directory = state.name.empty() ? kNoFile : names_.find_or_float(state.parent);
  std::string name = state.name;
  const bool spelt_as_path = name.find('/') != std::string::npos || name == "." || name == "..";
  if (directory != kNoFile && spelt_as_path) {  // as the call spelt it, relative to the parent
    const Resolution place =
        names_.resolve({.start = directory, .bytes = name, .follow_last = false, .create_directories = true});
    if (place.name.empty()) return identified(place.file, state.file);
    directory = place.directory;
    name = place.name;
  }
  if (directory == kNoFile || name.empty()) {
    if (!state.path.starts_with('/')) return names_.find(state.file);
    const Resolution place = names_.resolve({.bytes = state.path, .follow_last = false, .create_directories = true});
    if (place.name.empty()) return identified(place.file, state.file);
    directory = place.directory;
    name = place.name;
  }
  const bool met_before = names_.child(directory, name) != kNoFile;
  // A snapshot also tells of every further name of a file; other states may come of the very call that made it.
  const Origin origin = state.source == StateSource::kSnapshot ? Origin::kExisted : Origin::kUnknown;
  const FileIndex file = names_.bind(directory, name, state.file, origin);
  if (!met_before) names_.record(file).provisional = state.source != StateSource::kSnapshot;
  return file;
}

void TraceModel::take_state(const FileState& state) {
  const FileIndex file = locate_state(state);
  if (file == kNoFile) return;
  names_.mark_existed(file);
  FileRecord& record = names_.record(file);
  if (state.mode && record.reference.kind == FileKind::kUnknown)
    record.reference.kind = file_kind_of_mode(*state.mode, FileKind::kRegular);
  if (state.link_target && !record.current_link_target)
    record.current_link_target = std::make_unique<std::string>(*state.link_target);
  if (record.origin != Origin::kExisted) return;
  if (!record.facts) {
    record.facts = std::make_unique<InitialFacts>();
    record.facts->first_seen = state.time;
    record.facts->source = state.source;
  }
  InitialFacts& facts = *record.facts;
  const bool better = rank_of(state.source) < rank_of(facts.source);
  if (better) facts.source = state.source;
  if (!record.content_changed) take_better(facts.size, state.size, better);
  take_better(facts.mode, state.mode, better);
  take_better(facts.user, state.user, better);
  take_better(facts.group, state.group, better);
  if (!record.content_changed) take_better(facts.modification_time, state.modification_time, better);
  take_better(facts.special_device, state.special_device, better);
  take_better(facts.link_target, state.link_target, better);
  take_better(facts.directory_position, state.directory_position, better);
  if (facts.xattrs.empty()) facts.xattrs = state.xattrs;
}

FileIndex TraceModel::path_start(const PathArgument& path, ThreadKey thread) {
  ProcessDirectories& directories = this->directories(thread);
  if (path.absolute()) return directories.root;
  if (path.directory.number == kAtCurrentDirectory) {
    const FileIndex seen = names_.find(path.directory.file);
    if (seen != kNoFile) return directories.working = seen;
    if (!path.directory.file.known()) return directories.working;
    const bool entered = directories.working != kNoFile &&
                         may_be(names_.record(directories.working).reference, path.directory.file,
                                names_.find(names_.record(directories.working).reference) == directories.working);
    if (entered)
      names_.identify(directories.working, path.directory.file);  // entered by name a moment ago
    else
      directories.working = names_.find_or_float(path.directory.file);
    return directories.working;
  }
  learn_descriptor(thread, path.directory);
  return names_.find_or_float(path.directory.file);
}

void TraceModel::learn_descriptor(ThreadKey thread, const Descriptor& descriptor) {
  if (descriptor.file.kind == FileKind::kDirectory)
    opened_directories_[thread.process].insert_or_assign(descriptor.number, descriptor.file);
}

void TraceModel::take_waiting_states(bool all) {
  constexpr std::size_t kMostWaiting = 64;
  std::vector<FileState> waiting;
  waiting.swap(waiting_states_);
  const bool too_many = waiting.size() > kMostWaiting;
  for (FileState& state : waiting) {
    if (all || too_many || names_.find(state.parent) != kNoFile)
      take_state(state);
    else
      waiting_states_.push_back(std::move(state));
  }
}

// Where the path goes on from: what its bytes say, except below /proc/self/fd, which no target has.
void TraceModel::resolve_path(const Syscall& call, std::size_t index, CallTargets& targets) {
  const PathArgument& path = *targets.paths.path[index];
  if (path.state != TextState::kPresent && path.state != TextState::kNull) return;
  ResolveRequest request{.start = targets.start[index],
                         .process_root = directories(call.thread).root,
                         .bytes = path.bytes,
                         .follow_last = targets.paths.follow[index],
                         .create_directories = call.outcome.ok() && !call.unfinished};
  if (const BelowDescriptor below = below_descriptor(path.bytes); below.number >= 0) {
    const OpenedDirectories& opened = opened_directories_[call.thread.process];
    if (const auto meant = opened.find(below.number); meant != opened.end()) {
      request.start = names_.find_or_float(meant->second);
      request.bytes = below.rest;
    }
  }
  targets.resolved[index] = names_.resolve(request);
}

CallTargets TraceModel::resolve(const Syscall& call) {
  CallTargets targets;
  targets.paths = call_paths(call);
  targets.descriptors = call_descriptors(call.operation);
  for (std::size_t i = 0; i < targets.paths.count; ++i)
    targets.start[i] = path_start(*targets.paths.path[i], call.thread);
  if (!waiting_states_.empty()) take_waiting_states(false);
  for (std::size_t i = 0; i < targets.paths.count; ++i) resolve_path(call, i, targets);
  for (std::size_t i = 0; i < targets.descriptors.count; ++i)
    targets.file[i] = names_.find_or_float(targets.descriptors.descriptor[i]->file);
  return targets;
}

// ---- what a call proves and changes ----

struct TraceModel::Applier {
  TraceModel& model;
  const Syscall& call;
  const CallTargets& targets;

  NameSpace& names() const { return model.names_; }
  const Resolution& at(std::size_t i) const { return targets.resolved[i]; }

  // What lies at a resolved path existed; makes a record when nothing was known there.
  FileIndex exists(const Resolution& place, FileKind kind) const {
    if (place.directory == kNoFile || !place.unresolved.empty() || place.loop) return kNoFile;
    FileIndex file = place.file;
    if (file == kNoFile) file = names().add(place.directory, place.name, kind, Origin::kExisted);
    names().mark_existed(file);
    FileRecord& record = names().record(file);
    if (record.reference.kind == FileKind::kUnknown) record.reference.kind = kind;
    record.provisional = false;
    return file;
  }
  FileIndex created(const Resolution& place, const FileReference& reference) const {
    if (place.directory == kNoFile || place.name.empty() || !place.unresolved.empty()) return kNoFile;
    return names().bind(place.directory, place.name, reference, Origin::kCreated);
  }
  void changed(FileIndex file, std::uint64_t end) const {
    if (file == kNoFile) return;
    FileRecord& record = names().record(file);
    record.content_changed = true;
    record.written_end = std::max(record.written_end, end);
  }
  // A read of an untouched part proves that the file was at least this long.
  void was_at_least(FileIndex file, std::int64_t position, std::int64_t bytes) const {
    if (file == kNoFile || position < 0 || bytes <= 0) return;
    FileRecord& record = names().record(file);
    const std::uint64_t end = static_cast<std::uint64_t>(position) + static_cast<std::uint64_t>(bytes);
    const bool own_bytes = record.content_changed && end <= record.written_end;
    if (record.origin != Origin::kCreated && !own_bytes) record.minimum_size = std::max(record.minimum_size, end);
  }

  // O_CREAT without O_EXCL does not say whether the file was there; what was seen of it before does.
  bool open_created(const Open& op) const {
    constexpr std::int64_t kTemporary = O_TMPFILE & ~O_DIRECTORY;
    if ((op.flags & O_CREAT) == 0 || (op.flags & kTemporary) != 0) return false;
    if ((op.flags & O_EXCL) != 0) return true;
    const FileIndex file = at(0).file;
    if (file == kNoFile) return true;
    const FileRecord& record = names().record(file);
    if (!record.provisional || !record.facts) return record.provisional;
    if (record.facts->first_seen < call.start) return false;
    return !(record.facts->size.value_or(0) > 0 || was_older(record.facts->modification_time));
  }
  // Whether a modification time lies before this call, by the trace's wall-clock anchor.
  bool was_older(const std::optional<std::int64_t>& modified) const {
    constexpr std::int64_t kCoarseClock = 20'000'000;  // file times tick with the kernel's coarse clock
    const TraceHeader& header = model.header_;
    if (!modified || header.anchor_wall_ns == 0) return false;
    const std::int64_t wall = header.anchor_wall_ns + (call.start - header.anchor_time).value;
    return *modified < wall - kCoarseClock;
  }

  void operator()(const Open& op) const {
    model.learn_descriptor(call.thread, {static_cast<std::int32_t>(call.outcome.value), op.opened});
    constexpr std::int64_t kTemporary = O_TMPFILE & ~O_DIRECTORY;
    if ((op.flags & kTemporary) != 0) {
      const FileIndex made = names().find_or_float(op.opened);
      if (made != kNoFile) names().mark_created(made);
      return;
    }
    FileIndex file;
    if (open_created(op)) {
      file = created(at(0), op.opened);
    } else if (at(0).name.empty()) {
      file = at(0).file;
      model.identified(file, op.opened);
    } else {
      if (exists(at(0), op.opened.kind) == kNoFile) return;
      file = names().bind(at(0).directory, at(0).name, op.opened, Origin::kExisted);
      names().record(file).provisional = false;
    }
    if ((op.flags & O_TRUNC) != 0) changed(file, 0);
  }
  void operator()(const Unlink& op) const {
    const bool directory = call.number == kRmdir || (op.flags & AT_REMOVEDIR) != 0;
    exists(at(0), directory ? FileKind::kDirectory : FileKind::kRegular);
    names().remove_entry(at(0).directory, at(0).name);
  }
  void operator()(const Rename& op) const {
    const FileIndex moved = exists(at(0), FileKind::kRegular);
    if (moved == kNoFile || at(1).directory == kNoFile || at(1).name.empty()) return;
    if (at(0).trailing_slash || at(1).trailing_slash) names().record(moved).reference.kind = FileKind::kDirectory;
    if ((op.flags & RENAME_EXCHANGE) != 0) {
      exists(at(1), FileKind::kRegular);
      return names().exchange(at(0).directory, at(0).name, at(1).directory, at(1).name);
    }
    names().rename(at(0).directory, at(0).name, at(1).directory, at(1).name);
  }
  void operator()(const HardLink& op) const {
    FileIndex file = op.existing.bytes.empty() ? targets.start[0] : kNoFile;
    if (file == kNoFile) file = exists(at(0), FileKind::kRegular);
    if (file == kNoFile || at(1).directory == kNoFile || at(1).name.empty()) return;
    names().link(at(1).directory, at(1).name, file);
  }
  void operator()(const SymbolicLink& op) const {
    const FileIndex made = created(at(0), {{}, FileKind::kUnknown});
    if (made == kNoFile) return;
    names().record(made).reference.kind = FileKind::kSymbolicLink;
    names().record(made).current_link_target = std::make_unique<std::string>(op.target.bytes);
  }
  void operator()(const MakeDirectory&) const {
    const FileIndex made = created(at(0), {{}, FileKind::kUnknown});
    if (made != kNoFile) names().record(made).reference.kind = FileKind::kDirectory;
  }
  void operator()(const MakeNode& op) const {
    const FileIndex made = created(at(0), {{}, FileKind::kUnknown});
    if (made != kNoFile)
      names().record(made).reference.kind = file_kind_of_mode(static_cast<std::uint32_t>(op.mode), FileKind::kRegular);
  }
  void operator()(const ReadLink&) const {
    const FileIndex file = exists(at(0), FileKind::kSymbolicLink);
    if (file == kNoFile) return;
    FileRecord& record = names().record(file);
    record.reference.kind = FileKind::kSymbolicLink;
    record.minimum_size =
        std::max(record.minimum_size, static_cast<std::uint64_t>(std::max<std::int64_t>(call.outcome.value, 0)));
  }
  void operator()(const Read& op) const { was_at_least(targets.file[0], op.position.value, call.outcome.value); }
  void operator()(const Write& op) const {
    const auto start = static_cast<std::uint64_t>(std::max<std::int64_t>(op.position.value, 0));
    changed(targets.file[0], start + static_cast<std::uint64_t>(call.outcome.value));
  }
  void operator()(const Transfer& op) const {
    was_at_least(targets.file[0], op.source_position.value, call.outcome.value);
    const auto start = static_cast<std::uint64_t>(std::max<std::int64_t>(op.destination_position.value, 0));
    changed(targets.file[1], start + static_cast<std::uint64_t>(call.outcome.value));
  }
  void operator()(const Seek& op) const {
    std::int64_t end = 0;  // in a hostile trace, of any two numbers
    if (op.whence == SEEK_END && !__builtin_sub_overflow(call.outcome.value, op.offset, &end))
      was_at_least(targets.file[0], 0, end);
  }
  void operator()(const MapMemory& op) const {
    // Programs map whole files; a page beyond the end would have killed them when touched.
    constexpr std::int64_t kPage = 4096;
    if (op.descriptor.number >= 0 && op.length > kPage) was_at_least(targets.file[0], op.offset, op.length - kPage + 1);
  }
  void operator()(const Duplicate& op) const {
    model.learn_descriptor(call.thread, {static_cast<std::int32_t>(call.outcome.value), op.descriptor.file});
  }
  void operator()(const TruncatePath& op) const {
    changed(exists(at(0), FileKind::kRegular), static_cast<std::uint64_t>(op.length));
  }
  void operator()(const TruncateDescriptor& op) const {
    changed(targets.file[0], static_cast<std::uint64_t>(op.length));
  }
  void operator()(const Allocate& op) const {
    changed(targets.file[0], static_cast<std::uint64_t>(op.offset) + static_cast<std::uint64_t>(op.length));
  }
  void operator()(const ChangeDirectoryPath&) const {
    const FileIndex directory = exists(at(0), FileKind::kDirectory);
    if (directory == kNoFile) return;
    ProcessDirectories& own = model.directories(call.thread);
    (call.number == kChroot ? own.root : own.working) = directory;
  }
  void operator()(const ChangeDirectoryDescriptor&) const {
    if (targets.file[0] != kNoFile) model.directories(call.thread).working = targets.file[0];
  }
  void operator()(const SetFileCreationMask& op) const {
    model.directories(call.thread).umask = static_cast<std::uint32_t>(op.mask);
  }
  void operator()(const ProcessCall& op) const {
    if (call.number != kUnshare || (op.flags & CLONE_FS) == 0) return;
    auto& shared = model.directories_[call.thread];
    if (shared) shared = std::make_shared<ProcessDirectories>(*shared);
  }
  void operator()(const AdministerPath&) const {}
  void operator()(const AdministerDescriptor&) const {}
  // Any other successful call on a path proves that something was there.
  template <typename Other>
  void operator()(const Other&) const {
    if (targets.paths.count == 1) exists(at(0), FileKind::kUnknown);
  }
};

void TraceModel::apply(const Syscall& call, const CallTargets& targets) {
  if (call.unfinished) return;
  const Applier applier{*this, call, targets};
  if (call.outcome.ok()) {
    std::visit(applier, call.operation);
    return;
  }
  const bool creates = changes_names(call) || std::holds_alternative<Open>(call.operation);
  if (creates && call.outcome.error_number == EEXIST && targets.paths.count > 0)
    applier.exists(targets.resolved[targets.paths.count - 1], FileKind::kUnknown);
}

}  // namespace iotape
