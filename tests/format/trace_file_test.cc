// Events written to a trace file come back as they were, whatever happens to the file.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "format/block_frame.h"
#include "format/trace_reader.h"
#include "format/trace_writer.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

using test::ScratchDirectory;

constexpr ThreadKey kThread{ProcessId(100), ThreadId(101)};
constexpr FileReference kFile{{DeviceId::of(7, 1), 0xDEADBEEF, InodeNumber(12), 5}, FileKind::kRegular};
constexpr FileReference kFolder{{DeviceId::of(7, 1), 77, InodeNumber(2), 5}, FileKind::kDirectory};
const WriterOptions kExact{.block_events = kMaximumBlockEvents, .resolution = Nanoseconds(1)};

Syscall call(std::uint32_t number, std::int64_t start, std::int64_t duration, std::int64_t result,
             Operation operation) {
  Syscall made;
  made.thread = kThread;
  made.number = number;
  made.start = Nanoseconds(start);
  made.duration = Nanoseconds(duration);
  made.outcome = OpOutcome::from_kernel(result);
  made.operation = std::move(operation);
  return made;
}

std::unique_ptr<TraceWriter> new_writer(const std::string& path, WriterOptions options, TraceHeader header = {}) {
  FileDescriptor file(::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600));
  auto writer = TraceWriter::create(std::move(file), std::move(header), options);
  EXPECT_TRUE(writer.has_value());
  return std::move(*writer);
}

struct ReadBack {
  TraceHeader header;
  std::vector<Event> events;
  ReadReport report;
};

ReadBack read_all(const std::string& path) {
  ReadBack back;
  auto reader = TraceReader::open(path);
  if (!reader) {
    ADD_FAILURE() << reader.error().message;
    return back;
  }
  for (auto event = (*reader)->next(); event && *event != nullptr; event = (*reader)->next())
    back.events.push_back(**event);
  back.header = (*reader)->header();
  back.report = (*reader)->report();
  return back;
}

// Opens, writes and closes with rising times; event i takes place at i * 1000.
std::vector<EventBody> many_calls(int count) {
  std::vector<EventBody> made;
  for (int i = 0; i < count; ++i) {
    const std::int64_t time = i * std::int64_t{1000};
    FileReference file = kFile;
    file.identity.inode = InodeNumber(static_cast<std::uint64_t>(1000 + i / 3));
    const Descriptor descriptor{3 + i % 2, file};
    const std::string name = "dir" + std::to_string(i % 7) + "/f" + std::to_string(i);
    if (i % 3 == 0)
      made.emplace_back(call(257, time, 10, 3,
                             Open{{TextState::kPresent, name, {kAtCurrentDirectory, kFolder}}, 0100, 0644, 0, file}));
    else if (i % 3 == 1)
      made.emplace_back(call(1, time, 20, 4096, Write{descriptor, 4096, {i * std::int64_t{4096}}, {}, 0, 0, 0}));
    else
      made.emplace_back(call(3, time, 5, 0, Close{descriptor}));
  }
  return made;
}

void write_events(const std::string& path, std::vector<EventBody> events, WriterOptions options) {
  auto writer = new_writer(path, options);
  for (EventBody& event : events) ASSERT_TRUE(writer->append(std::move(event)).has_value());
  ASSERT_TRUE(writer->finish({}).has_value());
}

const Syscall& as_call(const Event& event) { return std::get<Syscall>(event.body); }

TEST(TraceFile, CallsComeBackWithEveryField) {
  const ScratchDirectory scratch;
  Syscall original = call(1, 5000, 700, -28, Write{{4, kFile}, 65536, {1 << 20}, {4096, 0, 61440}, 2, -7, 333});
  original.blocked = Nanoseconds(650);
  original.user_stack = StackId(0);
  original.kernel_stack = StackId(7);
  original.replay = ReplayRecord{EventId(0), Nanoseconds(4990), {65536, 0}, SkipReason::kIssued};
  write_events(scratch / "t", {original}, kExact);
  const ReadBack back = read_all(scratch / "t");
  ASSERT_EQ(back.events.size(), 1U);
  const Syscall& got = as_call(back.events[0]);
  EXPECT_EQ(got.thread, kThread);
  EXPECT_EQ(got.start, Nanoseconds(5000));
  EXPECT_EQ(got.duration, Nanoseconds(700));
  EXPECT_EQ(got.blocked, Nanoseconds(650));
  EXPECT_EQ(got.outcome, OpOutcome::from_kernel(-28));
  EXPECT_EQ(got.user_stack, original.user_stack);
  EXPECT_EQ(got.kernel_stack, original.kernel_stack);
  EXPECT_EQ(got.replay, original.replay);
  const auto& write = std::get<Write>(got.operation);
  EXPECT_EQ(write.descriptor, (Descriptor{4, kFile}));
  EXPECT_EQ(write.segments, (SegmentLengths{4096, 0, 61440}));
  EXPECT_EQ(write.position.value, 1 << 20);
  EXPECT_EQ(write.content_hash, -7);
  EXPECT_EQ(write.content_ratio, 333);
  EXPECT_TRUE(back.report.whole());
  EXPECT_EQ(back.report.totals->syscalls, 1U);
}

TEST(TraceFile, ZeroIsAValueEverywhere) {
  const ScratchDirectory scratch;
  BlockRequest request;
  request.issue = Nanoseconds(0);
  request.parts.emplace_back();
  request.parts[0].file_offset = 0;
  request.parts[0].call_start = Nanoseconds(0);
  FileState state;
  state.size = 0, state.mode = 0, state.directory_position = 0, state.modification_time = 0;
  write_events(scratch / "t", {call(0, 0, 0, 0, Read{{0, {{}, FileKind::kRegular}}, 0, {0}, {}, 0}), request, state},
               kExact);
  const ReadBack back = read_all(scratch / "t");
  ASSERT_EQ(back.events.size(), 3U);
  const auto& read = std::get<Read>(as_call(back.events[0]).operation);
  EXPECT_EQ(read.descriptor.number, 0);
  EXPECT_EQ(read.descriptor.file.kind, FileKind::kRegular);
  EXPECT_EQ(read.position.value, 0);
  const auto& got = std::get<BlockRequest>(back.events[1].body);
  EXPECT_EQ(got.issue, Nanoseconds(0));
  EXPECT_FALSE(got.complete.has_value());
  EXPECT_EQ(got.parts, request.parts);
  EXPECT_EQ(std::get<FileState>(back.events[2].body), state);
}

TEST(TraceFile, RequestsKeepTheirPartsAndTimes) {
  const ScratchDirectory scratch;
  std::vector<EventBody> events;
  for (int i = 0; i < 5; ++i) {
    BlockRequest request;
    request.device = DeviceId::of(8, 0);
    request.partition = DeviceId::of(8, 2);
    request.operation = BlockOperation::kWrite;
    request.flags = kBlockSync | kBlockMetadata;
    request.sector = Sectors((std::int64_t{1} << 62) - i * 1000);
    request.bytes = 8192;
    request.issue = Nanoseconds(1000 + i * 100);
    request.complete = Nanoseconds(1500 + i * 100);
    request.error = i == 3 ? 5 : 0;
    request.requeues = static_cast<std::uint32_t>(i);
    for (int part = 0; part < i; ++part) {
      RequestPart& added = request.parts.emplace_back();
      added = {Nanoseconds(900 - part),
               Sectors(request.sector.value + part * 8),
               4096,
               kBlockSync,
               kThread,
               {ProcessId(1), ThreadId(part)},
               kFile,
               part * 4096 - 1,
               BlockCause::kJournal,
               std::nullopt};
      if (part == 1) added.call_start = Nanoseconds(2000);
    }
    events.emplace_back(request);
  }
  write_events(scratch / "t", events, kExact);
  const ReadBack back = read_all(scratch / "t");
  ASSERT_EQ(back.events.size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto& expected = std::get<BlockRequest>(events[i]);
    const auto& got = std::get<BlockRequest>(back.events[i].body);
    EXPECT_EQ(got.sector, expected.sector);
    EXPECT_EQ(got.issue, expected.issue);
    EXPECT_EQ(got.complete, expected.complete);
    EXPECT_EQ(got.parts, expected.parts);
    EXPECT_EQ(got.error, expected.error);
    EXPECT_EQ(got.requeues, expected.requeues);
    EXPECT_EQ(got.partition, expected.partition);
    EXPECT_EQ(got.flags, expected.flags);
  }
}

TEST(TraceFile, RareEventsComeBackEqual) {
  const ScratchDirectory scratch;
  const Location place{kFolder, "/srv/\xFFname\n", true};
  const FileState state{Nanoseconds(8),
                        StateSource::kRemoval,
                        kFile,
                        kFolder,
                        "n",
                        "/p",
                        1,
                        2,
                        3,
                        4,
                        5,
                        -6,
                        7,
                        8,
                        "t",
                        9,
                        {{"user.a", std::string("\0x", 2)}}};
  const MountInfo mount{
      DeviceId(1), DeviceId(2), "/m", "ext3", "rw", "/sub", 4096, 1, std::array<std::uint32_t, 4>{1, 2, 3, 4}, true};
  const std::vector<EventBody> events{
      ProcessStart{Nanoseconds(1), kThread, {ProcessId(1), ThreadId(1)}, 0xFFFFFFFFFFULL, true, "tar"},
      ProcessExec{Nanoseconds(2), kThread, "rm", {TextState::kHidden, "x"}, {"rm", "-rf", ""}},
      ProcessExit{Nanoseconds(3), kThread, -1, true},
      ProcessContext{Nanoseconds(4), kThread, place, place, 0, 0, 70000},
      InheritedDescriptor{Nanoseconds(5), kThread, {0, kFile}, 02000, 77, true, "/dev/null"},
      state,
      DeviceInfo{DeviceId(8), DeviceId(8), "sda", Sectors(0), Sectors(1LL << 40), true},
      mount,
      Marker{Nanoseconds(9), "begin"},
      Loss{LossCause::kNotCaptured, Nanoseconds(2), Nanoseconds(10), 3, 17, "io_uring"},
      Stack{StackId(0), {"a+0x1 (libc)", "b"}},
  };
  write_events(scratch / "t", events, kExact);
  const ReadBack back = read_all(scratch / "t");
  ASSERT_EQ(back.events.size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i)
    std::visit(
        [&](const auto& event) {
          using Kind = std::remove_cvref_t<decltype(event)>;
          if constexpr (!std::is_same_v<Kind, Syscall> && !std::is_same_v<Kind, BlockRequest>) {
            EXPECT_EQ(std::get<Kind>(back.events[i].body), event) << i;
          }
        },
        events[i]);
  EXPECT_EQ(back.report.losses[static_cast<std::size_t>(LossCause::kNotCaptured)], 17U);
}

TEST(TraceFile, HeaderAndTotalsComeBackEqual) {
  const ScratchDirectory scratch;
  TraceHeader header;
  header.tool_version = "9", header.trace_id[15] = 3, header.clock = ClockKind::kBootTime;
  header.anchor_wall_ns = 1, header.anchor_time = Nanoseconds(2), header.has_block = true;
  header.cache = CacheCondition::kCold, header.ring_bytes = 1 << 26, header.missing_hooks = {{"a", "b"}};
  header.history = {{"record \xFF", "1"}, {"cut", "2"}};  // a file name that is no UTF-8
  auto writer = new_writer(scratch / "t", kExact, header);
  TraceTotals totals;
  totals.seen = 10, totals.losses[0] = 10, totals.end = Nanoseconds(5), totals.workload_status = 256,
  totals.own_calls = 1;
  ASSERT_TRUE(writer->finish(totals).has_value());
  const ReadBack back = read_all(scratch / "t");
  EXPECT_EQ(back.header, header);
  EXPECT_EQ(back.report.totals, totals);
  EXPECT_EQ(back.report.seen, 10U);
  EXPECT_EQ(back.report.lost, 10U);
}

TEST(TraceFile, TimesAreRoundedDownToTheResolution) {
  const ScratchDirectory scratch;
  write_events(scratch / "t", {call(3, 1234, 567, 0, Close{{1, kFile}})}, {.resolution = Nanoseconds(100)});
  const ReadBack back = read_all(scratch / "t");
  EXPECT_EQ(as_call(back.events[0]).start, Nanoseconds(1200));
  EXPECT_EQ(as_call(back.events[0]).duration, Nanoseconds(600));  // it ended at 1801
  EXPECT_EQ(back.header.resolution, Nanoseconds(100));
}

TEST(TraceFile, ExtremeTimesAndNumbersSurvive) {
  const ScratchDirectory scratch;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  write_events(
      scratch / "t",
      {call(8, 0, 0, kMost, Seek{{1, kFile}, kLeast, kMost}), call(8, kMost, 0, 0, Seek{{1, kFile}, kMost, kLeast})},
      kExact);
  const ReadBack back = read_all(scratch / "t");
  ASSERT_EQ(back.events.size(), 2U);
  EXPECT_EQ(std::get<Seek>(as_call(back.events[0]).operation).offset, kLeast);
  EXPECT_EQ(std::get<Seek>(as_call(back.events[1]).operation).whence, kLeast);
  EXPECT_EQ(as_call(back.events[0]).outcome.value, kMost);
  EXPECT_EQ(as_call(back.events[1]).start, Nanoseconds(kMost));
}

TEST(TraceFile, LateEventsAreOrderedInsideTheWindowAndCountedBeyondIt) {
  const ScratchDirectory scratch;
  auto writer =
      new_writer(scratch / "t", {.block_events = 4, .resolution = Nanoseconds(1), .reorder_window = Nanoseconds(100)});
  for (const std::int64_t time : {10, 30, 20, 150, 140, 300, 290})
    ASSERT_TRUE(writer->append(Marker{Nanoseconds(time), "m"}).has_value());
  ASSERT_TRUE(writer->flush().has_value());  // everything up to 200 is settled now
  ASSERT_TRUE(writer->append(Marker{Nanoseconds(5), "m"}).has_value());
  ASSERT_TRUE(writer->finish({}).has_value());
  std::vector<std::int64_t> times;
  for (const Event& event : read_all(scratch / "t").events) times.push_back(std::get<Marker>(event.body).time.value);
  ASSERT_EQ(times.size(), 8U);
  EXPECT_EQ(writer->disordered(), 1U);
  std::erase(times, 5);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
}

TEST(TraceFile, CutAtEveryByteItGivesEveryCompleteBlock) {
  const ScratchDirectory scratch;
  constexpr int kPerBlock = 8;
  write_events(scratch / "t", many_calls(200), {.block_events = kPerBlock, .resolution = Nanoseconds(1)});
  const std::string whole = test::read_file(scratch / "t");
  std::vector<std::size_t> ends;  // of event blocks
  for (std::size_t offset = 0; offset < whole.size();) {
    const auto frame =
        decode_block_frame({reinterpret_cast<const std::uint8_t*>(whole.data()) + offset, whole.size() - offset});
    ASSERT_TRUE(frame.has_value());
    offset += kBlockHeaderBytes + frame->payload_bytes;
    if (frame->kind == BlockKind::kEvents) ends.push_back(offset);
  }
  ASSERT_GE(ends.size(), 20U);
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    test::write_file(scratch / "cut", whole.substr(0, cut));
    const auto complete = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), cut) - ends.begin());
    auto reader = TraceReader::open(scratch / "cut");
    if (!reader) {
      ASSERT_EQ(complete, 0U) << cut;
      continue;
    }
    std::size_t events = 0;
    for (auto event = (*reader)->next(); event && *event != nullptr; event = (*reader)->next()) ++events;
    ASSERT_EQ(events, complete * kPerBlock) << cut;
    ASSERT_TRUE((*reader)->report().interrupted) << cut;
  }
}

TEST(TraceFile, AFlippedBitAnywhereIsReportedWithItsPlaceAndSkipped) {
  const ScratchDirectory scratch;
  constexpr std::size_t kEvents = 60;
  write_events(scratch / "t", many_calls(kEvents), {.block_events = 10, .resolution = Nanoseconds(1)});
  const std::string whole = test::read_file(scratch / "t");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    test::write_file(scratch / "d", damaged);
    const ReadBack back = read_all(scratch / "d");
    ASSERT_EQ(back.report.damage_count, 1U) << at;
    EXPECT_LE(back.report.damage[0].offset, at);
    EXPECT_GT(back.report.damage[0].offset + back.report.damage[0].bytes, at);
    ASSERT_GE(back.events.size() + 10, kEvents) << at;
    const auto lost = back.report.losses[static_cast<std::size_t>(LossCause::kDamagedBlock)];
    ASSERT_EQ(back.events.size() + lost, kEvents) << at;
  }
}

TEST(TraceFile, GarbageBetweenBlocksIsSkipped) {
  const ScratchDirectory scratch;
  constexpr std::size_t kGarbage = 3'000'000;
  write_events(scratch / "t", many_calls(30), {.block_events = 10, .resolution = Nanoseconds(1)});
  const std::string whole = test::read_file(scratch / "t");
  const auto first = decode_block_frame({reinterpret_cast<const std::uint8_t*>(whole.data()), whole.size()});
  const std::size_t cut = kBlockHeaderBytes + first->payload_bytes;
  test::write_file(scratch / "g", whole.substr(0, cut) + std::string(kGarbage, '\x0A') + whole.substr(cut));
  const ReadBack back = read_all(scratch / "g");
  EXPECT_EQ(back.events.size(), 30U);
  ASSERT_EQ(back.report.damage_count, 1U);
  EXPECT_EQ(back.report.damage[0].offset, cut);
  EXPECT_EQ(back.report.damage[0].bytes, kGarbage);
}

TEST(TraceFile, SomethingElseIsRefused) {
  const ScratchDirectory scratch;
  test::write_file(scratch / "x", "this is no trace");
  const auto reader = TraceReader::open(scratch / "x");
  ASSERT_FALSE(reader.has_value());
  EXPECT_EQ(reader.error().code, ErrorCode::kCorrupt);
  EXPECT_FALSE(TraceReader::open(scratch / "missing").has_value());
}

TEST(TraceFile, NamesAreBytes) {
  const ScratchDirectory scratch;
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte) every_byte.push_back(static_cast<char>(byte));
  std::string deep;
  while (deep.size() < 4090) deep += "x/";
  const std::vector<std::string> names{
      "",  " ",  "a b", "new\nline", "quote\"'", "\xFF\xFE", std::string(255, 'n'), every_byte, deep + "leaf!",
      "/", "//", "/a/", "a/",        "../..",    "x\\y"};
  std::vector<EventBody> events;
  for (const std::string& name : names) {
    events.emplace_back(call(87, 0, 0, 0, Unlink{{TextState::kPresent, name, {5, kFolder}}, 0}));
    events.emplace_back(call(88, 0, 0, 0, SymbolicLink{Text::of(name), {TextState::kPresent, name, {}}}));
  }
  write_events(scratch / "t", events, kExact);
  const ReadBack back = read_all(scratch / "t");
  ASSERT_EQ(back.events.size(), events.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(std::get<Unlink>(as_call(back.events[2 * i]).operation).path.bytes, names[i]);
    EXPECT_EQ(std::get<SymbolicLink>(as_call(back.events[2 * i + 1]).operation).target.bytes, names[i]);
  }
}

}  // namespace
}  // namespace iotape
