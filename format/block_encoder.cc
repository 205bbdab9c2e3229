#include "format/block_encoder.h"

#include <deque>
#include <string_view>

#include "format/rare_event_codec.h"
#include "format/row_coder.h"

namespace iotape {
namespace {

using codec::CallColumn;
using codec::RequestColumn;

struct ThreadKeyHash {
  std::size_t operator()(const ThreadKey& key) const noexcept {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
    const auto process = static_cast<std::uint32_t>(key.process.value);
    const auto thread = static_cast<std::uint32_t>(key.thread.value);
    return (std::uint64_t{process} << 32U | thread) * kOdd >> 16U;
  }
};

// Strings in order of first use; the messages they come from live as long as the block is being encoded.
class WritingNames {
 public:
  std::uint32_t row_of(std::string_view name) {
    const auto [found, added] = rows_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (added) names_.push_back(name);
    return found->second;
  }
  void write_to(wire::Names& out) const {
    std::string_view previous;
    std::string& suffixes = *out.mutable_suffixes();
    for (const std::string_view name : names_) {
      const auto limit = std::min(name.size(), previous.size());
      const auto shared = static_cast<std::size_t>(
          std::mismatch(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(limit), previous.begin()).first -
          name.begin());
      out.add_shared(static_cast<std::uint32_t>(shared));
      out.add_suffix_length(static_cast<std::uint32_t>(name.size() - shared));
      suffixes.append(name.substr(shared));
      previous = name;
    }
  }
  void clear() {
    rows_.clear();
    names_.clear();
  }

 private:
  std::unordered_map<std::string_view, std::uint32_t> rows_;
  std::vector<std::string_view> names_;
};

class WritingTables {
 public:
  std::uint32_t thread_row(const ThreadKey& key) {
    if (!threads_.empty() && threads_[last_thread_] == key) return last_thread_;
    const auto [found, added] = thread_rows_.try_emplace(key, static_cast<std::uint32_t>(threads_.size()));
    if (added) threads_.push_back(key);
    return last_thread_ = found->second;
  }
  std::uint32_t file_row(const FileReference& file) {
    if (!files_.empty() && files_[last_file_] == file) return last_file_;
    const auto [found, added] = file_rows_.try_emplace(file, static_cast<std::uint32_t>(files_.size()));
    if (added) files_.push_back(file);
    return last_file_ = found->second;
  }
  WritingNames& prefixes() { return prefixes_; }
  WritingNames& leaves() { return leaves_; }

  void write_to(wire::Events& out) const {
    prefixes_.write_to(*out.mutable_prefix());
    leaves_.write_to(*out.mutable_leaf());
    write_files(*out.mutable_file());
    for (const ThreadKey& thread : threads_) {
      out.mutable_thread()->add_process(thread.process.value);
      out.mutable_thread()->add_thread(thread.thread.value);
    }
  }
  void clear() {
    thread_rows_.clear(), threads_.clear(), file_rows_.clear(), files_.clear();
    last_thread_ = last_file_ = 0;
    prefixes_.clear(), leaves_.clear();
  }

 private:
  struct FileHash {
    std::size_t operator()(const FileReference& file) const noexcept {
      return std::hash<FileIdentity>{}(file.identity) ^ static_cast<std::size_t>(file.kind);
    }
  };
  void write_files(wire::Files& out) const {
    FileIdentity previous;
    for (const FileReference& file : files_) {
      const FileIdentity& identity = file.identity;
      out.add_device(std::int64_t{identity.device.value} - previous.device.value);
      out.add_inode(static_cast<std::int64_t>(identity.inode.value - previous.inode.value));
      out.add_generation(identity.generation);
      out.add_subvolume(static_cast<std::int64_t>(identity.subvolume - previous.subvolume));
      out.add_kind(static_cast<std::uint32_t>(file.kind));
      previous = identity;
    }
  }

  std::unordered_map<ThreadKey, std::uint32_t, ThreadKeyHash> thread_rows_;
  std::vector<ThreadKey> threads_;
  std::unordered_map<FileReference, std::uint32_t, FileHash> file_rows_;
  std::vector<FileReference> files_;
  std::uint32_t last_thread_ = 0;
  std::uint32_t last_file_ = 0;
  WritingNames prefixes_;
  WritingNames leaves_;
};

using Coder = codec::RowCoder<ColumnWriter, WritingTables>;
using CallGroup = codec::CallGroup<ColumnWriter>;
using RequestGroup = codec::RequestGroup<ColumnWriter>;

void write_if_used(const ColumnWriter& column, wire::Column* (wire::CallColumns::*field)(), wire::CallColumns& out) {
  if (!column.all_zero()) column.write_to(*(out.*field)(), 0);
}

// In the order of codec::CallColumn.
using CallField = wire::Column* (wire::CallColumns::*)();
constexpr std::array<CallField, codec::kCallColumns> kCallFields{
    &wire::CallColumns::mutable_thread,     &wire::CallColumns::mutable_think,
    &wire::CallColumns::mutable_duration,   &wire::CallColumns::mutable_blocked,
    &wire::CallColumns::mutable_outcome,    &wire::CallColumns::mutable_unfinished,
    &wire::CallColumns::mutable_user_stack, &wire::CallColumns::mutable_kernel_stack,
    &wire::CallColumns::mutable_replayed,   &wire::CallColumns::mutable_source,
    &wire::CallColumns::mutable_due,        &wire::CallColumns::mutable_expected,
    &wire::CallColumns::mutable_skipped};

// In the order of codec::RequestColumn.
using RequestField = wire::Column* (wire::RequestColumns::*)();
constexpr std::array<RequestField, codec::kRequestColumns> kRequestFields{
    &wire::RequestColumns::mutable_device,         &wire::RequestColumns::mutable_partition,
    &wire::RequestColumns::mutable_operation,      &wire::RequestColumns::mutable_flags,
    &wire::RequestColumns::mutable_sector,         &wire::RequestColumns::mutable_bytes,
    &wire::RequestColumns::mutable_timing,         &wire::RequestColumns::mutable_complete,
    &wire::RequestColumns::mutable_service,        &wire::RequestColumns::mutable_error,
    &wire::RequestColumns::mutable_requeues,       &wire::RequestColumns::mutable_parts,
    &wire::RequestColumns::mutable_part_queue,     &wire::RequestColumns::mutable_part_sector,
    &wire::RequestColumns::mutable_part_bytes,     &wire::RequestColumns::mutable_part_flags,
    &wire::RequestColumns::mutable_part_submitter, &wire::RequestColumns::mutable_part_dirtier,
    &wire::RequestColumns::mutable_part_file,      &wire::RequestColumns::mutable_part_file_offset,
    &wire::RequestColumns::mutable_part_cause,     &wire::RequestColumns::mutable_part_call};

void write_call_group(const CallGroup& group, wire::CallColumns& out) {
  out.set_number(group.number);
  out.set_operation(group.operation);
  out.set_interface(group.interface);
  for (std::size_t i = 0; i < codec::kCallColumns; ++i) write_if_used(group.common[i], kCallFields[i], out);
  constexpr auto kParts = static_cast<std::uint32_t>(codec::kPartsPerField);
  for (std::uint32_t number = 1; number <= codec::kMaximumFieldNumber; ++number)
    for (std::uint32_t part = 0; part < kParts; ++part) {
      const ColumnWriter& column = group.arguments[number][part];
      if (!column.all_zero()) column.write_to(*out.add_argument(), number * kParts + part);
    }
}

void write_request_group(const RequestGroup& group, wire::RequestColumns& out) {
  for (std::size_t i = 0; i < codec::kRequestColumns; ++i)
    if (!group.columns[i].all_zero()) group.columns[i].write_to(*(out.*kRequestFields[i])(), 0);
}

}  // namespace

struct BlockEncoder::State {
  WritingTables tables;
  std::deque<CallGroup> groups;
  std::size_t groups_used = 0;
  RequestGroup requests;
  wire::Body body;
  std::vector<std::uint8_t> bytes;

  std::size_t group_of(const Syscall& call, std::uint32_t operation) {
    const auto interface = static_cast<std::uint32_t>(call.interface);
    for (std::size_t i = 0; i < groups_used; ++i)
      if (groups[i].number == call.number && groups[i].operation == operation && groups[i].interface == interface)
        return i;
    if (groups_used == groups.size()) groups.emplace_back();
    CallGroup& fresh = groups[groups_used];
    fresh.number = call.number, fresh.operation = operation, fresh.interface = interface;
    return groups_used++;
  }

  void clear() {
    tables.clear();
    for (std::size_t i = 0; i < groups_used; ++i) {
      for (ColumnWriter& column : groups[i].common) column.clear();
      for (auto& field : groups[i].arguments)
        for (ColumnWriter& column : field) column.clear();
    }
    groups_used = 0;
    for (ColumnWriter& column : requests.columns) column.clear();
    body.Clear();
  }
};

BlockEncoder::BlockEncoder() : state_(std::make_unique<State>()) {}
BlockEncoder::~BlockEncoder() = default;

std::span<const std::uint8_t> BlockEncoder::encode(std::span<PendingEvent* const> events, Nanoseconds resolution) {
  State& state = *state_;
  state.clear();
  wire::Events& out = *state.body.mutable_events();
  const std::int64_t base_time = events.empty() ? 0 : events.front()->time.value / resolution.value;
  out.set_resolution(resolution.value);
  out.set_base_time(base_time);

  Coder coder(state.tables, resolution.value, base_time);
  const codec::RareTime rare_time{resolution.value, base_time};
  const codec::FileToRow row_of = [&](const FileReference& file) {
    const std::uint32_t row = state.tables.file_row(file);
    coder.note_file_used(row);
    return row;
  };
  bool any_recorder = false;
  out.mutable_row()->Reserve(static_cast<int>(events.size()));
  for (PendingEvent* event : events) {
    any_recorder |= event->recorder != 0;
    if (auto* call = std::get_if<Syscall>(&event->body)) {
      const std::uint32_t operation =
          std::visit([](const auto& op) { return std::remove_cvref_t<decltype(op)>::kWireNumber; }, call->operation);
      const std::size_t group = state.group_of(*call, operation);
      coder.code_call(state.groups[group], *call);
      out.add_row(static_cast<std::uint32_t>(group) + 2);
    } else if (auto* request = std::get_if<BlockRequest>(&event->body)) {
      coder.code_request(state.requests, *request);
      out.add_row(1);
    } else {
      codec::encode_rare_event(event->body, rare_time, row_of, *out.add_rare());
      out.add_row(0);
    }
  }
  if (any_recorder)
    for (const PendingEvent* event : events) out.add_recorder(event->recorder);
  state.tables.write_to(out);
  for (std::size_t i = 0; i < state.groups_used; ++i) write_call_group(state.groups[i], *out.add_call());
  write_request_group(state.requests, *out.mutable_request());
  state.bytes.resize(state.body.ByteSizeLong());
  state.body.SerializeWithCachedSizesToArray(state.bytes.data());
  return state.bytes;
}

namespace {

struct FieldWeight {
  std::size_t bytes = 0;
  void operator()(const PathArgument& path) { bytes += path.bytes.size(); }
  void operator()(const Text& text) { bytes += text.bytes.size(); }
  void operator()(const SegmentLengths& segments) { bytes += segments.size() * sizeof(std::int64_t); }
  template <typename Other>
  void operator()(const Other&) {}
};

struct EventWeight {
  std::size_t operator()(const Syscall& call) const {
    FieldWeight weight;
    std::visit([&](const auto& op) { for_each_field(op, [&](const auto&, const auto& member) { weight(member); }); },
               call.operation);
    return weight.bytes;
  }
  std::size_t operator()(const BlockRequest& request) const {
    constexpr std::size_t kBytesPerPart = 48;
    return request.parts.size() * kBytesPerPart;
  }
  std::size_t operator()(const ProcessExec& event) const {
    std::size_t bytes = event.file.bytes.size();
    for (const std::string& argument : event.arguments) bytes += argument.size() + 2;
    return bytes;
  }
  std::size_t operator()(const ProcessContext& event) const {
    return event.working_directory.path.size() + event.root.path.size();
  }
  std::size_t operator()(const InheritedDescriptor& event) const { return event.path.size(); }
  std::size_t operator()(const FileState& event) const {
    constexpr std::size_t kFixedFields = 80;
    std::size_t bytes = kFixedFields + event.name.size() + event.path.size() + event.link_target.value_or("").size();
    for (const auto& [name, value] : event.xattrs) bytes += name.size() + value.size();
    return bytes;
  }
  std::size_t operator()(const MountInfo& event) const {
    return event.mount_point.size() + event.options.size() + event.subtree.size();
  }
  std::size_t operator()(const Marker& event) const { return event.text.size(); }
  std::size_t operator()(const Loss& event) const { return event.detail.size(); }
  std::size_t operator()(const Stack& event) const {
    std::size_t bytes = 0;
    for (const std::string& frame : event.frames) bytes += frame.size() + 2;
    return bytes;
  }
  std::size_t operator()(const ProcessStart&) const { return 0; }
  std::size_t operator()(const ProcessExit&) const { return 0; }
  std::size_t operator()(const DeviceInfo&) const { return 0; }
};

}  // namespace

std::size_t event_weight(const EventBody& body) { return std::visit(EventWeight{}, body); }

}  // namespace iotape
