#include "format/block_decoder.h"

#include <fmt/format.h>
#include <google/protobuf/arena.h>

#include <deque>

#include "format/base/result.h"
#include "format/block_frame.h"
#include "format/parsed_size.h"
#include "format/rare_event_codec.h"
#include "format/row_coder.h"
#include "format/trace_limits.h"
#include "format/trace_writer.h"

namespace iotape {
namespace {

// What a block may claim, beyond anything a writer makes: a small payload can unpack to a claim of any size, so each is
// refused before memory or time is spent on it.
constexpr std::size_t kMaximumNameBytes = 24U << 20U;  // all names of a table, front coding undone
constexpr int kMaximumCallGroups = 4096;
constexpr int kMaximumFiles = 1 << 20;
constexpr std::int64_t kMaximumParts = 1 << 20;     // of all requests
constexpr std::int64_t kMaximumSegments = 4 << 20;  // of all vectored calls

class ReadingNames {
 public:
  Result<void> load(const wire::Names& names) {
    text_.clear();
    ends_.clear();
    if (names.shared_size() != names.suffix_length_size())
      return failure(ErrorCode::kCorrupt, "the name table's columns differ in length");
    std::size_t total = 0;
    for (int i = 0; i < names.shared_size() && total <= kMaximumNameBytes; ++i)
      total += std::size_t{names.shared(i)} + names.suffix_length(i);
    if (total > kMaximumNameBytes) return failure(ErrorCode::kCorrupt, "the name table holds more than a block may");
    text_.reserve(total);
    std::size_t consumed = 0;
    std::size_t previous_begin = 0;
    for (int i = 0; i < names.shared_size(); ++i) {
      const std::size_t shared = names.shared(i);
      const std::size_t length = names.suffix_length(i);
      if (shared > text_.size() - previous_begin || length > names.suffixes().size() - consumed)
        return failure(ErrorCode::kCorrupt, "the name table reaches beyond its bytes");
      const std::size_t begin = text_.size();
      text_.append(text_, previous_begin, shared);
      text_.append(names.suffixes(), consumed, length);
      consumed += length;
      previous_begin = begin;
      ends_.push_back(static_cast<std::uint32_t>(text_.size()));
    }
    return {};
  }
  [[nodiscard]] std::string_view name(std::uint32_t row) const {
    if (row >= ends_.size()) return {};
    const std::size_t begin = row == 0 ? 0 : ends_[row - 1];
    return std::string_view(text_).substr(begin, ends_[row] - begin);
  }
  // Row numbers that do not exist are noted, and answered with one that is safe to use.
  std::uint32_t checked_row(std::int64_t row) {
    if (row >= 0 && row < static_cast<std::int64_t>(ends_.size())) return static_cast<std::uint32_t>(row);
    bad_ = true;
    return 0;
  }
  [[nodiscard]] bool bad() const { return bad_; }

 private:
  std::string text_;
  std::vector<std::uint32_t> ends_;
  bool bad_ = false;
};

class ReadingTables {
 public:
  Result<void> load(const wire::Events& events) {
    IOTAPE_TRY(prefixes_.load(events.prefix()));
    IOTAPE_TRY(leaves_.load(events.leaf()));
    IOTAPE_TRY(load_files(events.file()));
    const auto& threads = events.thread();
    if (threads.process_size() != threads.thread_size())
      return failure(ErrorCode::kCorrupt, "the thread table's columns differ in length");
    for (int i = 0; i < threads.process_size(); ++i)
      threads_.push_back({ProcessId(threads.process(i)), ThreadId(threads.thread(i))});
    return {};
  }

  ThreadKey thread(std::int64_t row) {
    if (row >= 0 && row < static_cast<std::int64_t>(threads_.size())) return threads_[static_cast<std::size_t>(row)];
    bad_ = true;
    return {};
  }
  std::uint32_t bounded_thread(std::uint32_t row) {
    if (row < threads_.size()) return row;
    bad_ = true;
    return 0;
  }
  std::uint32_t checked_file(std::uint32_t row) {
    if (row < files_.size()) return row;
    bad_ = true;
    return 0;
  }
  [[nodiscard]] FileReference file(std::uint32_t row) const {
    return row < files_.size() ? files_[row] : FileReference{};
  }
  std::int64_t checked(std::int64_t value, int count) {
    if (value >= 0 && value < count) return value;
    bad_ = true;
    return 0;
  }
  void resize_parts(std::vector<RequestPart>& parts, std::int64_t count) {
    resize_bounded(parts, count, std::min(parts_left_, std::int64_t{kMaximumRequestParts}));
    parts_left_ -= std::ssize(parts);
  }
  void set_parts(std::int64_t count) { parts_left_ = count; }
  void resize_segments(SegmentLengths& segments, std::int64_t count) {
    resize_bounded(segments, count, std::min(segments_left_, std::int64_t{kMaximumCallSegments}));
    segments_left_ -= std::ssize(segments);
  }
  void check_exhausted(const ColumnCursor& column) { bad_ |= column.exhausted(); }
  ReadingNames& prefixes() { return prefixes_; }
  ReadingNames& leaves() { return leaves_; }
  [[nodiscard]] bool bad() const { return bad_ || prefixes_.bad() || leaves_.bad(); }

 private:
  template <typename Element>
  void resize_bounded(std::vector<Element>& elements, std::int64_t count, std::int64_t most) {
    if (count < 0 || count > most) bad_ = true, count = 0;
    elements.resize(static_cast<std::size_t>(count));
  }
  Result<void> load_files(const wire::Files& files) {
    const int rows = files.kind_size();
    if (rows > kMaximumFiles) return failure(ErrorCode::kCorrupt, "the file table holds more than a block may");
    if (files.device_size() != rows || files.inode_size() != rows || files.generation_size() != rows ||
        files.subvolume_size() != rows)
      return failure(ErrorCode::kCorrupt, "the file table's columns differ in length");
    files_.reserve(static_cast<std::size_t>(rows));
    FileIdentity previous;
    for (int i = 0; i < rows; ++i) {
      if (files.kind(i) >= kFileKindCount) return failure(ErrorCode::kCorrupt, "the file table names an unknown kind");
      previous.device = DeviceId(previous.device.value + static_cast<std::uint32_t>(files.device(i)));
      previous.inode = InodeNumber(previous.inode.value + static_cast<std::uint64_t>(files.inode(i)));
      previous.generation = files.generation(i);
      previous.subvolume += static_cast<std::uint64_t>(files.subvolume(i));
      files_.push_back({previous, static_cast<FileKind>(files.kind(i))});
    }
    return {};
  }

  std::vector<ThreadKey> threads_;
  std::vector<FileReference> files_;
  ReadingNames prefixes_;
  ReadingNames leaves_;
  std::int64_t parts_left_ = 0;
  std::int64_t segments_left_ = kMaximumSegments;
  bool bad_ = false;
};

using Coder = codec::RowCoder<ColumnCursor, ReadingTables>;
using CallGroup = codec::CallGroup<ColumnCursor>;
using RequestGroup = codec::RequestGroup<ColumnCursor>;

// Default-constructs the operation with a wire number; false when this version does not know it.
template <std::size_t Index = 0>
bool make_operation(std::uint32_t wire_number, Operation& operation) {
  if constexpr (Index < kOperationCount) {
    if (std::variant_alternative_t<Index, Operation>::kWireNumber == wire_number)
      return operation.emplace<Index>(), true;
    return make_operation<Index + 1>(wire_number, operation);
  } else {
    return false;
  }
}

int column_size(const wire::Column& column) { return std::max(column.plain_size(), column.mixed_size()); }

// Absent (all zero) or exactly one value per row.
bool fits(const wire::Column& column, int rows) { return column_size(column) == 0 || column_size(column) == rows; }

std::array<const wire::Column*, codec::kCallColumns> common_columns(const wire::CallColumns& call) {
  return {&call.thread(),     &call.think(),      &call.duration(),     &call.blocked(),  &call.outcome(),
          &call.unfinished(), &call.user_stack(), &call.kernel_stack(), &call.replayed(), &call.source(),
          &call.due(),        &call.expected(),   &call.skipped()};
}

std::array<const wire::Column*, codec::kRequestColumns> request_columns(const wire::RequestColumns& request) {
  return {&request.device(),         &request.partition(),    &request.operation(),  &request.flags(),
          &request.sector(),         &request.bytes(),        &request.timing(),     &request.complete(),
          &request.service(),        &request.error(),        &request.requeues(),   &request.parts(),
          &request.part_queue(),     &request.part_sector(),  &request.part_bytes(), &request.part_flags(),
          &request.part_submitter(), &request.part_dirtier(), &request.part_file(),  &request.part_file_offset(),
          &request.part_cause(),     &request.part_call()};
}

}  // namespace

struct BlockDecoder::State {
  google::protobuf::Arena arena;
  const wire::Events* events = nullptr;
  std::unique_ptr<ReadingTables> tables;
  std::unique_ptr<Coder> coder;
  std::vector<CallGroup> groups;
  std::vector<Operation> blank_operations;  // by group; what a row starts from
  std::vector<std::size_t> operation_index;
  RequestGroup requests;
  codec::RareTime rare_time;
  codec::RowToFile file_of;
  std::uint64_t first_event = 0;
  int row = 0;
  int rare = 0;
  Selection selection;

  [[nodiscard]] Result<std::vector<int>> count_rows() const {
    if (static_cast<std::size_t>(events->row_size()) > kMaximumBlockEvents || events->call_size() > kMaximumCallGroups)
      return failure(ErrorCode::kCorrupt, "the block claims more events, or kinds of them, than a block may hold");
    std::vector<int> counts(static_cast<std::size_t>(events->call_size()) + 2);
    for (const std::uint32_t shape : events->row()) {
      if (shape >= counts.size()) return failure(ErrorCode::kCorrupt, "a row names a column group that is not there");
      ++counts[shape];
    }
    if (counts[0] != events->rare_size()) return failure(ErrorCode::kCorrupt, "rare events are missing");
    if (events->recorder_size() != 0 && events->recorder_size() != events->row_size())
      return failure(ErrorCode::kCorrupt, "the recorder column is short");
    return counts;
  }

  Result<void> load_call_group(const wire::CallColumns& call, int rows) {
    CallGroup group;
    group.number = call.number(), group.operation = call.operation(), group.interface = call.interface();
    const auto columns = common_columns(call);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!fits(*columns[i], rows)) return failure(ErrorCode::kCorrupt, "a column has the wrong length");
      group.common[i] = ColumnCursor(*columns[i]);
    }
    Operation blank;
    if (!make_operation(call.operation(), blank) || call.interface() >= kCallInterfaceCount)
      return failure(ErrorCode::kUnsupported,
                     fmt::format("operation {} is unknown: a newer iotape wrote this", call.operation()));
    IOTAPE_TRY(load_arguments(call, rows, blank, group));
    operation_index.push_back(blank.index());
    blank_operations.push_back(std::move(blank));
    groups.push_back(std::move(group));
    return {};
  }

  // Every column must have one value a row, the lengths of segments excepted, whose number only the rows tell.
  // A column of a field this version does not know cannot be passed over: it may use up rows of the name and file
  // tables.
  static Result<void> load_arguments(const wire::CallColumns& call, int rows, const Operation& blank,
                                     CallGroup& group) {
    std::array<bool, codec::kMaximumFieldNumber + 1> segmented{};
    std::array<bool, codec::kMaximumFieldNumber + 1> known{};
    std::visit(
        [&](const auto& operation) {
          for_each_field(operation, [&](const auto& description, const auto& member) {
            known[description.number] = true;
            segmented[description.number] = std::is_same_v<std::remove_cvref_t<decltype(member)>, SegmentLengths>;
          });
        },
        blank);
    for (const wire::Column& column : call.argument()) {
      const std::size_t number = column.id() / codec::kPartsPerField;
      const std::size_t part = column.id() % codec::kPartsPerField;
      if (number > codec::kMaximumFieldNumber || !known[number])
        return failure(ErrorCode::kUnsupported,
                       fmt::format("operation {} has an unknown argument {}: a newer iotape wrote this",
                                   call.operation(), number));
      if (!fits(column, rows) && !(segmented[number] && part == 1))
        return failure(ErrorCode::kCorrupt, "an argument column has the wrong length");
      group.arguments[number][part] = ColumnCursor(column);
    }
    return {};
  }

  Result<void> load_requests(const wire::RequestColumns& request, int rows) {
    const auto columns = request_columns(request);
    std::int64_t parts = 0;
    ColumnCursor count(request.parts());
    for (int i = 0; i < rows && fits(request.parts(), rows); ++i) parts = wrapping_sum(parts, count.next());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const bool of_request = i < codec::kColumnsPerRequest;
      const std::int64_t expected = of_request ? rows : parts;
      if (column_size(*columns[i]) != 0 && column_size(*columns[i]) != expected)
        return failure(ErrorCode::kCorrupt, "a request column has the wrong length");
      requests.columns[i] = ColumnCursor(*columns[i]);
    }
    if (parts < 0 || parts > kMaximumParts)
      return failure(ErrorCode::kCorrupt, "the requests claim more parts than a block can hold");
    tables->set_parts(parts);
    return {};
  }

  Result<void> load() {
    if (events->resolution() <= 0) return failure(ErrorCode::kCorrupt, "the time resolution is not positive");
    tables = std::make_unique<ReadingTables>();
    IOTAPE_TRY(tables->load(*events));
    coder = std::make_unique<Coder>(*tables, events->resolution(), events->base_time());
    rare_time = {events->resolution(), events->base_time()};
    file_of = [this](std::uint32_t file_row) {
      const std::uint32_t checked = tables->checked_file(file_row);
      coder->note_file_used(checked);
      return tables->file(checked);
    };
    IOTAPE_ASSIGN(const std::vector<int> counts, count_rows());
    groups.clear(), blank_operations.clear(), operation_index.clear();
    groups.reserve(static_cast<std::size_t>(events->call_size()));
    for (int i = 0; i < events->call_size(); ++i)
      IOTAPE_TRY(load_call_group(events->call(i), counts[static_cast<std::size_t>(i) + 2]));
    return load_requests(events->request(), counts[1]);
  }

  void decode_call(std::size_t group_index, EventBody& body) {
    auto* call = std::get_if<Syscall>(&body);
    if (call == nullptr) call = &body.emplace<Syscall>();
    CallGroup& group = groups[group_index];
    call->number = group.number;
    call->interface = static_cast<CallInterface>(group.interface);
    if (call->operation.index() != operation_index[group_index]) call->operation = blank_operations[group_index];
    coder->code_call(group, *call);
  }
  void decode_request(EventBody& body) {
    auto* request = std::get_if<BlockRequest>(&body);
    if (request == nullptr) request = &body.emplace<BlockRequest>();
    coder->code_request(requests, *request);
  }
};

BlockDecoder::BlockDecoder() : state_(std::make_unique<State>()) {}
BlockDecoder::~BlockDecoder() = default;

Result<void> BlockDecoder::open(std::span<const std::uint8_t> body, std::uint64_t first_event, Selection selection) {
  State& state = *state_;
  state.events = nullptr;
  state.coder.reset();
  state.arena.Reset();
  auto* message = google::protobuf::Arena::CreateMessage<wire::Body>(&state.arena);
  IOTAPE_TRY(check_parsed_size(body));
  if (!message->ParseFromArray(body.data(), static_cast<int>(body.size())))
    return failure(ErrorCode::kCorrupt, "the block's body is not a valid message");
  state.events = &message->events();
  state.first_event = first_event;
  state.row = state.rare = 0;
  state.selection = selection;
  return state.load();
}

Result<bool> BlockDecoder::next(Event& event) {
  State& state = *state_;
  while (state.events != nullptr && state.row < state.events->row_size()) {
    const int row = state.row++;
    const std::uint32_t shape = state.events->row(row);
    event.id = EventId(state.first_event + static_cast<std::uint64_t>(row));
    event.recorder = state.events->recorder_size() == 0 ? 0 : state.events->recorder(row);
    bool wanted = true;
    if (shape >= 2) {
      state.decode_call(shape - 2, event.body);
      wanted = state.selection.syscalls;
    } else if (shape == 1) {
      state.decode_request(event.body);
      wanted = state.selection.requests;
    } else {
      wanted = codec::decode_rare_event(state.events->rare(state.rare++), state.rare_time, state.file_of, event.body);
    }
    if (state.tables->bad())
      return failure(ErrorCode::kCorrupt, fmt::format("event {} refers to what is not in its block", event.id.value));
    if (wanted) return true;
  }
  return false;
}

}  // namespace iotape
