#include "format/block_encoder.h"

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>

#include "format/rare_event_codec.h"
#include "format/row_coder.h"

namespace iotape {
namespace {

struct ThreadKeyHash {
  std::size_t operator()(const ThreadKey& key) const noexcept {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
    const auto process = static_cast<std::uint32_t>(key.process.value);
    const auto thread = static_cast<std::uint32_t>(key.thread.value);
    return (std::uint64_t{process} << 32U | thread) * kOdd >> 16U;
  }
};

// Strings in order of first use, front coded as they come.
class WritingNames {
 public:
  std::uint32_t row_of(std::string_view name) {
    if (name == previous_looked_up_) return previous_row_;
    if (const auto found = rows_.find(name); found != rows_.end()) {
      previous_looked_up_ = found->first;
      return previous_row_ = found->second;
    }
    const auto row = static_cast<std::uint32_t>(rows_.size());
    const std::string_view kept = keep(name);
    rows_.emplace(kept, row);
    const auto limit = std::min(name.size(), previous_.size());
    const auto shared = static_cast<std::size_t>(
        std::mismatch(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(limit), previous_.begin()).first -
        kept.begin());
    out_.add_shared(static_cast<std::uint32_t>(shared));
    out_.add_suffix_length(static_cast<std::uint32_t>(kept.size() - shared));
    out_.mutable_suffixes()->append(kept.substr(shared));
    previous_ = previous_looked_up_ = kept;
    return previous_row_ = row;
  }
  void write_to(wire::Names& out) { out.Swap(&out_); }
  [[nodiscard]] std::size_t weight() const { return bytes_; }
  void clear() {
    rows_.clear();
    out_.Clear();
    previous_ = previous_looked_up_ = {};
    previous_row_ = 0;
    chunk_ = used_ = bytes_ = 0;
  }

 private:
  static constexpr std::size_t kChunkBytes = 64U << 10U;  // longer than any name, see keep()

  // A copy in memory that does not move.
  std::string_view keep(std::string_view name) {
    bytes_ += name.size();
    if (name.size() > kChunkBytes) return oversized_.emplace_back(name);
    if (used_ + name.size() > kChunkBytes) ++chunk_, used_ = 0;
    if (chunk_ == chunks_.size()) chunks_.push_back(std::make_unique<std::array<char, kChunkBytes>>());
    char* place = chunks_[chunk_]->data() + used_;
    std::copy(name.begin(), name.end(), place);
    used_ += name.size();
    return {place, name.size()};
  }

  std::unordered_map<std::string_view, std::uint32_t> rows_;
  wire::Names out_;
  std::string_view previous_;  // the newest row
  std::string_view previous_looked_up_;
  std::uint32_t previous_row_ = 0;
  std::vector<std::unique_ptr<std::array<char, kChunkBytes>>> chunks_;
  std::deque<std::string> oversized_;
  std::size_t chunk_ = 0;
  std::size_t used_ = 0;
  std::size_t bytes_ = 0;
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
    // The few files in use at a time are found without the hash table's detours.
    std::uint32_t& guess = recent_rows_[file.identity.inode.value % kRecentRows];
    if (guess < files_.size() && files_[guess] == file) return guess;
    const auto [found, added] = file_rows_.try_emplace(file, static_cast<std::uint32_t>(files_.size()));
    if (added) files_.push_back(file);
    return guess = found->second;
  }
  WritingNames& prefixes() { return prefixes_; }
  WritingNames& leaves() { return leaves_; }

  [[nodiscard]] std::size_t weight() const { return prefixes_.weight() + leaves_.weight(); }
  void write_to(wire::Events& out) {
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
    last_thread_ = 0;
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
  static constexpr std::size_t kRecentRows = 256;
  std::array<std::uint32_t, kRecentRows> recent_rows_{};
  WritingNames prefixes_;
  WritingNames leaves_;
};

using Coder = codec::RowCoder<ColumnWriter, WritingTables>;
using CallGroup = codec::CallGroup<ColumnWriter>;
using RequestGroup = codec::RequestGroup<ColumnWriter>;

// Columns whose values lie in the message until it is serialised.
class Loans {
 public:
  void write(ColumnWriter& column, wire::Column& message, std::uint32_t id) {
    column.write_to(message, id);
    lent_.push_back({&column, &message});
  }
  void take_back() {
    for (const Loan& loan : lent_) loan.column->take_back(*loan.message);
    lent_.clear();
  }

 private:
  struct Loan {
    ColumnWriter* column;
    wire::Column* message;
  };
  std::vector<Loan> lent_;
};

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

void write_call_group(CallGroup& group, wire::CallColumns& out, Loans& loans) {
  out.set_number(group.number);
  out.set_operation(group.operation);
  out.set_interface(group.interface);
  for (std::size_t i = 0; i < codec::kCallColumns; ++i)
    if (!group.common[i].all_zero()) loans.write(group.common[i], *(out.*kCallFields[i])(), 0);
  constexpr auto kParts = static_cast<std::uint32_t>(codec::kPartsPerField);
  for (std::uint32_t number = 1; number <= codec::kMaximumFieldNumber; ++number)
    for (std::uint32_t part = 0; part < kParts; ++part)
      if (ColumnWriter& column = group.arguments[number][part]; !column.all_zero())
        loans.write(column, *out.add_argument(), number * kParts + part);
}

void write_request_group(RequestGroup& group, wire::RequestColumns& out, Loans& loans) {
  for (std::size_t i = 0; i < codec::kRequestColumns; ++i)
    if (!group.columns[i].all_zero()) loans.write(group.columns[i], *(out.*kRequestFields[i])(), 0);
}

std::size_t segments_of(const Operation& operation) {
  if (const auto* read = std::get_if<Read>(&operation)) return read->segments.size();
  if (const auto* write = std::get_if<Write>(&operation)) return write->segments.size();
  return 0;
}

}  // namespace

struct BlockEncoder::State {
  Nanoseconds resolution;
  WritingTables tables;
  std::deque<CallGroup> groups;
  std::size_t groups_used = 0;
  RequestGroup requests;
  wire::Body body;
  Loans loans;
  std::vector<std::uint8_t> bytes;
  std::optional<Coder> coder;
  codec::RareTime rare_time;
  codec::FileToRow row_of;
  std::vector<std::uint32_t> recorders;
  bool any_recorder = false;
  std::size_t rare_weight = 0;
  std::size_t part_count = 0;
  std::size_t segment_count = 0;

  explicit State(Nanoseconds unit) : resolution(unit) {
    row_of = [this](const FileReference& file) {
      const std::uint32_t row = tables.file_row(file);
      coder->note_file_used(row);
      return row;
    };
  }

  wire::Events& events() { return *body.mutable_events(); }

  void begin(Nanoseconds first_time) {
    clear();
    const std::int64_t base_time = first_time.value / resolution.value;
    events().set_resolution(resolution.value);
    events().set_base_time(base_time);
    coder.emplace(tables, resolution.value, base_time);
    rare_time = {resolution.value, base_time};
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
    recorders.clear();
    any_recorder = false;
    rare_weight = part_count = segment_count = 0;
  }

  // Row shapes: see Events::row in trace.proto.
  struct AddRow {
    State& state;
    std::uint32_t operator()(Syscall& call) const {
      const std::size_t group = state.group_of(call);
      state.segment_count += segments_of(call.operation);
      state.coder->code_call(state.groups[group], call);
      return static_cast<std::uint32_t>(group) + 2;
    }
    std::uint32_t operator()(BlockRequest& request) const {
      state.part_count += request.parts.size();
      state.coder->code_request(state.requests, request);
      return 1;
    }
    template <typename Rare>
    std::uint32_t operator()(Rare& event) const {
      wire::RareEvent& added = *state.events().add_rare();
      codec::encode_rare_event(event, state.rare_time, state.row_of, added);
      state.rare_weight += added.ByteSizeLong();
      return 0;
    }
  };

  std::size_t group_of(const Syscall& call) {
    const std::uint32_t operation =
        std::visit([](const auto& op) { return std::remove_cvref_t<decltype(op)>::kWireNumber; }, call.operation);
    const auto interface = static_cast<std::uint32_t>(call.interface);
    for (std::size_t i = 0; i < groups_used; ++i)
      if (groups[i].number == call.number && groups[i].operation == operation && groups[i].interface == interface)
        return i;
    if (groups_used == groups.size()) groups.emplace_back();
    CallGroup& fresh = groups[groups_used];
    fresh.number = call.number, fresh.operation = operation, fresh.interface = interface;
    return groups_used++;
  }

  void write_columns() {
    if (any_recorder) events().mutable_recorder()->Add(recorders.begin(), recorders.end());
    tables.write_to(events());
    for (std::size_t i = 0; i < groups_used; ++i) write_call_group(groups[i], *events().add_call(), loans);
    write_request_group(requests, *events().mutable_request(), loans);
  }
};

BlockEncoder::BlockEncoder(Nanoseconds resolution) : state_(std::make_unique<State>(resolution)) {}
BlockEncoder::~BlockEncoder() = default;

void BlockEncoder::add(Nanoseconds time, std::uint32_t recorder, EventBody& body) {
  State& state = *state_;
  if (!state.coder) state.begin(time);
  state.any_recorder |= recorder != 0;
  state.recorders.push_back(recorder);
  state.events().add_row(std::visit(State::AddRow{state}, body));
}

std::size_t BlockEncoder::events() const { return state_->recorders.size(); }

std::size_t BlockEncoder::weight() const {
  constexpr std::size_t kBytesPerPart = 48;
  constexpr std::size_t kBytesPerSegment = 4;
  constexpr std::size_t kBytesPerGroup = 4096;  // its columns in memory; readers refuse more than 4,096 groups
  return state_->tables.weight() + state_->rare_weight + state_->part_count * kBytesPerPart +
         state_->segment_count * kBytesPerSegment + state_->groups_used * kBytesPerGroup;
}

std::span<const std::uint8_t> BlockEncoder::finish() {
  State& state = *state_;
  if (!state.coder) state.begin(Nanoseconds{});
  state.write_columns();
  state.bytes.resize(state.body.ByteSizeLong());
  state.body.SerializeWithCachedSizesToArray(state.bytes.data());
  state.loans.take_back();
  state.coder.reset();
  state.recorders.clear();
  return state.bytes;
}

}  // namespace iotape
