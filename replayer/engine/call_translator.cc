#include "replayer/engine/call_translator.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

namespace iotape {
namespace {

constexpr std::uint32_t kMunmap = 11;
constexpr std::uint32_t kMsync = 26;
constexpr std::uint32_t kDup = 32;
constexpr std::uint32_t kChroot = 161;
constexpr std::int32_t kNoHandle = -1;  // a number no target gives out: the call fails with EBADF, as recorded
constexpr std::int64_t kFiclone = 0x40049409;

SkipReason reason_of(HandleKind kind) {
  static constexpr std::array<SkipReason, 4> kReasons = {SkipReason::kIssued, SkipReason::kNotAFile,
                                                         SkipReason::kExternal, SkipReason::kLostHandle};
  return kReasons[static_cast<std::size_t>(kind)];
}

HandleKind kind_for(SkipReason reason) {
  if (reason == SkipReason::kIssued) return HandleKind::kTarget;
  if (reason == SkipReason::kNotAFile) return HandleKind::kNotAFile;
  return reason == SkipReason::kExternal ? HandleKind::kExternal : HandleKind::kLost;
}

struct SkipOfKind {
  std::uint32_t number;
  SkipReason operator()(const ProcessCall&) const { return SkipReason::kProcessOnly; }
  SkipReason operator()(const MakeDescriptor&) const { return SkipReason::kNotAFile; }
  SkipReason operator()(const AdministerPath&) const { return SkipReason::kNotReplayable; }
  SkipReason operator()(const AdministerDescriptor&) const { return SkipReason::kNotReplayable; }
  SkipReason operator()(const OtherCall&) const { return SkipReason::kNotReplayable; }
  SkipReason operator()(const TouchMapping&) const { return SkipReason::kNotReplayable; }
  SkipReason operator()(const ReceiveDescriptor&) const { return SkipReason::kNotReplayable; }
  SkipReason operator()(const MapMemory& op) const {
    const bool anonymous = op.descriptor.number < 0 || (op.flags & MAP_ANONYMOUS) != 0;
    return anonymous ? SkipReason::kMemoryOnly : SkipReason::kIssued;
  }
  SkipReason operator()(const ControlMemory&) const {
    return number == kMunmap || number == kMsync ? SkipReason::kIssued : SkipReason::kMemoryOnly;
  }
  SkipReason operator()(const ChangeDirectoryPath&) const {
    return number == kChroot ? SkipReason::kProcessOnly : SkipReason::kIssued;  // paths are resolved with the new root
  }
  template <typename Other>
  SkipReason operator()(const Other&) const {
    return SkipReason::kIssued;
  }
};

// The descriptor behind /proc/self/fd/N, which linkat is given to name a file made with O_TMPFILE.
std::int32_t proc_descriptor(std::string_view path) {
  constexpr std::string_view kPrefix = "/proc/self/fd/";
  if (!path.starts_with(kPrefix)) return kNoHandle;
  path.remove_prefix(kPrefix.size());
  std::int32_t number = kNoHandle;
  const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), number);
  return error == std::errc{} && end == path.data() + path.size() ? number : kNoHandle;
}

template <typename Op>
void for_each_path(Op& operation, auto&& visit) {
  std::size_t index = 0;
  for_each_field(operation, [&](const auto&, auto& member) {
    if constexpr (std::is_same_v<std::decay_t<decltype(member)>, PathArgument>) visit(index++, member);
  });
}

template <typename Op>
void for_each_descriptor(Op& operation, auto&& visit) {
  std::size_t index = 0;
  for_each_field(operation, [&](const auto&, auto& member) {
    if constexpr (std::is_same_v<std::decay_t<decltype(member)>, Descriptor>) visit(index++, member);
  });
}

}  // namespace

bool is_not_a_file(FileKind kind) {
  return kind == FileKind::kFifo || kind == FileKind::kSocket || kind == FileKind::kCharacterDevice ||
         kind == FileKind::kBlockDevice || kind == FileKind::kAnonymous;
}

SkipReason skip_reason_of_kind(const Syscall& call) {
  if (call.unfinished) return SkipReason::kNotReplayable;
  return std::visit(SkipOfKind{call.number}, call.operation);
}

// ---- translating ----

struct CallTranslator::Translator {
  const CallTranslator& owner;
  const Syscall& call;
  const CallTargets& targets;
  const ReplayThread& thread;
  Translation& out;

  const NameSpace& names() const { return owner.model_.names(); }
  void skip(SkipReason reason) const {
    if (out.skipped == SkipReason::kIssued) out.skipped = reason;
  }

  const Handle* handle(std::int32_t number) const {
    const auto found = thread.handles->find(number);
    return found == thread.handles->end() ? nullptr : &found->second;
  }

  // Whether a handle still stands for the file the recorder saw behind the number.
  bool is_stale(const Handle& held, FileIndex seen) const {
    if (held.file == kNoFile || seen == kNoFile || held.file == seen) return false;
    return names().record(held.file).reference.known() && names().record(seen).reference.known() &&
           names().record(held.file).reference.identity != names().record(seen).reference.identity;
  }

  void descriptor(Descriptor& argument, FileIndex file) const {
    const Handle* held = handle(argument.number);
    if (held != nullptr && held->kind == HandleKind::kTarget && is_stale(*held, file))
      return skip(SkipReason::kLostHandle);
    if (held != nullptr) {
      skip(reason_of(held->kind));
      argument.number = held->number;
      return;
    }
    argument.number = kNoHandle;
    if (call.outcome.error_number != EBADF) skip(reason_without_handle(argument.file, file));
  }

  SkipReason reason_without_handle(const FileReference& seen, FileIndex file) const {
    if (is_not_a_file(seen.kind)) return SkipReason::kNotAFile;
    if (!seen.known() || file == kNoFile) return SkipReason::kLostHandle;
    const bool placed = !names().path(file).empty();
    return placed && !owner.roots_.contains(names(), file) ? SkipReason::kExternal : SkipReason::kLostHandle;
  }

  // A path argument that means the directory descriptor itself: "" with AT_EMPTY_PATH, or NULL.
  void bare_directory(PathArgument& argument, std::size_t index) const {
    if (argument.directory.number != kAtCurrentDirectory) return descriptor(argument.directory, targets.start[index]);
    if (!owner.roots_.contains(names(), targets.start[index])) return skip(SkipReason::kExternal);
    if (thread.directory->working != targets.start[index]) rewrite(argument, targets.start[index], "");
  }

  void rewrite(PathArgument& argument, FileIndex directory, std::string_view tail) const {
    const auto base = owner.roots_.target_path(names(), directory);
    if (!base) return skip(SkipReason::kExternal);
    argument.bytes = *base;
    if (!tail.empty()) {
      if (!argument.bytes.ends_with('/')) argument.bytes.push_back('/');
      argument.bytes.append(tail);
    }
    argument.directory = {kAtCurrentDirectory, {}};
  }

  // tar -C ROOT, sync -f ROOT: the name lies outside the root, the directory does not. Calls that make or take away the
  // name stay outside.
  bool names_root_itself(const Resolution& place) const {
    const Operation& operation = call.operation;
    const bool changes_name =
        std::holds_alternative<Unlink>(operation) || std::holds_alternative<Rename>(operation) ||
        std::holds_alternative<MakeDirectory>(operation) || std::holds_alternative<HardLink>(operation) ||
        std::holds_alternative<SymbolicLink>(operation) || std::holds_alternative<MakeNode>(operation);
    return place.file != kNoFile && !changes_name && owner.roots_.contains(names(), place.file);
  }

  void path(PathArgument& argument, std::size_t index) const {
    if (argument.state == TextState::kNull || (argument.state == TextState::kPresent && argument.bytes.empty()))
      return bare_directory(argument, index);
    if (argument.state != TextState::kPresent) return skip(SkipReason::kUnresolvedPath);
    if (proc_descriptor(argument.bytes) >= 0) return path_of_descriptor(argument);
    const Resolution& place = targets.resolved[index];
    if (place.directory == kNoFile) return skip(SkipReason::kUnresolvedPath);
    if (!owner.roots_.contains(names(), place.directory) && names_root_itself(place))
      return rewrite(argument, place.file, "");
    if (!owner.roots_.contains(names(), place.directory))
      return skip(names().path(place.directory).empty() ? SkipReason::kUnresolvedPath : SkipReason::kExternal);
    if (place.file != kNoFile && names().record(place.file).pseudo) return skip(SkipReason::kExternal);
    if (keep_relative(argument, place, targets.start[index])) return;
    std::string tail = place.unresolved.empty() ? place.name : place.unresolved;
    if (place.trailing_slash) tail.push_back('/');
    rewrite(argument, place.directory, tail);
  }

  // /proc/self/fd/N, as the C library spells fchmodat on a descriptor opened with O_PATH: a target has no /proc.
  void path_of_descriptor(PathArgument& argument) const {
    const Handle* held = handle(proc_descriptor(argument.bytes));
    if (held == nullptr) return skip(SkipReason::kLostHandle);
    if (held->kind != HandleKind::kTarget) return skip(reason_of(held->kind));
    if (held->file == kNoFile) return skip(SkipReason::kUnresolvedPath);
    rewrite(argument, held->file, "");
  }

  // Relative to a directory the target knows by the same handle, and staying inside: the bytes mean the same there.
  bool keep_relative(PathArgument& argument, const Resolution& place, FileIndex start) const {
    if (argument.absolute() || place.left_root || place.absolute_link) return false;
    // A root within a root has a place of its own in the target.
    if (!owner.roots_.together(names(), start, place.directory)) return false;
    if (argument.directory.number == kAtCurrentDirectory) {
      argument.directory.file = {};
      return thread.directory->working == start;
    }
    const Handle* held = handle(argument.directory.number);
    if (held == nullptr || held->kind != HandleKind::kTarget || is_stale(*held, start)) return false;
    argument.directory.number = held->number;
    return true;
  }

  template <typename Op>
  void arguments(Op& operation) const {
    for_each_path(operation, [&](std::size_t index, PathArgument& argument) { path(argument, index); });
    for_each_descriptor(operation,
                        [&](std::size_t index, Descriptor& argument) { descriptor(argument, targets.file[index]); });
  }

  template <typename Op>
  void operator()(Op& operation) const {
    arguments(operation);
  }

  // Opening a fifo or a device is no filesystem work, and may block for ever.
  void operator()(Open& op) const {
    const FileIndex there = targets.resolved[0].file;
    const bool met = there != kNoFile && is_not_a_file(names().record(there).reference.kind);
    const bool by_path_only = (op.flags & O_PATH) != 0;  // names it without opening it: chmod of a fifo begins so
    if (!by_path_only && (is_not_a_file(op.opened.kind) || met)) skip(SkipReason::kNotAFile);
    arguments(op);
  }

  void operator()(HardLink& op) const {
    const std::int32_t number = proc_descriptor(op.existing.bytes);
    if (number == kNoHandle) return arguments(op);
    op.existing.bytes.clear();
    op.existing.directory.number = number;
    op.flags = (op.flags & ~std::int64_t{AT_SYMLINK_FOLLOW}) | AT_EMPTY_PATH;
    const Handle* held = handle(number);
    descriptor(op.existing.directory, held == nullptr ? kNoFile : held->file);
    path(op.created, 1);
  }

  // cp asks copy_file_range for as much as a number can hold and gets what the file has. A target must not promise that
  // much room, so the replay asks for what was got.
  void operator()(Transfer& op) const {
    constexpr std::int64_t kAsMuchAsThereIs = 64 << 20;
    constexpr std::int64_t kAtTheEnd = 64 << 10;
    if (call.outcome.ok() && op.length > kAsMuchAsThereIs)
      op.length = call.outcome.value > 0 ? call.outcome.value : kAtTheEnd;
    arguments(op);
  }

  void operator()(Duplicate& op) const {
    const std::int32_t old_number = op.descriptor.number;
    descriptor(op.descriptor, targets.file[0]);
    if (op.command >= 0) {
      if (call.outcome.ok()) op.target = 0;  // the least number: the target's numbers are its own
      return;
    }
    if (op.target < 0 || call.number == kDup) return;
    if (op.target == old_number) {
      op.target = op.descriptor.number;
      return;
    }
    const Handle* replaced = handle(static_cast<std::int32_t>(op.target));
    if (replaced != nullptr && replaced->kind == HandleKind::kTarget && replaced->number >= 0) {
      op.target = replaced->number;
    } else if (call.outcome.ok()) {  // the number is free in the target or stands for nothing there: any will do
      op.target = -1;
      op.flags = 0;
      out.number = kDup;
    }
  }

  void operator()(CloseRange& op) const {
    std::vector<std::int32_t> numbers;
    for (const auto& [number, held] : *thread.handles)
      if (number >= op.first && number <= op.last && held.kind == HandleKind::kTarget && held.number >= 0)
        numbers.push_back(held.number);
    if ((op.flags & CLOSE_RANGE_CLOEXEC) != 0) return skip(SkipReason::kProcessOnly);
    if (numbers.empty()) return skip(SkipReason::kNotAFile);
    std::sort(numbers.begin(), numbers.end());
    op.first = op.last = numbers.front();
    op.flags = 0;
    out.closes.assign(numbers.begin() + 1, numbers.end());
  }

  void operator()(ControlDevice& op) const {
    if (op.request == kFiclone) {
      Descriptor source{static_cast<std::int32_t>(op.argument), {}};
      descriptor(source, kNoFile);
      op.argument = source.number;
      return arguments(op);
    }
    arguments(op);
    constexpr std::array<std::int64_t, 3> kHarmless = {0x5401 /* TCGETS */, 0x5413 /* TIOCGWINSZ */,
                                                       0x80086601 /* FS_IOC_GETFLAGS */};
    if (std::find(kHarmless.begin(), kHarmless.end(), op.request) == kHarmless.end()) skip(SkipReason::kNotReplayable);
  }

  void operator()(ControlMemory& op) const {
    auto found = thread.mappings->upper_bound(op.address);
    if (found == thread.mappings->begin()) return skip(SkipReason::kMemoryOnly);
    --found;
    if (op.address >= found->first + found->second.length) return skip(SkipReason::kMemoryOnly);
    op.address = found->second.target_address + (op.address - found->first);
  }
};

Translation CallTranslator::translate(const Syscall& call, const CallTargets& targets,
                                      const ReplayThread& thread) const {
  Translation out{skip_reason_of_kind(call), call.operation, call.number, {}};
  if (out.skipped != SkipReason::kIssued) return out;
  std::visit(Translator{*this, call, targets, thread, out}, out.operation);
  return out;
}

// ---- keeping the tables ----

struct CallTranslator::Settler {
  const CallTranslator& owner;
  const Syscall& call;
  const Translation& translation;
  const CallTargets& targets;
  const OpOutcome* outcome;
  ReplayThread& thread;
  std::vector<std::int32_t>& closes;

  const NameSpace& names() const { return owner.model_.names(); }
  bool got_one() const { return outcome != nullptr && outcome->ok(); }
  std::int32_t got() const { return got_one() ? static_cast<std::int32_t>(outcome->value) : kNoHandle; }
  std::int32_t recorded() const { return static_cast<std::int32_t>(call.outcome.value); }

  // Enters a descriptor; one the trace never closed (its close was lost) is let go.
  void enter(std::int32_t number, Handle handle) const {
    const auto [found, is_new] = thread.handles->try_emplace(number, handle);
    if (is_new) return;
    if (found->second.kind == HandleKind::kTarget && found->second.number >= 0 && found->second.number != handle.number)
      closes.push_back(found->second.number);
    found->second = handle;
  }

  // A descriptor-making call that succeeded here but failed in the trace leaves nothing behind.
  void drop_unexpected() const {
    if (got_one()) closes.push_back(got());
  }

  void operator()(const Open& op) const {
    if (!call.outcome.ok()) return drop_unexpected();
    const FileIndex file = names().find(op.opened);
    enter(recorded(), {kind_for(translation.skipped), got(), (op.flags & O_CLOEXEC) != 0, file});
  }

  void operator()(const Close& op) const {
    if (call.outcome.error_number != EBADF) thread.handles->erase(op.descriptor.number);
  }

  void operator()(const CloseRange& op) const {
    if (!call.outcome.ok()) return;
    if ((op.flags & CLOSE_RANGE_CLOEXEC) != 0) {
      for (auto& [number, held] : *thread.handles)
        if (number >= op.first && number <= op.last) held.close_on_exec = true;
      return;
    }
    std::erase_if(*thread.handles,
                  [&](const auto& entry) { return entry.first >= op.first && entry.first <= op.last; });
  }

  void operator()(const Duplicate& op) const {
    if (!call.outcome.ok()) return drop_unexpected();
    const auto source = thread.handles->find(op.descriptor.number);
    Handle copy;
    if (source != thread.handles->end()) copy = source->second;
    if (source == thread.handles->end()) copy = {kind_for(translation.skipped), kNoHandle, false, targets.file[0]};
    if (recorded() == op.descriptor.number) return;
    if (copy.kind == HandleKind::kTarget) copy.number = got();
    copy.close_on_exec = op.command == F_DUPFD_CLOEXEC || (op.command < 0 && (op.flags & O_CLOEXEC) != 0);
    enter(recorded(), copy);
  }

  void operator()(const ControlDescriptor& op) const {
    if (!call.outcome.ok() || op.command != F_SETFD) return;
    if (const auto held = thread.handles->find(op.descriptor.number); held != thread.handles->end())
      held->second.close_on_exec = (op.argument & FD_CLOEXEC) != 0;
  }

  void operator()(const MakeDescriptor& op) const {
    if (!call.outcome.ok()) return;
    const Handle made{HandleKind::kNotAFile, kNoHandle, (op.flags & O_CLOEXEC) != 0, kNoFile};
    if (op.first >= 0) enter(static_cast<std::int32_t>(op.first), made);
    if (op.second >= 0) enter(static_cast<std::int32_t>(op.second), made);
    if (op.first < 0 && op.second < 0) enter(recorded(), made);
  }

  void operator()(const ReceiveDescriptor& op) const {
    const HandleKind kind = is_not_a_file(op.descriptor.file.kind) ? HandleKind::kNotAFile : HandleKind::kLost;
    enter(op.descriptor.number, {kind, kNoHandle, false, names().find(op.descriptor.file)});
  }

  void operator()(const ChangeDirectoryPath&) const { entered(); }
  void operator()(const ChangeDirectoryDescriptor&) const { entered(); }
  void entered() const {
    if (!got_one()) return;
    thread.directory->working = kNoFile;  // unless it is where the trace went
    if (!call.outcome.ok()) return;
    const std::size_t by_path = targets.paths.count;
    if (by_path == 0) thread.directory->working = targets.file[0];
    if (by_path != 0) thread.directory->working = names_after(targets.resolved[0]);
  }
  FileIndex names_after(const Resolution& place) const {
    return place.name.empty() ? place.file : names().child(place.directory, place.name);
  }

  void operator()(const MapMemory& op) const {
    if (call.outcome.ok() && got_one()) (*thread.mappings)[call.outcome.value] = {op.length, outcome->value, {}};
  }
  void operator()(const ControlMemory& op) const {
    if (call.number == kMunmap && call.outcome.ok()) forget(op.address, op.address + op.length);
  }
  void forget(std::int64_t begin, std::int64_t end) const {
    auto at = thread.mappings->lower_bound(begin);
    if (at != thread.mappings->begin()) {
      auto before = std::prev(at);
      const std::int64_t before_end = before->first + before->second.length;
      if (before_end > end)
        (*thread.mappings)[end] = {before_end - end, before->second.target_address + (end - before->first),
                                   before->second.base};
      before->second.length = std::min(before->second.length, begin - before->first);
    }
    while (at != thread.mappings->end() && at->first < end) {
      const auto [start, mapping] = *at;
      at = thread.mappings->erase(at);
      if (start + mapping.length > end)
        (*thread.mappings)[end] = {start + mapping.length - end, mapping.target_address + (end - start), mapping.base};
    }
  }

  template <typename Other>
  void operator()(const Other&) const {}
};

std::vector<std::int32_t> CallTranslator::settle(const Syscall& call, const Translation& translation,
                                                 const CallTargets& targets, const OpOutcome* outcome,
                                                 ReplayThread& thread) const {
  std::vector<std::int32_t> closes = translation.closes;
  if (!call.unfinished) std::visit(Settler{*this, call, translation, targets, outcome, thread, closes}, call.operation);
  return closes;
}

}  // namespace iotape
