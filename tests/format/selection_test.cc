#include "format/selection.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "format/command/selection_options.h"

namespace iotape {
namespace {

constexpr std::uint32_t kOpenat = 257;
constexpr std::uint32_t kRead = 0;
const ThreadKey kTar{ProcessId(100), ThreadId(100)};
const FileReference kFile{{DeviceId::of(7, 0), 1, InodeNumber(12), 0}, FileKind::kRegular};

Syscall open_call(const std::string& path, std::int64_t start) {
  Syscall call;
  call.thread = kTar;
  call.number = kOpenat;
  call.start = Nanoseconds(start);
  call.duration = Nanoseconds(10);
  call.operation = Open{{TextState::kPresent, path, {}}, 0, 0, 0, kFile};
  return call;
}

Syscall read_call() {
  Syscall call;
  call.thread = kTar;
  call.number = kRead;
  call.operation = Read{{3, kFile}, 4096, {}, {}, 0};
  return call;
}

BlockRequest request(DeviceId device, BlockOperation operation, FileReference file = {}) {
  BlockRequest made;
  made.device = made.partition = device;
  made.operation = operation;
  made.issue = Nanoseconds(50);
  RequestPart part;
  part.submitter = kTar;
  part.file = file;
  made.parts.push_back(part);
  return made;
}

TEST(Selection, WithoutOptionsEverythingIsSelected) {
  Selector selector({}, Nanoseconds(0));
  EXPECT_EQ(selector.judge(open_call("/a", 0)), Selected::kYes);
  EXPECT_EQ(selector.judge(request(DeviceId::of(7, 0), BlockOperation::kFlush)), Selected::kYes);
  EXPECT_EQ(selector.judge(Marker{}), Selected::kYes);
  EXPECT_EQ(selector.judge(DeviceInfo{}), Selected::kContext);
}

TEST(Selection, NeighbouringRangesCountAnEventOnce) {
  SelectionOptions before;
  before.to = Nanoseconds(110);
  SelectionOptions after;
  after.from = Nanoseconds(110);
  Selector first(before, Nanoseconds(1000));
  Selector second(after, Nanoseconds(1000));
  const Syscall on_the_border = open_call("/a", 1100);
  EXPECT_EQ(first.judge(on_the_border), Selected::kNo);
  EXPECT_EQ(second.judge(on_the_border), Selected::kYes);
}

TEST(Selection, DevicesAreKnownByNumberNameAndPath) {
  for (const std::string name : {"8:16", "sdb", "/dev/sdb"}) {
    SelectionOptions options;
    options.devices = {name};
    Selector selector(options, {});
    DeviceInfo info;
    info.device = DeviceId::of(8, 16);
    info.name = "sdb";
    (void)selector.judge(info);
    EXPECT_EQ(selector.judge(request(DeviceId::of(8, 16), BlockOperation::kRead)), Selected::kYes) << name;
    EXPECT_EQ(selector.judge(request(DeviceId::of(8, 1), BlockOperation::kRead)), Selected::kNo) << name;
    EXPECT_EQ(selector.judge(open_call("/a", 0)), Selected::kNo) << "a device leaves calls out";
  }
}

TEST(Selection, NamingACallLeavesRequestsOut) {
  SelectionOptions options;
  options.syscalls = {kOpenat};
  Selector selector(options, {});
  EXPECT_EQ(selector.judge(open_call("/a", 0)), Selected::kYes);
  EXPECT_EQ(selector.judge(read_call()), Selected::kNo);
  EXPECT_EQ(selector.judge(request(DeviceId::of(8, 0), BlockOperation::kRead)), Selected::kNo);
  EXPECT_FALSE(selector.wants_requests());
}

TEST(Selection, ProcessesAreKnownByIdAndCommand) {
  for (const std::string name : {"100", "tar"}) {
    SelectionOptions options;
    options.processes = {name};
    Selector selector(options, {});
    EXPECT_EQ(selector.judge(ProcessExec{{}, kTar, "tar", {}, {}}), Selected::kContext);
    EXPECT_EQ(selector.judge(read_call()), Selected::kYes) << name;
    Syscall other = read_call();
    other.thread = {ProcessId(7), ThreadId(7)};
    EXPECT_EQ(selector.judge(other), Selected::kNo);
    EXPECT_EQ(selector.judge(request(DeviceId::of(8, 0), BlockOperation::kRead)), Selected::kYes);
  }
}

TEST(Selection, APathSelectsWhatItsFileDoesLater) {
  for (const std::string pattern : {"/srv/data", "/srv/*/x.db", "x.db", "*.db"}) {
    SelectionOptions options;
    options.paths = {pattern};
    Selector selector(options, {});
    EXPECT_EQ(selector.judge(read_call()), Selected::kNo) << "not yet known";
    EXPECT_EQ(selector.judge(open_call("/srv/other/y", 0)), Selected::kNo);
    EXPECT_EQ(selector.judge(open_call("/srv/data/x.db", 0)), Selected::kYes) << pattern;
    EXPECT_EQ(selector.judge(read_call()), Selected::kYes);
    EXPECT_EQ(selector.judge(request(DeviceId::of(8, 0), BlockOperation::kWrite, kFile)), Selected::kYes);
    EXPECT_EQ(selector.judge(request(DeviceId::of(8, 0), BlockOperation::kWrite)), Selected::kNo);
  }
}

std::string parse_selection(std::vector<std::string> words, SelectionOptions& options, std::vector<std::string>& rest) {
  CLI::App app;
  add_selection_options(app, options);
  app.add_option("T", rest);
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return {};
}

TEST(SelectionOptions, TakeOneValueEachAndLeaveTheTraceAlone) {
  SelectionOptions options;
  std::vector<std::string> rest;
  ASSERT_EQ(parse_selection({"--device", "sda", "--device", "sdb", "--op", "read,write", "--from", "1.5s", "--syscall",
                             "openat", "a.iotape", "b.iotape"},
                            options, rest),
            "");
  EXPECT_EQ(options.devices, (std::vector<std::string>{"sda", "sdb"}));
  EXPECT_EQ(options.operations, (std::vector<BlockOperation>{BlockOperation::kRead, BlockOperation::kWrite}));
  EXPECT_EQ(options.from, Nanoseconds(1'500'000'000));
  EXPECT_EQ(options.syscalls, std::vector<std::uint32_t>{kOpenat});
  EXPECT_EQ(rest, (std::vector<std::string>{"a.iotape", "b.iotape"}));
}

TEST(SelectionOptions, ATypoNamesTheNearestWord) {
  SelectionOptions options;
  std::vector<std::string> rest;
  EXPECT_NE(parse_selection({"--op", "wrte"}, options, rest).find("did you mean write?"), std::string::npos);
  EXPECT_NE(parse_selection({"--syscall", "opneat"}, options, rest).find("did you mean openat?"), std::string::npos);
  EXPECT_NE(parse_selection({"--from", "soon"}, options, rest).find("not a duration"), std::string::npos);
}

TEST(Selection, TellsWhichWordsNothingAgreedWith) {
  SelectionOptions options;
  options.paths = {"/a", "/nowhere"};
  options.processes = {"100", "nobody"};
  options.devices = {"7:0", "sd z"};
  Selector selector(options, {});
  EXPECT_EQ(selector.unmatched().size(), 6U);
  (void)selector.judge(open_call("/a", 0));
  (void)selector.judge(request(DeviceId::of(7, 0), BlockOperation::kWrite));
  EXPECT_EQ(selector.unmatched(), (std::vector<std::string>{"--device 'sd z'", "--process nobody", "--path /nowhere"}));
}

TEST(Names, ComponentsThatSayNothingAreLeftOut) {
  NameTracker names;
  ProcessContext context;
  context.thread = kTar;
  context.working_directory = {{{DeviceId::of(7, 0), 1, InodeNumber(2), 0}, FileKind::kDirectory}, "/srv/.", false};
  names.observe(context);
  const auto absolute = [&](const std::string& bytes) {
    PathArgument path;
    path.bytes = bytes;
    path.directory = {kAtCurrentDirectory, context.working_directory.file};
    return names.absolute(path);
  };
  EXPECT_EQ(absolute("."), "/srv");
  EXPECT_EQ(absolute("./a//b/."), "/srv/a/b");
  EXPECT_EQ(absolute("/./."), "/");
  EXPECT_EQ(absolute("a/../.b/..c"), "/srv/a/../.b/..c") << "what .. means a link decides";
}

}  // namespace
}  // namespace iotape
