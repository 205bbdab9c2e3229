#include "tests/support/sample_events.h"

#include <limits>
#include <tuple>

namespace iotape::test {
namespace {

constexpr std::int64_t kExtremes[] = {
    1, -1, 127, 128, -129, 4096, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};

std::vector<FileReference> file_variants() {
  return {{{DeviceId::of(8, 1), 0, InodeNumber(0), 0}, FileKind::kRegular},
          {{DeviceId::of(0, 42), 7, InodeNumber(~0ULL), 256}, FileKind::kDirectory},
          {{DeviceId::of(0, 0), ~0U, InodeNumber(1), ~0ULL}, FileKind::kAnonymous}};
}

// Values of each argument type that differ from its default, each in one part.
void variants(std::int64_t*, auto&& emit) {
  for (const std::int64_t value : kExtremes) emit(value);
}
void variants(bool*, auto&& emit) { emit(true); }
void variants(FileReference*, auto&& emit) {
  for (const FileReference& file : file_variants()) emit(file);
}
void variants(Descriptor*, auto&& emit) {
  for (const std::int32_t number :
       {0, 3, kAtCurrentDirectory, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()})
    emit(Descriptor{number, {}});
  for (const FileReference& file : file_variants()) emit(Descriptor{3, file});
}
void variants(FilePosition*, auto&& emit) {
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{5}, std::numeric_limits<std::int64_t>::max()})
    emit(FilePosition{value});
}
void variants(TimeArgument*, auto&& emit) {
  for (const std::int64_t value : kExtremes) emit(TimeArgument{value, 0}), emit(TimeArgument{0, value});
  emit(TimeArgument{0, (1L << 30) - 1});
  emit(TimeArgument{0, (1L << 30) - 2});
}
void variants(SegmentLengths*, auto&& emit) {
  emit(SegmentLengths{0});
  emit(SegmentLengths{1, 0, -5, 1L << 40});
  emit(SegmentLengths(1024, 4096));
}
void variants(Text*, auto&& emit) {
  for (int state = 1; state < kTextStateCount; ++state) emit(Text{static_cast<TextState>(state), {}});
  for (const std::string& name : difficult_names()) emit(Text::of(name));
  emit(Text{TextState::kTruncated, "beginning"});
}
void variants(PathArgument*, auto&& emit) {
  for (int state = 1; state < kTextStateCount; ++state) emit(PathArgument{static_cast<TextState>(state), {}, {}});
  for (const std::string& name : difficult_names()) emit(PathArgument{TextState::kPresent, name, {}});
  emit(PathArgument{TextState::kTruncated, "beginning", {}});
  variants(static_cast<Descriptor*>(nullptr), [&](const Descriptor& directory) {
    emit(PathArgument{TextState::kPresent, "x", directory});
  });
}

template <typename Op>
void one_changed(std::vector<Operation>& all) {
  const Op untouched;
  all.push_back(untouched);
  for_each_field(untouched, [&](const auto& description, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    variants(static_cast<Member*>(nullptr), [&](const Member& value) {
      Op changed;
      changed.*(description.member) = value;
      all.push_back(std::move(changed));
    });
  });
}

template <std::size_t... Index>
void every_operation(std::vector<Operation>& all, std::index_sequence<Index...>) {
  (one_changed<std::variant_alternative_t<Index, Operation>>(all), ...);
}

constexpr ThreadKey kThread{ProcessId(100), ThreadId(101)};

FileReference sample_file(std::uint64_t inode) {
  return {{DeviceId::of(259, 3), 77, InodeNumber(inode), 5}, FileKind::kRegular};
}

Syscall full_call() {
  Syscall call;
  call.thread = kThread;
  call.number = 257;
  call.start = Nanoseconds(1'000'000'100);
  call.duration = Nanoseconds(12'300);
  call.blocked = Nanoseconds(400);
  call.outcome = {-1, 2};
  call.operation = Open{{TextState::kPresent, "a/b", {5, sample_file(9)}}, 0101, 0644, 8, sample_file(10)};
  call.user_stack = StackId(0);
  call.kernel_stack = StackId(7);
  call.replay = ReplayRecord{EventId(0), Nanoseconds(1'000'000'000), {3, 0}, SkipReason::kRefused};
  return call;
}

BlockRequest full_request() {
  RequestPart part;
  part.queue = Nanoseconds(1'000'000'000);
  part.sector = Sectors(8);
  part.bytes = 4096;
  part.flags = kBlockSync | kBlockAtomic;
  part.submitter = kThread;
  part.dirtier = {ProcessId(1), ThreadId(2)};
  part.file = sample_file(12);
  part.file_offset = 0;
  part.cause = BlockCause::kSwap;
  part.call_start = Nanoseconds(0);
  BlockRequest request;
  request.device = DeviceId::of(8, 0);
  request.partition = DeviceId::of(8, 1);
  request.operation = BlockOperation::kOther;
  request.flags = kBlockMetadata;
  request.sector = Sectors(8);
  request.bytes = 8192;
  request.issue = Nanoseconds(1'000'000'200);
  request.complete = Nanoseconds(1'000'000'300);
  request.error = 5;
  request.requeues = 2;
  request.parts = {part, RequestPart{}};
  return request;
}

FileState full_state() {
  FileState state;
  state.time = Nanoseconds(1'000'000'000);
  state.source = StateSource::kInferred;
  state.file = sample_file(20);
  state.parent = sample_file(21);
  state.name = "n\xff";
  state.path = "/p/n\xff";
  state.size = 0;
  state.mode = 0100644;
  state.links = 0;
  state.user = 0;
  state.group = 4'294'967'295U;
  state.modification_time = -1;
  state.blocks = 0;
  state.special_device = 0;
  state.link_target = "";
  state.directory_position = 0;
  state.xattrs = {{"user.a", std::string("\0\1", 2)}, {"user.b", ""}};
  return state;
}

template <typename T>
bool same(const T& a, const T& b) {
  return a == b;
}
bool same(const Syscall& a, const Syscall& b) {
  const auto tied = [](const Syscall& c) {
    return std::tie(c.thread, c.number, c.interface, c.start, c.duration, c.blocked, c.outcome, c.unfinished,
                    c.user_stack, c.kernel_stack, c.replay);
  };
  const auto same_operation = [&](const auto& op) {
    const auto& other = std::get<std::remove_cvref_t<decltype(op)>>(b.operation);
    bool equal = true;
    for_each_field(op, [&](const auto& description, const auto& member) {
      equal = equal && member == other.*(description.member);
    });
    return equal;
  };
  return tied(a) == tied(b) && a.operation.index() == b.operation.index() && std::visit(same_operation, a.operation);
}
bool same(const BlockRequest& a, const BlockRequest& b) {
  const auto tied = [](const BlockRequest& r) {
    return std::tie(r.device, r.partition, r.operation, r.flags, r.sector, r.bytes, r.issue, r.complete, r.error,
                    r.requeues, r.parts);
  };
  return tied(a) == tied(b);
}

}  // namespace

std::vector<std::string> difficult_names() {
  std::string deep;
  while (deep.size() + 256 <= 4095) deep += '/' + std::string(255, 'x');
  deep.resize(4095, 'y');
  return {"",          " ",
          "a b",       "line\nbreak",
          "quote\"'`", "back\\slash",
          "\xff\xfe",  "\x80",
          "tab\t",     "\xc3\xa4\xe2\x82\xac",
          "/",         ".",
          "..",        std::string(255, '\xfe'),
          deep,        std::string("nul\0inside", 10)};
}

std::vector<Operation> operations_with_one_argument_changed() {
  std::vector<Operation> all;
  every_operation(all, std::make_index_sequence<kOperationCount>{});
  return all;
}

std::vector<EventBody> sample_events() {
  Syscall unfinished;
  unfinished.unfinished = true;
  unfinished.interface = CallInterface::kPageFault;
  const Nanoseconds now(1'000'000'000);
  return {DeviceInfo{DeviceId::of(8, 1), DeviceId::of(8, 0), "sda1", Sectors(2048), Sectors(1L << 40), true,
                     DeviceId::of(259, 3)},
          DeviceInfo{},
          MountInfo{DeviceId::of(8, 1), DeviceId::of(8, 1), "/m nt", "ext4", "rw,data=ordered", "/sub", 4096, 0,
                    std::array<std::uint32_t, 4>{0, 1, 2, ~0U}, true},
          MountInfo{},
          ProcessStart{now, kThread, {ProcessId(1), ThreadId(1)}, ~0ULL, true, "tar \"x\""},
          ProcessStart{},
          ProcessExec{now, kThread, "tar", {TextState::kHidden, ""}, {"tar", "", "x\xff"}},
          ProcessExec{},
          ProcessContext{now, kThread, {sample_file(1), "/home", true}, {sample_file(2), "/", false}, 0, 1000, 100},
          ProcessContext{},
          InheritedDescriptor{now, kThread, {0, sample_file(3)}, 0100001, 1L << 40, true, "/dev/tty"},
          InheritedDescriptor{},
          full_state(),
          FileState{},
          Stack{StackId(0), {"main+0x1", "a b", "\xff"}},
          Stack{StackId(7), {}},
          full_call(),
          unfinished,
          Syscall{},
          full_request(),
          BlockRequest{},
          Marker{now, "half way, \"quoted\"\n"},
          Marker{},
          Loss{LossCause::kPartMap, Nanoseconds(5), now, 0, ~0ULL, "why"},
          Loss{},
          ProcessExit{now, kThread, 0x8b, true},
          ProcessExit{}};
}

TraceHeader sample_header() {
  TraceHeader header;
  header.tool_version = "9.9";
  for (std::size_t i = 0; i < header.trace_id.size(); ++i) header.trace_id[i] = static_cast<std::uint8_t>(i * 17);
  header.clock = ClockKind::kBootTime;
  header.anchor_time = Nanoseconds(500'000'000);
  header.anchor_wall_ns = 1'700'000'000'000'000'000;
  header.resolution = Nanoseconds(100);
  header.has_syscalls = header.has_block = true;
  header.cache = CacheCondition::kCold;
  header.ring_bytes = 64U << 20U;
  header.calibrated_cost = Nanoseconds(210);
  header.cpus = 2;
  header.memory_bytes = 8ULL << 30U;
  header.kernel = "6.18";
  header.target = "null:";
  header.source_command = "tar xf a.tar";
  header.missing_hooks = {{"block_rq_requeue", "no such tracepoint"}};
  header.history = {{"record -- tar xf a.tar", "9.9"}};
  return header;
}

TraceTotals sample_totals() {
  TraceTotals totals;
  totals.seen = 12;
  totals.written = 8;
  totals.syscalls = 5;
  totals.requests = 3;
  for (std::size_t i = 0; i < totals.losses.size(); ++i) totals.losses[i] = i;
  totals.end = Nanoseconds(2'000'000'000);
  totals.recorder_cpu = Nanoseconds(1'000'000);
  totals.workload_status = 256;
  totals.own_calls = 1;
  totals.own_requests = 2;
  totals.space_before = 0;
  totals.space_after = ~0ULL;
  return totals;
}

bool same_event(const EventBody& a, const EventBody& b) {
  if (a.index() != b.index()) return false;
  return std::visit([&](const auto& body) { return same(body, std::get<std::remove_cvref_t<decltype(body)>>(b)); }, a);
}

}  // namespace iotape::test
