// Turns one event into numbers in columns, or back. One piece of code serves both directions (Column is ColumnWriter or
// ColumnCursor), so that what is predicted when writing is predicted when reading.
//
// Private to the codec: block_encoder.cc and block_decoder.cc include it, nobody else.
// The predictions are specified in FORMAT.md; changing one changes the format.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "format/column.h"
#include "format/event.h"

namespace iotape::codec {

inline constexpr std::size_t kMaximumFieldNumber = 8;
inline constexpr std::size_t kPartsPerField = 8;
inline constexpr std::size_t kRecentFiles = 4;

// Columns every call has, in the order of CallColumns in trace.proto.
enum class CallColumn : std::uint8_t {
  kThread,
  kThink,
  kDuration,
  kBlocked,
  kOutcome,
  kUnfinished,
  kUserStack,
  kKernelStack,
  kReplayed,
  kSource,
  kDue,
  kExpected,
  kSkipped,
};
inline constexpr std::size_t kCallColumns = 13;

enum class RequestColumn : std::uint8_t {
  kDevice,
  kPartition,
  kOperation,
  kFlags,
  kSector,
  kBytes,
  kTiming,
  kComplete,
  kService,
  kError,
  kRequeues,
  kParts,
  kPartQueue,
  kPartSector,
  kPartBytes,
  kPartFlags,
  kPartSubmitter,
  kPartDirtier,
  kPartFile,
  kPartFileOffset,
  kPartCause,
  kPartCall,
};
inline constexpr std::size_t kRequestColumns = 22;
inline constexpr std::size_t kColumnsPerRequest = 12;  // the ones before kPartQueue

template <typename Column>
struct CallGroup {
  std::uint32_t number = 0;
  std::uint32_t operation = 0;
  std::uint32_t interface = 0;
  std::array<Column, kCallColumns> common;
  std::array<std::array<Column, kPartsPerField>, kMaximumFieldNumber + 1> arguments;

  Column& column(CallColumn which) { return common[static_cast<std::size_t>(which)]; }
};

template <typename Column>
struct RequestGroup {
  std::array<Column, kRequestColumns> columns;
  Column& column(RequestColumn which) { return columns[static_cast<std::size_t>(which)]; }
};

// Codes for "which row of the file table": 0 the next unused row, 1..4 one of the recent files, 5 the row after the
// most recent one (files met again in the order of their first use), then 6 + the row itself.
class RecentFiles {
 public:
  [[nodiscard]] std::int64_t code_of(std::uint32_t row, std::uint32_t used) const {
    if (row >= used) return 0;
    for (std::size_t slot = 0; slot < kRecentFiles; ++slot)
      if (recent_[slot] == row) return static_cast<std::int64_t>(slot) + 1;
    return row == recent_[0] + 1 ? kFollowing : kRows + row;
  }
  // Codes that make no sense give a row that does not exist, which the caller checks.
  [[nodiscard]] std::uint32_t row_of(std::int64_t code, std::uint32_t used) const {
    if (code == 0) return used;
    if (code == kFollowing) return recent_[0] + 1;
    if (code >= 1 && code < kFollowing) return recent_[static_cast<std::size_t>(code - 1)];
    return code < 0 ? kNone : static_cast<std::uint32_t>(code - kRows);
  }
  void touch(std::uint32_t row) {
    std::size_t slot = 0;
    while (slot + 1 < kRecentFiles && recent_[slot] != row) ++slot;
    for (; slot > 0; --slot) recent_[slot] = recent_[slot - 1];
    recent_[0] = row;
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFE;
  static constexpr std::int64_t kFollowing = kRecentFiles + 1;
  static constexpr std::int64_t kRows = kFollowing + 1;
  std::array<std::uint32_t, kRecentFiles> recent_{kNone, kNone, kNone, kNone};
};

// Codes for "which row of a name table": 0 the next unused row, 1 the empty string, which has no row, 2 the row of the
// name before, 3 the row after that one, then 4 + the row itself, so that names often used keep one code.
class RecentName {
 public:
  static constexpr std::int64_t kNew = 0;
  static constexpr std::int64_t kEmpty = 1;

  std::int64_t code_of(std::uint32_t row) {
    const std::int64_t code = row >= used_ ? kNew : row == last_ ? kSame : row == last_ + 1 ? kFollowing : kRows + row;
    touch(row);
    return code;
  }
  // REQUIRES: code is not kEmpty.
  [[nodiscard]] std::int64_t row_of(std::int64_t code) const {
    if (code == kNew) return used_;
    if (code == kSame) return last_;
    if (code == kFollowing) return std::int64_t{last_} + 1;
    return wrapping_difference(code, kRows);
  }
  void touch(std::uint32_t row) {
    used_ = std::max(used_, row + 1);
    last_ = row;
  }

 private:
  static constexpr std::int64_t kSame = 2;
  static constexpr std::int64_t kFollowing = 3;
  static constexpr std::int64_t kRows = 4;
  std::uint32_t used_ = 0;
  std::uint32_t last_ = 0;
};

struct ThreadState {
  std::int64_t previous_end = 0;
  RecentFiles files;
  RecentFiles directories;
};

// The bytes asked for, which a read or write usually returns.
template <typename Op>
std::int64_t predicted_outcome(const Op& operation) {
  if constexpr (std::is_same_v<Op, Read> || std::is_same_v<Op, Write> || std::is_same_v<Op, Transfer>)
    return operation.length;
  else
    return 0;
}

// Tables is WritingTables or ReadingTables:
//   uint32 file_row(FileReference&)            intern, or nothing to do
//   FileReference file(uint32 row), uint32 name row and so on; see their definitions in the encoder and the decoder.
template <typename Column, typename Tables>
class RowCoder {
 public:
  static constexpr bool kWriting = std::is_same_v<Column, ColumnWriter>;

  RowCoder(Tables& tables, std::int64_t resolution, std::int64_t base_time)
      : tables_(tables), resolution_(resolution), base_time_(base_time), previous_complete_(base_time) {}

  void code_call(CallGroup<Column>& group, Syscall& call) {
    const std::uint32_t thread = code_thread(group.column(CallColumn::kThread), call.thread);
    ThreadState& state = thread_state(thread);
    code_times(group, call, state);
    std::visit([&](auto& operation) { code_operation(group, call, operation, state); }, call.operation);
    code_flag(group.column(CallColumn::kUnfinished), call.unfinished);
    code_stack(group.column(CallColumn::kUserStack), call.user_stack);
    code_stack(group.column(CallColumn::kKernelStack), call.kernel_stack);
    code_replay(group, call);
  }

  void code_request(RequestGroup<Column>& group, BlockRequest& request) {
    code_request_head(group, request);
    code_request_times(group, request);
    std::int64_t count = static_cast<std::int64_t>(request.parts.size());
    code_number(group.column(RequestColumn::kParts), count);
    if constexpr (!kWriting) tables_.resize_parts(request.parts, count);
    part_reference_time_ = to_units(request.issue ? *request.issue : request.complete.value_or(Nanoseconds{}));
    part_sector_ = request.sector.value;
    for (RequestPart& part : request.parts) code_part(group, part);
  }

  // Files named by rare events pass here so that "the next unused row" stays in step.
  void note_file_used(std::uint32_t row) { files_used_ = std::max(files_used_, row + 1); }

 private:
  // ---- plain numbers ----
  static void code_number(Column& column, std::int64_t& value, std::int64_t predicted = 0) {
    if constexpr (kWriting)
      column.add(wrapping_difference(value, predicted));
    else
      value = wrapping_sum(column.next(), predicted);
  }
  template <typename Integer>
  static void code_integer(Column& column, Integer& value) {
    auto wide = static_cast<std::int64_t>(value);
    code_number(column, wide);
    if constexpr (!kWriting) value = static_cast<Integer>(wide);
  }
  static void code_flag(Column& column, bool& value) {
    std::int64_t wide = value ? 1 : 0;
    code_number(column, wide);
    if constexpr (!kWriting) value = wide != 0;
  }
  template <typename Enum>
  void code_enum(Column& column, Enum& value, int count) {
    auto wide = static_cast<std::int64_t>(value);
    code_number(column, wide);
    if constexpr (!kWriting) value = static_cast<Enum>(tables_.checked(wide, count));
  }

  // ---- time ----
  [[nodiscard]] std::int64_t to_units(Nanoseconds time) const {
    const std::int64_t quotient = time.value / resolution_;
    return quotient - (time.value % resolution_ < 0 ? 1 : 0);
  }
  [[nodiscard]] Nanoseconds from_units(std::int64_t units) const {
    return Nanoseconds(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(units) * static_cast<std::uint64_t>(resolution_)));
  }

  void code_times(CallGroup<Column>& group, Syscall& call, ThreadState& state) {
    std::int64_t start = to_units(call.start);
    std::int64_t end = to_units(call.start + call.duration);
    std::int64_t blocked = to_units(call.blocked);
    code_number(group.column(CallColumn::kThink), start, state.previous_end);
    code_number(group.column(CallColumn::kDuration), end, start);
    code_number(group.column(CallColumn::kBlocked), blocked);
    state.previous_end = end;
    if constexpr (!kWriting) {
      call.start = from_units(start);
      call.duration = from_units(wrapping_difference(end, start));
      call.blocked = from_units(blocked);
    }
  }

  // ---- calls ----
  template <typename Op>
  void code_operation(CallGroup<Column>& group, Syscall& call, Op& operation, ThreadState& state) {
    for_each_field(operation, [&](const auto& description, auto& member) {
      code_field(group.arguments[description.number], member, state);
    });
    std::int64_t outcome = call.outcome.to_kernel();
    code_number(group.column(CallColumn::kOutcome), outcome, predicted_outcome(operation));
    if constexpr (!kWriting) call.outcome = OpOutcome::from_kernel(outcome);
    advance_positions(operation, std::max<std::int64_t>(outcome, 0));
  }

  using FieldColumns = std::array<Column, kPartsPerField>;

  void code_field(FieldColumns& columns, std::int64_t& value, ThreadState&) { code_number(columns[0], value); }
  void code_field(FieldColumns& columns, bool& value, ThreadState&) { code_flag(columns[0], value); }
  void code_field(FieldColumns& columns, FileReference& file, ThreadState& state) {
    last_file_ = code_file(columns[0], file, state.files);
  }
  void code_field(FieldColumns& columns, Descriptor& descriptor, ThreadState& state) {
    code_integer(columns[0], descriptor.number);
    last_file_ = code_file(columns[1], descriptor.file, state.files);
  }
  void code_field(FieldColumns& columns, FilePosition& position, ThreadState&) {
    code_number(columns[0], position.value, position_after(last_file_));
    coded_position_ = {last_file_, position.value};
    set_position_after(last_file_, position.value);
  }
  void code_field(FieldColumns& columns, TimeArgument& time, ThreadState&) {
    code_number(columns[0], time.seconds);
    code_number(columns[1], time.nanoseconds);
  }
  void code_field(FieldColumns& columns, SegmentLengths& segments, ThreadState&) {
    auto count = static_cast<std::int64_t>(segments.size());
    code_number(columns[0], count);
    if constexpr (!kWriting) tables_.resize_segments(segments, count);
    for (std::int64_t& length : segments) code_number(columns[1], length);
    if constexpr (!kWriting) tables_.check_exhausted(columns[1]);
  }
  void code_field(FieldColumns& columns, Text& text, ThreadState&) {
    code_enum(columns[0], text.state, kTextStateCount);
    code_leaf(columns[1], text.bytes);
  }
  void code_field(FieldColumns& columns, PathArgument& path, ThreadState& state) {
    code_enum(columns[0], path.state, kTextStateCount);
    code_path_bytes(columns[1], columns[2], path.bytes);
    code_integer(columns[3], path.directory.number);
    code_file(columns[4], path.directory.file, state.directories);
  }

  // ---- positions in files ----
  [[nodiscard]] std::int64_t position_after(std::uint32_t file) const {
    return file < positions_.size() ? positions_[file] : 0;
  }
  void set_position_after(std::uint32_t file, std::int64_t position) {
    if (file >= positions_.size()) positions_.resize(file + 1);
    positions_[file] = position;
  }
  template <typename Op>
  void advance_positions(const Op& operation, std::int64_t moved) {
    if constexpr (std::is_same_v<Op, Read> || std::is_same_v<Op, Write>) {
      if (operation.position.value >= 0)
        set_position_after(coded_position_.file, wrapping_sum(operation.position.value, moved));
    }
  }

  // ---- tables ----
  std::uint32_t code_thread(Column& column, ThreadKey& key) {
    std::int64_t row = 0;
    if constexpr (kWriting) row = tables_.thread_row(key);
    code_number(column, row);
    if constexpr (!kWriting) key = tables_.thread(row);
    return static_cast<std::uint32_t>(row);
  }
  ThreadState& thread_state(std::uint32_t row) {
    if constexpr (!kWriting) row = tables_.bounded_thread(row);
    while (threads_.size() <= row) threads_.push_back(ThreadState{base_time_, {}, {}});
    return threads_[row];
  }
  std::uint32_t code_file(Column& column, FileReference& file, RecentFiles& recent) {
    std::uint32_t row = 0;
    if constexpr (kWriting) {
      row = tables_.file_row(file);
      column.add(recent.code_of(row, files_used_));
    } else {
      row = recent.row_of(column.next(), files_used_);
      row = tables_.checked_file(row);
      file = tables_.file(row);
    }
    note_file_used(row);
    recent.touch(row);
    return row;
  }
  // Writing: takes the name's row. Reading: appends the name to bytes.
  template <typename Names>
  static void code_name(Column& column, Names& names, RecentName& recent, std::string_view written,
                        std::string& bytes) {
    if constexpr (kWriting) {
      column.add(written.empty() ? RecentName::kEmpty : recent.code_of(names.row_of(written)));
    } else {
      const std::int64_t code = column.next();
      if (code == RecentName::kEmpty) return;
      const std::uint32_t row = names.checked_row(recent.row_of(code));
      recent.touch(row);
      bytes.append(names.name(row));
    }
  }
  void code_leaf(Column& column, std::string& bytes) {
    if constexpr (!kWriting) bytes.clear();
    code_name(column, tables_.leaves(), recent_leaf_, bytes, bytes);
  }
  void code_path_bytes(Column& prefix_column, Column& leaf_column, std::string& bytes) {
    std::string_view prefix;
    std::string_view leaf = bytes;
    if constexpr (kWriting) {
      const std::size_t slash = leaf.rfind('/');
      const std::size_t cut = slash == std::string_view::npos ? 0 : slash + 1;
      prefix = leaf.substr(0, cut);
      leaf = leaf.substr(cut);
    } else {
      bytes.clear();
    }
    code_name(prefix_column, tables_.prefixes(), recent_prefix_, prefix, bytes);
    code_name(leaf_column, tables_.leaves(), recent_leaf_, leaf, bytes);
  }

  // ---- the rest of a call ----
  static void code_stack(Column& column, std::optional<StackId>& stack) {
    std::int64_t wide = stack ? std::int64_t{stack->value} + 1 : 0;
    code_number(column, wide);
    if constexpr (!kWriting) {
      if (wide > 0)
        stack = StackId(static_cast<std::uint32_t>(wide - 1));
      else
        stack.reset();
    }
  }
  void code_replay(CallGroup<Column>& group, Syscall& call) {
    bool replayed = call.replay.has_value();
    code_flag(group.column(CallColumn::kReplayed), replayed);
    if constexpr (!kWriting) call.replay.reset();
    ReplayRecord record = call.replay.value_or(ReplayRecord{});
    std::int64_t source = static_cast<std::int64_t>(record.source.value);
    code_number(group.column(CallColumn::kSource), source, replayed ? wrapping_sum(previous_source_, 1) : 0);
    if (replayed) previous_source_ = source;
    std::int64_t due = replayed ? to_units(record.due) : 0;
    code_number(group.column(CallColumn::kDue), due, replayed ? to_units(call.start) : 0);
    std::int64_t expected = record.expected.to_kernel();
    code_number(group.column(CallColumn::kExpected), expected, replayed ? call.outcome.to_kernel() : 0);
    code_enum(group.column(CallColumn::kSkipped), record.skipped, kSkipReasonCount);
    if constexpr (!kWriting) {
      if (replayed)
        call.replay = ReplayRecord{EventId(static_cast<std::uint64_t>(source)), from_units(due),
                                   OpOutcome::from_kernel(expected), record.skipped};
    }
  }

  // ---- requests ----
  void code_request_head(RequestGroup<Column>& group, BlockRequest& request) {
    code_integer(group.column(RequestColumn::kDevice), request.device.value);
    std::int64_t partition = request.partition.value;
    code_number(group.column(RequestColumn::kPartition), partition, request.device.value);
    if constexpr (!kWriting) request.partition = DeviceId(static_cast<std::uint32_t>(partition));
    code_enum(group.column(RequestColumn::kOperation), request.operation, kBlockOperationCount);
    code_integer(group.column(RequestColumn::kFlags), request.flags);
    code_number(group.column(RequestColumn::kSector), request.sector.value, request_sector_);
    code_number(group.column(RequestColumn::kBytes), request.bytes);
    code_integer(group.column(RequestColumn::kError), request.error);
    code_integer(group.column(RequestColumn::kRequeues), request.requeues);
    request_sector_ = sector_after(request.sector.value, request.bytes);
  }
  static std::int64_t sector_after(std::int64_t sector, std::int64_t bytes) {
    constexpr std::int64_t kSectorBytes = 512;
    return wrapping_sum(sector, bytes / kSectorBytes);
  }
  void code_request_times(RequestGroup<Column>& group, BlockRequest& request) {
    std::int64_t timing = (request.issue ? 1 : 0) | (request.complete ? 2 : 0);
    code_number(group.column(RequestColumn::kTiming), timing);
    const bool has_issue = (timing & 1) != 0;
    const bool has_complete = (timing & 2) != 0;
    std::int64_t issue = request.issue ? to_units(*request.issue) : 0;
    std::int64_t complete = request.complete ? to_units(*request.complete) : 0;
    std::int64_t& anchor = has_complete ? complete : issue;
    code_number(group.column(RequestColumn::kComplete), anchor, timing != 0 ? previous_complete_ : 0);
    if (timing != 0) previous_complete_ = anchor;
    std::int64_t service = has_issue && has_complete ? wrapping_difference(complete, issue) : 0;
    code_number(group.column(RequestColumn::kService), service);
    if constexpr (!kWriting) {
      if (has_issue && has_complete) issue = wrapping_difference(complete, service);
      request.issue = has_issue ? std::optional(from_units(issue)) : std::nullopt;
      request.complete = has_complete ? std::optional(from_units(complete)) : std::nullopt;
    }
  }
  void code_part(RequestGroup<Column>& group, RequestPart& part) {
    std::int64_t before_queue = kWriting ? wrapping_difference(part_reference_time_, to_units(part.queue)) : 0;
    code_number(group.column(RequestColumn::kPartQueue), before_queue);
    const std::int64_t queue = wrapping_difference(part_reference_time_, before_queue);
    part_reference_time_ = queue;
    if constexpr (!kWriting) part.queue = from_units(queue);
    code_number(group.column(RequestColumn::kPartSector), part.sector.value, part_sector_);
    code_number(group.column(RequestColumn::kPartBytes), part.bytes);
    part_sector_ = sector_after(part.sector.value, part.bytes);
    code_integer(group.column(RequestColumn::kPartFlags), part.flags);
    code_thread(group.column(RequestColumn::kPartSubmitter), part.submitter);
    code_thread(group.column(RequestColumn::kPartDirtier), part.dirtier);
    code_part_file(group, part);
    code_enum(group.column(RequestColumn::kPartCause), part.cause, kBlockCauseCount);
    code_part_call(group.column(RequestColumn::kPartCall), part, queue);
    if constexpr (!kWriting) tables_.check_exhausted(group.column(RequestColumn::kPartQueue));
  }
  void code_part_file(RequestGroup<Column>& group, RequestPart& part) {
    std::int64_t row = 0;
    if constexpr (kWriting) row = tables_.file_row(part.file);
    code_number(group.column(RequestColumn::kPartFile), row);
    if constexpr (!kWriting) {
      row = tables_.checked_file(static_cast<std::uint32_t>(row));
      part.file = tables_.file(static_cast<std::uint32_t>(row));
    }
    note_file_used(static_cast<std::uint32_t>(row));
    const std::int64_t predicted = row == part_file_ ? part_file_offset_ : 0;
    code_number(group.column(RequestColumn::kPartFileOffset), part.file_offset, predicted);
    part_file_ = row;
    part_file_offset_ = part.file_offset < 0 ? part.file_offset : wrapping_sum(part.file_offset, part.bytes);
  }
  void code_part_call(Column& column, RequestPart& part, std::int64_t queue) {
    std::int64_t code = 0;
    if constexpr (kWriting) {
      if (part.call_start) {
        const auto difference = wrapping_difference(queue, to_units(*part.call_start));
        code = difference >= 0 ? difference + 1 : difference;  // 0 stays free for "none"
      }
    }
    code_number(column, code);
    if constexpr (!kWriting) {
      if (code == 0)
        part.call_start.reset();
      else
        part.call_start = from_units(wrapping_difference(queue, code > 0 ? code - 1 : code));
    }
  }

  struct CodedPosition {
    std::uint32_t file = 0;
    std::int64_t position = 0;
  };

  Tables& tables_;
  std::int64_t resolution_;
  std::int64_t base_time_;
  std::vector<ThreadState> threads_;
  std::vector<std::int64_t> positions_;  // by file row: where the next access is expected
  CodedPosition coded_position_;
  std::uint32_t last_file_ = 0;
  std::uint32_t files_used_ = 0;
  RecentName recent_prefix_;
  RecentName recent_leaf_;
  std::int64_t previous_source_ = -1;
  std::int64_t previous_complete_;
  std::int64_t request_sector_ = 0;
  std::int64_t part_reference_time_ = 0;
  std::int64_t part_sector_ = 0;
  std::int64_t part_file_ = -1;
  std::int64_t part_file_offset_ = 0;
};

}  // namespace iotape::codec
