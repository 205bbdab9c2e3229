// Records as the kernel side writes them, one by one, to the events they must become.
#include "recorder/decode.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "format/syscall_table.h"
#include "recorder/call_table.h"

namespace iotape {
namespace {

wire_file file_of(std::uint64_t inode, std::uint16_t mode) {
  wire_file file{};
  file.inode = inode;
  file.subvolume = inode + 1;
  file.device = 7U << 20U | 3U;
  file.generation = static_cast<__u32>(inode * 3);
  file.mode = mode;
  file.flags = WIRE_FILE_KNOWN;
  return file;
}

// Builds a record the way calls.bpf.c does.
class Record {
 public:
  Record(std::uint32_t number, std::vector<std::uint64_t> args) {
    fixed_.head.kind = WIRE_CALL;
    fixed_.number = static_cast<__u16>(number);
    const CallRow* row = call_row(number);
    fixed_.arguments = row == nullptr ? 6 : row->shape.arguments;
    fixed_.process = 100;
    fixed_.thread = 101;
    fixed_.user_stack = -1;
    fixed_.kernel_stack = -1;
    fixed_.start = 5'000'000'000ULL;
    fixed_.duration = 700;
    fixed_.blocked = 200;
    fixed_.position = -1;
    for (std::size_t i = 0; i < args.size() && i < 6; ++i) fixed_.args[i] = args[i];
  }
  Record& result(std::int64_t value) { return fixed_.result = value, *this; }
  Record& file(const wire_file& file) { return fixed_.file = file, *this; }
  Record& position(std::int64_t value) { return fixed_.position = value, *this; }
  Record& flags(std::uint8_t flags) {
    fixed_.flags = flags;
    if (flags != 0) fixed_.arguments = 6;
    return *this;
  }
  Record& item(std::uint8_t type, std::uint8_t state, const std::string& bytes) {
    wire_item head{type, state, static_cast<__u16>(bytes.size()), 0};
    tail_.append(reinterpret_cast<const char*>(&head), sizeof head);
    tail_ += bytes;
    tail_.resize((tail_.size() + 7) / 8 * 8);
    return *this;
  }
  Record& path(const std::string& text) { return item(WIRE_ITEM_TEXT_A, WIRE_TEXT_PRESENT, text); }
  Record& second(const std::string& text) { return item(WIRE_ITEM_TEXT_B, WIRE_TEXT_PRESENT, text); }
  template <typename T>
  Record& raw(std::uint8_t type, std::uint8_t state, const T& value) {
    return item(type, state, std::string(reinterpret_cast<const char*>(&value), sizeof value));
  }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    wire_call fixed = fixed_;
    const std::size_t length = offsetof(wire_call, args) + 8U * fixed.arguments;
    fixed.head.size = static_cast<__u16>(length + tail_.size());
    std::vector<std::byte> all(length + tail_.size());
    std::memcpy(all.data(), &fixed, length);
    std::memcpy(all.data() + length, tail_.data(), tail_.size());
    return all;
  }

 private:
  wire_call fixed_{};
  std::string tail_;
};

template <typename Op>
Op operation_of(const Record& record) {
  const auto decoded = decode_call(record.bytes());
  EXPECT_TRUE(decoded.has_value());
  if (!decoded || !std::holds_alternative<Op>(decoded->call.operation)) {
    ADD_FAILURE() << "another operation";
    return {};
  }
  return std::get<Op>(decoded->call.operation);
}

TEST(Decode, TimesThreadAndOutcomeOfACallAreKept) {
  const auto decoded = decode_call(Record(0, {3, 0xBAD, 512}).result(-EAGAIN).position(0).bytes());
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->call.thread, (ThreadKey{ProcessId(100), ThreadId(101)}));
  EXPECT_EQ(decoded->call.start, Nanoseconds(5'000'000'000));
  EXPECT_EQ(decoded->call.duration, Nanoseconds(700));
  EXPECT_EQ(decoded->call.blocked, Nanoseconds(200));
  EXPECT_EQ(decoded->call.outcome, (OpOutcome{-1, EAGAIN}));
  EXPECT_EQ(std::get<Read>(decoded->call.operation).position, FilePosition{0});
}

TEST(Decode, ReadKeepsDescriptorIdentityAndPositionBefore) {
  const auto op = operation_of<Read>(Record(0, {3, 0, 512}).file(file_of(9, 0100644)).position(4096));
  EXPECT_EQ(op.descriptor.number, 3);
  EXPECT_EQ(op.descriptor.file.kind, FileKind::kRegular);
  EXPECT_EQ(op.descriptor.file.identity, (FileIdentity{DeviceId::of(7, 3), 27, InodeNumber(9), 10}));
  EXPECT_EQ(op.length, 512);
  EXPECT_EQ(op.position, FilePosition{4096});
}

TEST(Decode, OpenOfANewFileIsMadeByTheCallAndShowsNoStateFromBefore) {
  wire_file opened = file_of(12, 0100600);
  opened.flags |= WIRE_FILE_CREATED;
  const auto decoded = decode_call(Record(257, {static_cast<std::uint64_t>(-100), 0, O_CREAT | O_WRONLY, 0640})
                                       .path("a b\n\xff")
                                       .raw(WIRE_ITEM_FILE_B, 0, opened)
                                       .result(4)
                                       .bytes());
  ASSERT_TRUE(decoded);
  const Open& op = std::get<Open>(decoded->call.operation);
  EXPECT_EQ(op.path.bytes, "a b\n\xff");
  EXPECT_EQ(op.path.directory.number, kAtCurrentDirectory);
  EXPECT_EQ(op.flags, O_CREAT | O_WRONLY);
  EXPECT_EQ(op.mode, 0640);
  EXPECT_EQ(op.opened.identity.inode, InodeNumber(12));
  EXPECT_TRUE(decoded->created);
  EXPECT_FALSE(decoded->found);
}

TEST(Decode, OpenWithoutCreateIgnoresTheNoiseInTheModeRegister) {
  EXPECT_EQ(operation_of<Open>(Record(257, {5, 0, O_RDONLY, 0x7777}).path("x")).mode, 0);
}

wire_state state_of_size(std::uint64_t size) {
  wire_state state{};
  state.size = size;
  state.links = 2;
  state.mode = 0100644;
  state.modified_seconds = 3;
  state.modified_nanoseconds = 4;
  state.valid = WIRE_STATE_SIZE | WIRE_STATE_MODIFIED | WIRE_STATE_REST;
  return state;
}

TEST(Decode, OpenOfAnExistingFileTellsItsState) {
  const auto decoded = decode_call(Record(2, {0, O_RDONLY, 0})
                                       .path("dir/f")
                                       .raw(WIRE_ITEM_FILE_B, 0, file_of(8, 0100644))
                                       .raw(WIRE_ITEM_STATE, 0, state_of_size(0))
                                       .result(3)
                                       .bytes());
  ASSERT_TRUE(decoded && decoded->found);
  EXPECT_EQ(decoded->found->size, 0U);
  EXPECT_EQ(decoded->found->links, 2U);
  EXPECT_EQ(decoded->found->modification_time, 3'000'000'004);
  EXPECT_EQ(decoded->found->name, "dir/f");
}

TEST(Decode, OpenThatTruncatesDoesNotClaimToKnowTheSizeBefore) {
  const auto decoded = decode_call(Record(2, {0, O_WRONLY | O_TRUNC, 0})
                                       .path("f")
                                       .raw(WIRE_ITEM_FILE_B, 0, file_of(8, 0100644))
                                       .raw(WIRE_ITEM_STATE, 0, state_of_size(77))
                                       .result(3)
                                       .bytes());
  ASSERT_TRUE(decoded && decoded->found);
  EXPECT_FALSE(decoded->found->size);
  EXPECT_FALSE(decoded->found->modification_time);
  EXPECT_EQ(decoded->found->links, 2U);
}

TEST(Decode, Openat2TakesItsArgumentsFromTheStruct) {
  const std::array<std::int64_t, 3> how{O_RDWR | O_CREAT, 0600, 0x08};
  const auto op = operation_of<Open>(Record(437, {6, 0, 0, 24}).path("p").raw(WIRE_ITEM_NUMBERS, 0, how));
  EXPECT_EQ(op.path.directory.number, 6);
  EXPECT_EQ(op.flags, O_RDWR | O_CREAT);
  EXPECT_EQ(op.mode, 0600);
  EXPECT_EQ(op.resolve, 8);
}

TEST(Decode, NullEmptyFaultyAndCutPathsAreToldApart) {
  const auto state_of = [](std::uint8_t state) {
    return operation_of<SetTimes>(Record(280, {3, 0, 0, 0}).item(WIRE_ITEM_TEXT_A, state, "")).path.state;
  };
  EXPECT_EQ(state_of(WIRE_TEXT_NULL), TextState::kNull);
  EXPECT_EQ(state_of(WIRE_TEXT_PRESENT), TextState::kPresent);
  EXPECT_EQ(state_of(WIRE_TEXT_FAULT), TextState::kFault);
  EXPECT_EQ(state_of(WIRE_TEXT_TRUNCATED), TextState::kTruncated);
}

TEST(Decode, UtimensatKeepsTimesAndTellsNullTimesFromZero) {
  const std::array<std::int64_t, 4> times{11, 0x3FFFFFFE, 13, 0x3FFFFFFF};
  const auto given =
      operation_of<SetTimes>(Record(280, {3, 0, 0x1000, 0x100}).path("").raw(WIRE_ITEM_NUMBERS, 0, times));
  EXPECT_FALSE(given.now);
  EXPECT_EQ(given.access, (TimeArgument{0, 0x3FFFFFFE}));  // the kernel ignores these seconds
  EXPECT_EQ(given.modification, (TimeArgument{0, 0x3FFFFFFF}));
  EXPECT_EQ(given.flags, 0x100);
  EXPECT_TRUE(operation_of<SetTimes>(Record(280, {3, 0, 0, 0}).path("x")).now);
}

TEST(Decode, TwoPathCallsKeepEachPathsOwnDirectory) {
  const auto op = operation_of<Rename>(Record(316, {3, 0, 4, 0, 2})
                                           .file(file_of(1, 040755))
                                           .path("from")
                                           .second("to")
                                           .raw(WIRE_ITEM_FILE_B, 0, file_of(2, 040755)));
  EXPECT_EQ(op.from.bytes, "from");
  EXPECT_EQ(op.from.directory.number, 3);
  EXPECT_EQ(op.from.directory.file.identity.inode, InodeNumber(1));
  EXPECT_EQ(op.to.bytes, "to");
  EXPECT_EQ(op.to.directory.number, 4);
  EXPECT_EQ(op.to.directory.file.identity.inode, InodeNumber(2));
  EXPECT_EQ(op.flags, 2);
}

TEST(Decode, SymlinkTargetIsTextAndNotAPath) {
  const auto op = operation_of<SymbolicLink>(Record(266, {0, 7, 0}).path("../target").second("name"));
  EXPECT_EQ(op.target.bytes, "../target");
  EXPECT_EQ(op.created.bytes, "name");
  EXPECT_EQ(op.created.directory.number, 7);
}

TEST(Decode, CopyFileRangeKeepsOffsetsFromBeforeTheCall) {
  const std::array<std::int64_t, 4> before{4096, 0, 0, 777};
  const auto op = operation_of<Transfer>(Record(326, {3, 0x1000, 4, 0, 65536, 0})
                                             .file(file_of(1, 0100644))
                                             .position(5)
                                             .raw(WIRE_ITEM_FILE_B, 0, file_of(2, 0100644))
                                             .raw(WIRE_ITEM_NUMBERS, 1, before));
  EXPECT_TRUE(op.source_explicit);
  EXPECT_EQ(op.source_position, FilePosition{4096});
  EXPECT_FALSE(op.destination_explicit);
  EXPECT_EQ(op.destination_position, FilePosition{777});
  EXPECT_EQ(op.destination.number, 4);
  EXPECT_EQ(op.length, 65536);
}

TEST(Decode, VectoredWriteKeepsSegmentsAndTheirTotal) {
  const std::array<std::int64_t, 3> lengths{1, 0, 4096};
  const auto op = operation_of<Write>(Record(20, {3, 0x1000, 3}).position(9).raw(WIRE_ITEM_SEGMENTS, 0, lengths));
  EXPECT_EQ(op.segments, (SegmentLengths{1, 0, 4096}));
  EXPECT_EQ(op.length, 4097);
}

TEST(Decode, FcntlBecomesDuplicateLockOrControlByItsCommand) {
  EXPECT_EQ(operation_of<Duplicate>(Record(72, {3, F_DUPFD_CLOEXEC, 10})).target, 10);
  struct {
    std::int16_t type = F_WRLCK;
    std::int16_t whence = SEEK_SET;
    std::int32_t padding = 0;
    std::int64_t start = 100;
    std::int64_t length = 0;
    std::int64_t pad = 0;
  } lock;
  const auto op = operation_of<Lock>(Record(72, {3, F_SETLKW, 0x1000}).raw(WIRE_ITEM_NUMBERS, 1, lock));
  EXPECT_EQ(op.type, F_WRLCK);
  EXPECT_EQ(op.start, 100);
  EXPECT_EQ(op.command, F_SETLKW);
  EXPECT_EQ(operation_of<ControlDescriptor>(Record(72, {3, F_SETFL, O_NONBLOCK})).argument, O_NONBLOCK);
}

TEST(Decode, PipeGivesBothNewDescriptors) {
  const std::array<std::int32_t, 2> pair{5, 6};
  const auto op = operation_of<MakeDescriptor>(Record(293, {0x1000, O_CLOEXEC}).raw(WIRE_ITEM_NUMBERS, 0, pair));
  EXPECT_EQ(op.first, 5);
  EXPECT_EQ(op.second, 6);
  EXPECT_EQ(op.flags, O_CLOEXEC);
}

TEST(Decode, XattrValueIsKeptUpToTheLimitAndMarkedWhenCut) {
  const auto whole = operation_of<SetXattrDescriptor>(
      Record(190, {3, 0, 0x1000, 2, 1}).second("user.a").item(WIRE_ITEM_VALUE, 0, std::string("\0x", 2)));
  EXPECT_EQ(whole.name.bytes, "user.a");
  EXPECT_EQ(whole.value, Text::of(std::string("\0x", 2)));
  EXPECT_EQ(whole.size, 2);
  const auto cut = operation_of<SetXattrDescriptor>(
      Record(190, {3, 0, 0x1000, 100, 0}).second("user.a").item(WIRE_ITEM_VALUE, 0, std::string(64, 'v')));
  EXPECT_EQ(cut.value.state, TextState::kTruncated);
}

TEST(Decode, ForeignAbiIsNeverTakenForTheNativeCallOfItsNumber) {
  const auto i386 = operation_of<OtherCall>(Record(5, {1, 2, 3, 4, 5, 6}).flags(WIRE_CALL_I386));
  EXPECT_EQ(i386.foreign, 1);
  EXPECT_EQ(i386.argument5, 6);
  EXPECT_EQ(operation_of<OtherCall>(Record(1, {1}).flags(WIRE_CALL_X32)).foreign, 2);
}

TEST(Decode, AnUnfinishedCallHasNoOutcome) {
  const auto decoded = decode_call(Record(231, {7}).flags(WIRE_CALL_UNFINISHED).bytes());
  ASSERT_TRUE(decoded);
  EXPECT_TRUE(decoded->call.unfinished);
  EXPECT_EQ(std::get<ProcessCall>(decoded->call.operation).argument, 7);
}

// ---- the table ----

TEST(CallTable, CoversExactlyTheRecordedCallsAndBuildsTheOperationsTheFormatNames) {
  // fcntl's operation depends on its command; the format's table names the plain one.
  for (std::uint32_t number = 0; number < kSyscallNumberLimit; ++number) {
    const auto& described = syscall_description(number);
    const CallRow* row = call_row(number);
    ASSERT_EQ(row != nullptr, described.recorded) << syscall_display_name(number);
    if (row == nullptr) continue;
    const auto decoded = decode_call(Record(number, {0, F_SETFL, 0, 0, 0, 0}).bytes());
    ASSERT_TRUE(decoded);
    const auto wire =
        std::visit([](const auto& op) { return std::decay_t<decltype(op)>::kWireNumber; }, decoded->call.operation);
    EXPECT_EQ(wire, described.wire_number) << described.name;
  }
}

TEST(CallTable, EveryArgumentAShapeRefersToIsKept) {
  for (const CallRow& row : call_rows()) {
    for (const std::uint8_t place : {row.shape.text_a, row.shape.text_b}) EXPECT_LE(place, 6) << row.number;
    for (const std::uint8_t file : {row.shape.file, row.shape.file_b})
      if (file != WIRE_FILE_CWD && file != 0) {
        EXPECT_LE(file, row.shape.arguments) << row.number;
      }
  }
}

TEST(CallTable, NumbersWithoutANameAreKeptRaw) {
  std::vector<wire_shape> shapes(WIRE_SHAPE_SLOTS);
  fill_call_shapes(shapes);
  EXPECT_TRUE(shapes[WIRE_SHAPE_RAW].recorded);
  EXPECT_EQ(shapes[WIRE_SHAPE_RAW].arguments, 6);
  EXPECT_FALSE(shapes[*syscall_number("brk")].recorded);
  EXPECT_TRUE(shapes[500].recorded);
}

// ---- records from a stranger ----

TEST(Decode, ARecordCutAtAnyByteIsRefusedOrReadWithoutItsRest) {
  const auto whole = Record(316, {3, 0, 4, 0, 2}).path("from").second("to").bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto decoded = decode_call(std::span(whole).first(length));
    if (decoded) {
      EXPECT_TRUE(std::holds_alternative<Rename>(decoded->call.operation));
    }
  }
  EXPECT_FALSE(decode_call(std::span(whole).first(60)));
  EXPECT_FALSE(decode_call(std::span(whole).first(whole.size() - 1)));
}

TEST(Decode, AnItemOfAnyTypeMayBeEmptyOrShorterThanWhatItStandsFor) {
  for (int type = 0; type <= 32; ++type) {
    for (const std::size_t length : {0, 1, 7}) {
      const auto bytes =
          Record(20, {3, 0x1000, 1}).item(static_cast<std::uint8_t>(type), 0, std::string(length, 'x')).bytes();
      const auto decoded = decode_call(bytes);
      ASSERT_TRUE(decoded) << type;
      EXPECT_TRUE(std::get<Write>(decoded->call.operation).segments.empty()) << type;
    }
  }
}

TEST(Decode, RandomBytesNeverCrash) {
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes(random() % 400);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    (void)decode_call(bytes);
    (void)decode_exec(bytes);
    (void)decode_removal(bytes);
    (void)decode_descriptor(bytes);
  }
}

TEST(Decode, AHeadWhoseSizeIsNotTheRecordsIsNoRecord) {
  auto bytes = Record(0, {1, 2, 3}).bytes();
  EXPECT_EQ(record_kind(bytes), WIRE_CALL);
  bytes.push_back(std::byte{0});
  EXPECT_EQ(record_kind(bytes), 0);
}

}  // namespace
}  // namespace iotape
