#include "recorder/decode.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "format/base/file_time.h"
#include "format/trace_limits.h"
#include "recorder/call_table.h"

namespace iotape {
namespace {

using Bytes = std::span<const std::byte>;

template <typename T>
std::optional<T> fixed_part(Bytes record) {
  if (record.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, record.data(), sizeof value);
  return value;
}

struct Item {
  wire_item head{};
  Bytes bytes;
};

// Takes the next item off `rest`. False at the end or when what is left is no item; `sound` tells which.
bool next_item(Bytes& rest, Item& item, bool& sound) {
  if (rest.empty()) return false;
  sound = rest.size() >= sizeof(wire_item);
  if (!sound) return false;
  std::memcpy(&item.head, rest.data(), sizeof item.head);
  const std::size_t padded = (std::size_t{item.head.length} + 7U) & ~std::size_t{7};
  sound = rest.size() - sizeof(wire_item) >= padded;
  if (!sound) return false;
  item.bytes = rest.subspan(sizeof(wire_item), item.head.length);
  rest = rest.subspan(sizeof(wire_item) + padded);
  return true;
}

std::string string_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

Text text_of(const Item& item) {
  static_assert(static_cast<int>(TextState::kNull) == WIRE_TEXT_NULL);
  static_assert(static_cast<int>(TextState::kFault) == WIRE_TEXT_FAULT);
  static_assert(static_cast<int>(TextState::kTruncated) == WIRE_TEXT_TRUNCATED);
  const auto state = std::min<std::uint8_t>(item.head.state, WIRE_TEXT_TRUNCATED);
  return {static_cast<TextState>(state), string_of(item.bytes)};
}

std::string command_of(const char (&command)[16]) { return {command, ::strnlen(command, sizeof command)}; }

Nanoseconds at_time(std::uint64_t value) { return Nanoseconds(static_cast<std::int64_t>(value)); }

ThreadKey thread_of(std::uint32_t process, std::uint32_t thread) {
  return {ProcessId(static_cast<std::int32_t>(process)), ThreadId(static_cast<std::int32_t>(thread))};
}

// ---- what was known of a file ----

void fill_state(FileState& to, const wire_state& from) {
  if ((from.valid & WIRE_STATE_SIZE) != 0) to.size = from.size;
  if ((from.valid & WIRE_STATE_MODIFIED) != 0)
    to.modification_time = file_time_nanoseconds(from.modified_seconds, from.modified_nanoseconds);
  if ((from.valid & WIRE_STATE_REST) == 0) return;
  to.mode = from.mode;
  to.links = from.links;
  to.user = from.user;
  to.group = from.group;
  to.blocks = from.blocks;
  if (S_ISCHR(from.mode) || S_ISBLK(from.mode)) to.special_device = from.special_device;
}

std::optional<wire_state> state_in(const Item& item) { return fixed_part<wire_state>(item.bytes); }

struct Answer {
  FileIdentity identity;
  wire_state state{};
};

std::optional<Answer> answer_of_stat(const Item& item) {
  const auto given = fixed_part<struct ::stat>(item.bytes);
  if (!given) return std::nullopt;
  Answer answer;
  answer.identity.device = DeviceId::of(::major(given->st_dev), ::minor(given->st_dev));
  answer.identity.inode = InodeNumber(given->st_ino);
  answer.state.size = static_cast<__u64>(given->st_size);
  answer.state.modified_seconds = given->st_mtim.tv_sec;
  answer.state.modified_nanoseconds = static_cast<__u32>(given->st_mtim.tv_nsec);
  answer.state.links = static_cast<__u32>(given->st_nlink);
  answer.state.user = given->st_uid;
  answer.state.group = given->st_gid;
  answer.state.blocks = static_cast<__u64>(given->st_blocks);
  answer.state.special_device = DeviceId::of(::major(given->st_rdev), ::minor(given->st_rdev)).value;
  answer.state.mode = static_cast<__u16>(given->st_mode);
  answer.state.valid = WIRE_STATE_SIZE | WIRE_STATE_MODIFIED | WIRE_STATE_REST;
  return answer;
}

std::optional<Answer> answer_of_statx(const Item& item) {
  const auto given = fixed_part<struct ::statx>(item.bytes);
  constexpr std::uint32_t kNeeded = STATX_TYPE | STATX_MODE | STATX_INO;
  constexpr std::uint32_t kRest = STATX_NLINK | STATX_UID | STATX_GID | STATX_BLOCKS;
  if (!given || (given->stx_mask & kNeeded) != kNeeded) return std::nullopt;
  Answer answer;
  answer.identity.device = DeviceId::of(given->stx_dev_major, given->stx_dev_minor);
  answer.identity.inode = InodeNumber(given->stx_ino);
  answer.state.size = given->stx_size;
  answer.state.modified_seconds = given->stx_mtime.tv_sec;
  answer.state.modified_nanoseconds = given->stx_mtime.tv_nsec;
  answer.state.links = given->stx_nlink;
  answer.state.user = given->stx_uid;
  answer.state.group = given->stx_gid;
  answer.state.blocks = given->stx_blocks;
  answer.state.special_device = DeviceId::of(given->stx_rdev_major, given->stx_rdev_minor).value;
  answer.state.mode = given->stx_mode;
  if ((given->stx_mask & STATX_SIZE) != 0) answer.state.valid |= WIRE_STATE_SIZE;
  if ((given->stx_mask & STATX_MTIME) != 0) answer.state.valid |= WIRE_STATE_MODIFIED;
  if ((given->stx_mask & kRest) == kRest) answer.state.valid |= WIRE_STATE_REST;
  return answer;
}

// ---- a call ----

struct CallParts {
  CallView view;
  wire_file file_b{};
  std::optional<wire_state> opened;
  std::optional<Answer> answer;
};

void take_numbers(CallView& view, const Item& item) {
  const std::size_t length = std::min(item.bytes.size(), sizeof view.numbers);
  std::memcpy(view.numbers.data(), item.bytes.data(), length);
  view.number_bytes = static_cast<std::uint32_t>(length);
  view.have_numbers = item.head.state;
}

void take_segments(CallView& view, const Item& item) {
  view.segments.resize(std::min(item.bytes.size() / sizeof(std::int64_t), kMaximumCallSegments));
  if (view.segments.empty()) return;  // nothing, from nowhere to nowhere, is still forbidden to memcpy
  std::memcpy(view.segments.data(), item.bytes.data(), view.segments.size() * sizeof(std::int64_t));
}

void take_item(CallParts& parts, const Item& item) {
  switch (item.head.type) {
    case WIRE_ITEM_TEXT_A:
      parts.view.text_a = text_of(item);
      break;
    case WIRE_ITEM_TEXT_B:
      parts.view.text_b = text_of(item);
      break;
    case WIRE_ITEM_VALUE:
      parts.view.value = text_of(item);
      break;
    case WIRE_ITEM_FILE_B:
      if (const auto file = fixed_part<wire_file>(item.bytes)) parts.file_b = *file;
      break;
    case WIRE_ITEM_NUMBERS:
      take_numbers(parts.view, item);
      break;
    case WIRE_ITEM_SEGMENTS:
      take_segments(parts.view, item);
      break;
    case WIRE_ITEM_STATE:
      parts.opened = state_in(item);
      break;
    case WIRE_ITEM_STAT:
      parts.answer = answer_of_stat(item);
      break;
    case WIRE_ITEM_STATX:
      parts.answer = answer_of_statx(item);
      break;
    default:
      break;  // an item this version does not know
  }
}

bool take_apart(Bytes record, CallParts& parts) {
  constexpr std::size_t kFixed = offsetof(wire_call, args);
  if (record.size() < kFixed) return false;
  wire_call& fixed = parts.view.fixed;
  std::memcpy(&fixed, record.data(), kFixed);
  const std::size_t arguments = std::size_t{fixed.arguments} * sizeof(__u64);
  if (fixed.arguments > std::size(fixed.args) || record.size() < kFixed + arguments) return false;
  std::memcpy(fixed.args, record.data() + kFixed, arguments);
  Bytes rest = record.subspan(kFixed + arguments);
  bool sound = true;
  for (Item item; next_item(rest, item, sound);) take_item(parts, item);
  parts.view.file = file_reference(fixed.file);
  parts.view.file_b = file_reference(parts.file_b);
  // A value longer than the recorder keeps.
  if (parts.view.value.state == TextState::kPresent && parts.view.value.bytes.size() >= WIRE_VALUE_LIMIT &&
      fixed.args[3] > WIRE_VALUE_LIMIT)
    parts.view.value.state = TextState::kTruncated;
  return sound;
}

void place_by_path(FileState& state, const PathArgument& path) {
  if (path.state != TextState::kPresent) return;
  if (path.absolute()) {
    state.path = path.bytes;
    return;
  }
  state.parent = path.directory.file;
  state.name = path.bytes;
}

// An open that cut its file to nothing shows neither the size nor the time from before.
std::optional<FileState> state_of_open(const CallParts& parts, const Open& open, Nanoseconds time) {
  if (!parts.opened || !open.opened.known()) return std::nullopt;
  wire_state known = *parts.opened;
  if ((open.flags & O_TRUNC) != 0) known.valid &= static_cast<__u16>(~(WIRE_STATE_SIZE | WIRE_STATE_MODIFIED));
  if ((open.flags & O_TMPFILE) == O_TMPFILE) return std::nullopt;
  FileState state;
  state.time = time;
  state.source = StateSource::kFirstTouch;
  state.file = open.opened;
  fill_state(state, known);
  place_by_path(state, open.path);
  return state;
}

std::optional<FileState> state_of_stat(const CallParts& parts, const Operation& operation, Nanoseconds time) {
  if (!parts.answer) return std::nullopt;
  FileState state;
  state.time = time;
  state.source = StateSource::kStatCall;
  state.file = {parts.answer->identity, file_kind_of_mode(parts.answer->state.mode, FileKind::kAnonymous)};
  fill_state(state, parts.answer->state);
  if (const auto* by_path = std::get_if<StatPath>(&operation)) {
    if (by_path->path.bytes.empty() && by_path->path.directory.file.known())
      state.file = by_path->path.directory.file;  // AT_EMPTY_PATH: the descriptor's own file
    else
      place_by_path(state, by_path->path);
  } else if (const auto* by_descriptor = std::get_if<StatDescriptor>(&operation)) {
    if (by_descriptor->descriptor.file.known()) state.file = by_descriptor->descriptor.file;
  }
  return state;
}

void fill_call(Syscall& call, const wire_call& fixed) {
  call.thread = thread_of(fixed.process, fixed.thread);
  call.number = fixed.number;
  call.start = at_time(fixed.start);
  call.duration = at_time(fixed.duration);
  call.blocked = at_time(std::min(fixed.blocked, fixed.duration));
  call.unfinished = (fixed.flags & WIRE_CALL_UNFINISHED) != 0;
  if (!call.unfinished) call.outcome = OpOutcome::from_kernel(fixed.result);
  if (fixed.user_stack >= 0) call.user_stack = StackId(static_cast<std::uint32_t>(fixed.user_stack));
  if (fixed.kernel_stack >= 0) call.kernel_stack = StackId(static_cast<std::uint32_t>(fixed.kernel_stack));
}

std::optional<Item> first_item(Bytes rest, std::uint8_t type) {
  bool sound = true;
  for (Item item; next_item(rest, item, sound);)
    if (item.head.type == type) return item;
  return std::nullopt;
}

// Empty when it is not there or was too long.
std::string place_in(Bytes items, std::uint8_t type) {
  const auto item = first_item(items, type);
  if (!item || item->head.state != WIRE_TEXT_PRESENT) return {};
  std::string path = string_of(item->bytes);
  return path.starts_with('/') ? path : std::string{};
}

std::vector<std::string> split_words(Bytes bytes) {
  std::vector<std::string> words;
  const std::string all = string_of(bytes);
  for (std::size_t from = 0; from < all.size();) {
    const std::size_t end = std::min(all.find('\0', from), all.size());
    words.push_back(all.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

}  // namespace

std::uint16_t record_kind(Bytes record) {
  const auto head = fixed_part<wire_head>(record);
  return head && head->size == record.size() ? head->kind : std::uint16_t{0};
}

FileReference file_reference(const wire_file& file) {
  if ((file.flags & WIRE_FILE_KNOWN) == 0) return {};
  FileKind kind = file_kind_of_mode(file.mode, FileKind::kAnonymous);
  if ((file.flags & WIRE_FILE_INTERNAL) != 0 && (kind == FileKind::kRegular || kind == FileKind::kDirectory))
    kind = FileKind::kAnonymous;
  return {{DeviceId(file.device), file.generation, InodeNumber(file.inode), file.subvolume}, kind};
}

std::optional<DecodedCall> decode_call(Bytes record) {
  CallParts parts;
  if (!take_apart(record, parts)) return std::nullopt;
  const wire_call& fixed = parts.view.fixed;
  const bool foreign = (fixed.flags & (WIRE_CALL_I386 | WIRE_CALL_X32)) != 0;
  const CallRow* row = foreign ? nullptr : call_row(fixed.number);
  DecodedCall decoded;
  fill_call(decoded.call, fixed);
  decoded.call.operation = row != nullptr ? row->build(parts.view) : build_other(parts.view);
  decoded.created = (parts.file_b.flags & WIRE_FILE_CREATED) != 0;
  const Nanoseconds end = decoded.call.start + decoded.call.duration;
  if (const auto* open = std::get_if<Open>(&decoded.call.operation))
    decoded.found = state_of_open(parts, *open, end);
  else
    decoded.found = state_of_stat(parts, decoded.call.operation, end);
  return decoded;
}

std::optional<ProcessStart> decode_fork(Bytes record) {
  const auto fixed = fixed_part<wire_fork>(record);
  if (!fixed) return std::nullopt;
  return ProcessStart{at_time(fixed->time),
                      thread_of(fixed->process, fixed->thread),
                      thread_of(fixed->parent_process, fixed->parent_thread),
                      fixed->clone_flags,
                      false,
                      command_of(fixed->command)};
}

std::optional<ProcessExec> decode_exec(Bytes record) {
  const auto fixed = fixed_part<wire_exec>(record);
  if (!fixed) return std::nullopt;
  ProcessExec exec;
  exec.time = at_time(fixed->time);
  exec.thread = thread_of(fixed->process, fixed->thread);
  exec.command = command_of(fixed->command);
  exec.file = {TextState::kHidden, {}};
  const Bytes rest = record.subspan(sizeof *fixed);
  if (const auto file = first_item(rest, WIRE_ITEM_TEXT_A)) exec.file = text_of(*file);
  if (const auto words = first_item(rest, WIRE_ITEM_ARGUMENTS)) exec.arguments = split_words(words->bytes);
  return exec;
}

std::optional<ProcessExit> decode_exit(Bytes record) {
  const auto fixed = fixed_part<wire_exit>(record);
  if (!fixed) return std::nullopt;
  return ProcessExit{at_time(fixed->time), thread_of(fixed->process, fixed->thread), fixed->status,
                     fixed->whole_process != 0};
}

std::optional<FileState> decode_removal(Bytes record) {
  const auto fixed = fixed_part<wire_file_state>(record);
  if (!fixed) return std::nullopt;
  FileState state;
  state.time = at_time(fixed->time);
  state.source = StateSource::kRemoval;
  state.file = file_reference(fixed->file);
  state.parent = file_reference(fixed->parent);
  fill_state(state, fixed->state);
  // Where the hook comes after the last link went, the count is no longer the one from before.
  if (state.links == 0U) state.links.reset();
  if (const auto name = first_item(record.subspan(sizeof *fixed), WIRE_ITEM_TEXT_A))
    state.name = string_of(name->bytes);
  if (state.name.starts_with('/')) state.path = std::exchange(state.name, {});
  if (!state.path.empty() || state.name.empty()) state.parent = {};
  return state;
}

std::optional<DecodedContext> decode_context(Bytes record) {
  const auto fixed = fixed_part<wire_context>(record);
  if (!fixed) return std::nullopt;
  DecodedContext decoded;
  decoded.start = {at_time(fixed->time),
                   thread_of(fixed->process, fixed->thread),
                   thread_of(fixed->parent_process, fixed->parent_thread),
                   0,
                   true,
                   command_of(fixed->command)};
  ProcessContext& context = decoded.context;
  context.time = decoded.start.time;
  context.thread = decoded.start.thread;
  context.working_directory.file = file_reference(fixed->working_directory);
  context.root.file = file_reference(fixed->root);
  const Bytes items = record.subspan(sizeof *fixed);
  context.working_directory.path = place_in(items, WIRE_ITEM_TEXT_A);
  context.working_directory.deleted = fixed->working_removed != 0;
  context.root.path = place_in(items, WIRE_ITEM_TEXT_B);
  context.root.deleted = fixed->root_removed != 0;
  decoded.found_running = fixed->reason == WIRE_CONTEXT_FOUND;
  decoded.begins_program = fixed->reason == WIRE_CONTEXT_PROGRAM;
  context.umask = fixed->umask;
  context.user = fixed->user;
  context.group = fixed->group;
  return decoded;
}

std::optional<DecodedDescriptor> decode_descriptor(Bytes record) {
  const auto fixed = fixed_part<wire_descriptor>(record);
  if (!fixed) return std::nullopt;
  DecodedDescriptor decoded;
  decoded.armed = fixed->armed != 0;
  InheritedDescriptor& held = decoded.descriptor;
  held.time = at_time(fixed->time);
  held.thread = thread_of(fixed->process, fixed->thread);
  held.descriptor = {fixed->number, file_reference(fixed->file)};
  held.flags = fixed->flags;
  held.offset = fixed->offset;
  held.close_on_exec = fixed->close_on_exec != 0;
  if (const auto path = first_item(record.subspan(sizeof *fixed), WIRE_ITEM_TEXT_A)) {
    const std::string text = string_of(path->bytes);
    if (!text.empty() && text.front() == '/') held.path = text;
  }
  decoded.state.time = held.time;
  decoded.state.file = held.descriptor.file;
  decoded.state.path = held.path;
  fill_state(decoded.state, fixed->state);
  return decoded;
}

}  // namespace iotape
