// Text output: spelled as strace and blkparse spell it.
#include "format/event_printer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "format/argument_view.h"
#include "format/call_layout.h"
#include "format/enum_names.h"
#include "format/quoting.h"
#include "format/symbols.h"
#include "format/syscall_table.h"

namespace iotape {
namespace {

constexpr ThreadKey kThread{ProcessId(100), ThreadId(101)};

std::string escaped(std::string_view bytes, std::string_view also = {}) {
  std::string out;
  append_c_escaped(out, bytes, also);
  return out;
}

std::string symbols(SymbolTable table, std::int64_t value) {
  std::string out;
  append_symbols(out, table, value);
  return out;
}

FileReference file(std::uint64_t inode, FileKind kind = FileKind::kRegular) {
  return {{DeviceId::of(8, 1), 0, InodeNumber(inode), 0}, kind};
}

// The operation of that wire number, at its defaults.
template <std::size_t Index = 0>
Operation operation_of(std::uint32_t wire_number) {
  if constexpr (Index + 1 < kOperationCount)
    if (std::variant_alternative_t<Index, Operation>::kWireNumber != wire_number)
      return operation_of<Index + 1>(wire_number);
  return Operation(std::in_place_index<Index>);
}

template <typename Op>
Syscall call(std::string_view name, Op operation, OpOutcome outcome = {}) {
  Syscall call;
  call.thread = kThread;
  call.number = syscall_number(name).value();
  call.start = Nanoseconds(1'500'000'100);
  call.duration = Nanoseconds(2'300);
  call.outcome = outcome;
  call.operation = std::move(operation);
  return call;
}

class TextPrinterTest : public testing::Test {
 protected:
  std::string print(EventBody body) {
    std::string out;
    Event event{EventId(count_++), 0, std::move(body)};
    printer_->observe(event);
    printer_->print(out, event);
    return out;
  }
  // Between "name(" and the duration.
  std::string print_call(const Syscall& call) {
    const std::string line = print(call);
    const std::size_t start = line.find(' ', line.find(' ', 5) + 1) + 1;
    return line.substr(start, line.rfind(" <") - start);
  }
  void begin(TraceHeader header) {
    std::string out;
    header.resolution = Nanoseconds(100);
    printer_->begin(out, header);
  }
  void SetUp() override { begin({}); }

  std::unique_ptr<EventPrinter> printer_ = make_text_printer({});
  std::uint64_t count_ = 0;
};

TEST(Quoting, EscapesAsStraceDoes) {
  EXPECT_EQ(escaped("a b"), "a b");
  EXPECT_EQ(escaped("\n\t\v\f\r\"\\"), R"(\n\t\v\f\r\"\\)");
  EXPECT_EQ(escaped(std::string("\0\1\a\x7f\xff", 5)), R"(\0\1\7\177\377)");
  EXPECT_EQ(escaped(std::string("\0"
                                "1",
                                2)),
            R"(\0001)")
      << "three digits when a digit follows";
  EXPECT_EQ(escaped(std::string("\0"
                                "9",
                                2)),
            R"(\09)")
      << "9 is no octal digit";
  EXPECT_EQ(escaped("a<b>", "<>"), R"(a\74b\76)");
}

TEST(Symbols, FlagsChoicesAndUnnamedBits) {
  EXPECT_EQ(symbols(SymbolTable::open_flags, 0), "O_RDONLY");
  EXPECT_EQ(symbols(SymbolTable::open_flags, O_WRONLY | O_CREAT | O_EXCL), "O_WRONLY|O_CREAT|O_EXCL");
  EXPECT_EQ(symbols(SymbolTable::open_flags, O_RDWR | O_SYNC), "O_RDWR|O_SYNC");
  EXPECT_EQ(symbols(SymbolTable::open_flags, O_RDWR | O_DSYNC), "O_RDWR|O_DSYNC");
  EXPECT_EQ(symbols(SymbolTable::open_flags, O_DIRECTORY), "O_RDONLY|O_DIRECTORY");
  EXPECT_EQ(symbols(SymbolTable::open_flags, O_RDWR | 020200000), "O_RDWR|O_TMPFILE");
  EXPECT_EQ(symbols(SymbolTable::open_flags, 0x40000000), "O_RDONLY|0x40000000");
  EXPECT_EQ(symbols(SymbolTable::at_flags, 0), "0");
  EXPECT_EQ(symbols(SymbolTable::whence, 2), "SEEK_END");
  EXPECT_EQ(symbols(SymbolTable::whence, 77), "0x4d");
  EXPECT_EQ(symbols(SymbolTable::access_mode, 6), "R_OK|W_OK");
  EXPECT_EQ(symbols(SymbolTable::fcntl_command, 1030), "F_DUPFD_CLOEXEC");
  EXPECT_EQ(errno_name(2), "ENOENT");
  EXPECT_EQ(errno_name(512), "ERESTARTSYS");
  EXPECT_EQ(errno_name(999), "E999");
}

TEST(CallLayouts, EveryLineOfTheTableIsWellFormedAndNamesARecordedCallAndItsArguments) {
  EXPECT_TRUE(malformed_layouts().empty()) << malformed_layouts().front();
  for (const std::string_view name : calls_with_layout()) {
    if (name.starts_with("fcntl_")) continue;
    const auto number = syscall_number(name);
    ASSERT_TRUE(number) << name;
    EXPECT_TRUE(syscall_description(*number).recorded) << name;
    const Operation operation = operation_of(syscall_description(*number).wire_number);
    const ArgumentList arguments(operation);
    const CallLayout layout = call_layout(name).value();
    for (const LayoutPiece& piece : layout.pieces)
      EXPECT_TRUE(piece.field.empty() || arguments.find(piece.field) != nullptr) << name << ' ' << piece.field;
  }
}

TEST_F(TextPrinterTest, LineHasThreadTimeCallResultErrorAndDuration) {
  Open open;
  open.path.bytes = "a\nb";
  open.path.directory.file = file(2, FileKind::kDirectory);
  open.flags = O_RDONLY | O_CLOEXEC;
  EXPECT_EQ(print(call("openat", open, {-1, ENOENT})),
            "101   1.5000001 openat(AT_FDCWD<8:1:2>, \"a\\nb\", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or "
            "directory) <0.0000023>\n");
}

TEST_F(TextPrinterTest, WallClockIsUsedWhenTheTraceHasAnAnchor) {
  TraceHeader header;
  header.anchor_time = Nanoseconds(1'000'000'000);
  header.anchor_wall_ns = 1'700'000'000'000'000'000;
  begin(header);
  EXPECT_TRUE(print(call("sync", SyncAll{})).starts_with("101   1700000000.5000001 sync() = 0 <"));
  printer_ = make_text_printer({TextClock::kTrace});
  begin(header);
  EXPECT_TRUE(print(call("sync", SyncAll{})).starts_with("101   1.5000001 sync() = 0 <"));
}

TEST_F(TextPrinterTest, FilesAreShownByTheNameTheyWereLastSeenUnder) {
  ProcessContext context;
  context.thread = kThread;
  context.working_directory = {file(2, FileKind::kDirectory), "/home/<x>", false};
  print(context);
  Open open;
  open.path = {TextState::kPresent, "new", {kAtCurrentDirectory, file(2, FileKind::kDirectory)}};
  open.flags = O_WRONLY | O_CREAT | O_TRUNC;
  open.mode = 0666;
  open.opened = file(7);
  EXPECT_EQ(print_call(call("openat", open, {3, 0})),
            "openat(AT_FDCWD</home/\\74x\\76>, \"new\", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</home/\\74x\\76/new>");
  EXPECT_EQ(print_call(call("close", Close{{3, file(7)}})), "close(3</home/\\74x\\76/new>) = 0");
  EXPECT_EQ(print_call(call("close", Close{{0, {}}})), "close(0) = 0");
  EXPECT_EQ(print_call(call("close", Close{{9, file(77, FileKind::kSocket)}})), "close(9<socket:[77]>) = 0");
}

TEST_F(TextPrinterTest, ArgumentsAreSymbolic) {
  Write write;
  write.descriptor = {4, {}};
  write.length = 8;
  write.segments = {5, 3};
  EXPECT_EQ(print_call(call("writev", write, {8, 0})), "writev(4, [{iov_len=5}, {iov_len=3}], 2) = 8");
  write.segments.clear();
  write.position = {0};
  EXPECT_EQ(print_call(call("pwrite64", write, {8, 0})), "pwrite64(4, ..., 8, 0) = 8");
  EXPECT_EQ(print_call(call("write", write, {8, 0})), "write(4, ..., 8 /* position=0 */) = 8")
      << "what strace would not show is a comment";

  SetTimes times;
  times.path = {TextState::kNull, "", {5, {}}};
  times.access = {0, UTIME_NOW};
  times.modification = {17, 5};
  EXPECT_EQ(print_call(call("utimensat", times)), "utimensat(5, NULL, [UTIME_NOW, {tv_sec=17, tv_nsec=5}], 0) = 0");
  times.now = true;
  EXPECT_EQ(print_call(call("utimensat", times)), "utimensat(5, NULL, NULL, 0) = 0");

  EXPECT_EQ(print_call(call("lseek", Seek{{3, {}}, -10, SEEK_END}, {90, 0})), "lseek(3, -10, SEEK_END) = 90");
  EXPECT_EQ(print_call(call("fallocate", Allocate{{3, {}}, 3, 0, 4096})),
            "fallocate(3, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 0, 4096) = 0");
  EXPECT_EQ(print_call(call("fcntl", ControlDescriptor{{3, {}}, F_SETFD, 1})), "fcntl(3, F_SETFD, 0x1) = 0");
  EXPECT_EQ(print_call(call("fcntl", Duplicate{{3, {}}, 10, 0, F_DUPFD_CLOEXEC}, {10, 0})),
            "fcntl(3, F_DUPFD_CLOEXEC, 10) = 10");
  EXPECT_EQ(print_call(call("fcntl", Lock{{3, {}}, F_SETLKW, F_WRLCK, SEEK_SET, 0, 1})),
            "fcntl(3, F_SETLKW, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=0, l_len=1}) = 0");
  EXPECT_EQ(print_call(call("flock", Lock{{3, {}}, 6, 0, 0, 0, 0})), "flock(3, LOCK_EX|LOCK_NB) = 0");
  EXPECT_EQ(print_call(call("umask", SetFileCreationMask{022}, {077, 0})), "umask(022) = 077");
  Unlink unlink;
  unlink.path.bytes = "d";
  unlink.flags = 0x200;
  EXPECT_EQ(print_call(call("unlinkat", unlink)), "unlinkat(AT_FDCWD, \"d\", AT_REMOVEDIR) = 0");
  Transfer transfer;
  transfer.source = {3, {}};
  transfer.destination = {4, {}};
  transfer.source_explicit = true;
  transfer.source_position = {0};
  transfer.length = 9;
  EXPECT_EQ(print_call(call("copy_file_range", transfer, {9, 0})), "copy_file_range(3, [0], 4, NULL, 9, 0) = 9");
  MakeNode node;
  node.path.bytes = "n";
  node.mode = S_IFCHR | 0600;
  node.device = 0x103;
  EXPECT_EQ(print_call(call("mknod", node)), "mknod(\"n\", S_IFCHR|0600, makedev(0x1, 0x3)) = 0");
}

TEST_F(TextPrinterTest, CallWithoutALayoutPrintsEveryArgumentByName) {
  OtherCall other;
  other.argument1 = 255;
  EXPECT_EQ(
      print_call(call("io_submit", other)),
      "io_submit(argument0=0, argument1=0xff, argument2=0, argument3=0, argument4=0, argument5=0, foreign=0) = 0");
  Syscall unknown = call("sync", other);
  unknown.number = 499;
  EXPECT_TRUE(print_call(unknown).starts_with("syscall_499(argument0="));
  Syscall mismatched = call("openat", Close{{3, {}}});
  EXPECT_EQ(print_call(mismatched), "openat(fd=3) = 0") << "a hostile trace may pair any number with any operation";
}

TEST_F(TextPrinterTest, UnfinishedCallsStacksAndReplaysAreTold) {
  Syscall blocked = call("fsync", Sync{{3, {}}});
  blocked.unfinished = true;
  EXPECT_EQ(print_call(blocked), "fsync(3 <unfinished ...>) = ?");
  print(Stack{StackId(4), {"main+0x1 (prog)", "start"}});
  Syscall failed = call("fsync", Sync{{3, {}}}, {-1, EIO});
  failed.user_stack = StackId(4);
  EXPECT_NE(print(failed).find("<0.0000023>\n > main+0x1 (prog)\n > start\n"), std::string::npos);
  Syscall replayed = call("fsync", Sync{{3, {}}}, {-1, EIO});
  replayed.replay = ReplayRecord{EventId(12), Nanoseconds(1'400'000'100), {0, 0}, SkipReason::kIssued};
  EXPECT_NE(print(replayed).find(" /* replays=12 expected=0 late=0.1000000 */"), std::string::npos);
}

TEST_F(TextPrinterTest, RequestsLookLikeBlkparse) {
  TraceHeader header;
  header.anchor_time = Nanoseconds(1'000'000'000);
  begin(header);
  print(ProcessStart{Nanoseconds(0), kThread, {}, 0, true, "tar"});
  BlockRequest request;
  request.device = request.partition = DeviceId::of(7, 0);
  request.operation = BlockOperation::kWrite;
  request.flags = kBlockSync | kBlockForceUnitAccess;
  request.sector = Sectors(0);
  request.bytes = 4096;
  request.issue = Nanoseconds(1'000'000'020);
  request.complete = Nanoseconds(2'000'000'030);
  RequestPart part;
  part.queue = Nanoseconds(1'000'000'010);
  part.bytes = 4096;
  part.flags = kBlockSync;
  part.submitter = part.dirtier = kThread;
  part.file = file(12);
  part.file_offset = 0;
  part.cause = BlockCause::kData;
  request.parts = {part};
  EXPECT_EQ(print(request),
            "  7,0   -        1     0.000000010   101  Q  WS 0 + 8 [tar] cause=data file=<8:1:12> offset=0 "
            "dirtier=101[tar]\n"
            "  7,0   -        2     0.000000020   101  D WFS 0 + 8 [tar]\n"
            "  7,0   -        3     1.000000030   101  C WFS 0 + 8 [0]\n");
}

TEST_F(TextPrinterTest, OtherEventsAreLinesOfTheirOwn) {
  EXPECT_EQ(print(ProcessExit{Nanoseconds(5), kThread, 0, true}), "101   0.0000000 +++ exited with 0 +++\n");
  EXPECT_EQ(print(ProcessExit{Nanoseconds(5), kThread, 9, true}), "101   0.0000000 +++ killed by SIGKILL +++\n");
  EXPECT_EQ(print(Marker{Nanoseconds(1'000'000'000), "half\n"}), "0     1.0000000 --- marker text=\"half\\n\" ---\n");
  Loss loss;
  loss.cause = LossCause::kRingFull;
  loss.last = Nanoseconds(1'000'000'000);
  loss.count = 12;
  EXPECT_EQ(print(loss),
            "0     1.0000000 --- loss cause=ring_full first_ns=0 last_ns=1000000000 cpu=-1 count=12 ---\n");
}

TEST(EnumNames, EveryWordLeadsBackToItsNumber) {
  for (int i = 0; i < kLossCauseCount; ++i) {
    const auto cause = static_cast<LossCause>(i);
    EXPECT_EQ(enum_value<LossCause>(enum_name(cause)), cause);
    EXPECT_FALSE(loss_meaning(cause).empty());
  }
  EXPECT_EQ(operation_name(Operation(MakeDirectory{})), "make_directory");
  EXPECT_EQ(event_kind_name(EventBody(BlockRequest{})), "block_request");
}

}  // namespace
}  // namespace iotape
