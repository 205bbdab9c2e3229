// The leaves: byte order, typos, command lines.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <limits>

#include "format/base/byte_order.h"
#include "format/base/command.h"
#include "format/base/file_time.h"
#include "format/base/strong_id.h"
#include "format/base/units.h"
#include "format/quoting.h"
#include "tests/support/test_support.h"

namespace iotape {
namespace {

using testing::HasSubstr;

template <typename T, std::size_t N>
std::array<unsigned char, N> bytes_of(const T& value) {
  static_assert(sizeof(T) == N);
  std::array<unsigned char, N> bytes{};
  std::memcpy(bytes.data(), &value, N);
  return bytes;
}

TEST(FileTime, SecondsBeyondWhatNanosecondsTellBecomeTheNearest) {
  EXPECT_EQ(file_time_nanoseconds(-2, 500'000'000), -1'500'000'000);
  EXPECT_EQ(file_time_nanoseconds(9'000'000'000'000, 0), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(file_time_nanoseconds(-9'000'000'000'000, 1), std::numeric_limits<std::int64_t>::min());
}

TEST(Quantity, SumsAndDifferencesWrap) {
  constexpr Nanoseconds kLatest(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(kLatest + Nanoseconds(1), Nanoseconds(std::numeric_limits<std::int64_t>::min()));
  EXPECT_EQ(Nanoseconds(std::numeric_limits<std::int64_t>::min()) - Nanoseconds(1), kLatest);
}

TEST(ByteOrder, StorageIsInTheNamedOrderAndValuesComeBack) {
  EXPECT_EQ((bytes_of<le32, 4>(0x01020304U)), (std::array<unsigned char, 4>{4, 3, 2, 1}));
  EXPECT_EQ((bytes_of<be32, 4>(0x01020304U)), (std::array<unsigned char, 4>{1, 2, 3, 4}));
  EXPECT_EQ((bytes_of<be16, 2>(std::uint16_t{0x0102})), (std::array<unsigned char, 2>{1, 2}));
  EXPECT_EQ((bytes_of<be64, 8>(std::uint64_t{0x0102030405060708})),
            (std::array<unsigned char, 8>{1, 2, 3, 4, 5, 6, 7, 8}));
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63U}) {
    EXPECT_EQ(std::uint64_t{le64(value)}, value);
    EXPECT_EQ(std::uint64_t{be64(value)}, value);
  }
}

TEST(Units, SizesArePowersOf1024) {
  EXPECT_EQ(parse_size("0").value(), 0U);
  EXPECT_EQ(parse_size("4096").value(), 4096U);
  EXPECT_EQ(parse_size("64K").value(), 65536U);
  EXPECT_EQ(parse_size("64k").value(), 65536U);
  EXPECT_EQ(parse_size("1.5G").value(), 1610612736U);
  EXPECT_EQ(parse_size("2MiB").value(), 2097152U);
  EXPECT_EQ(parse_size("1TB").value(), 1ULL << 40U);
  for (const char* bad : {"", "K", "-1", "1X", "1 K", "1e999", "12KK", "99999999999T", "1.2.3", "0x10"})
    EXPECT_FALSE(parse_size(bad)) << bad;
  EXPECT_THAT(parse_size("12parsecs").error().message, HasSubstr("K, M, G or T"));
}

TEST(Units, DurationsAndSpeeds) {
  EXPECT_EQ(parse_duration("100ns").value().value, 100);
  EXPECT_EQ(parse_duration("5us").value().value, 5'000);
  EXPECT_EQ(parse_duration("2ms").value().value, 2'000'000);
  EXPECT_EQ(parse_duration("1.5s").value().value, 1'500'000'000);
  EXPECT_EQ(parse_duration("3").value().value, 3'000'000'000);
  EXPECT_EQ(parse_duration("10m").value().value, 600'000'000'000);
  EXPECT_EQ(parse_duration("1h").value().value, 3'600'000'000'000);
  EXPECT_EQ(parse_duration("0").value().value, 0);
  for (const char* bad : {"", "s", "-1s", "1d", "999999999h"}) EXPECT_FALSE(parse_duration(bad)) << bad;
  EXPECT_DOUBLE_EQ(parse_speed("2x").value(), 2.0);
  EXPECT_DOUBLE_EQ(parse_speed("0.5x").value(), 0.5);
  for (const char* bad : {"", "x", "2", "0x", "-1x", "nanx", "infx", "1e-300x", "1e300x", "0.0000001x"})
    EXPECT_FALSE(parse_speed(bad)) << bad;
}

TEST(Units, FiguresAreReadable) {
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(4096), "4.00 KiB");
  EXPECT_EQ(format_duration(Nanoseconds(1'230'000)), "1.23 ms");
  EXPECT_EQ(format_duration(Nanoseconds(0)), "0 ns");
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(12345), "12,345");
  EXPECT_EQ(format_count(1234567890), "1,234,567,890");
}

TEST(NearestWord, FindsTyposButNotOtherWords) {
  const std::vector<std::string> words{"record", "replay", "recover", "seeks"};
  EXPECT_EQ(nearest_word("recrod", words), "record");
  EXPECT_EQ(nearest_word("seek", words), "seeks");
  EXPECT_EQ(nearest_word("replya", words), "replay");
  EXPECT_EQ(nearest_word("banana", words), "");
  EXPECT_EQ(nearest_word("", words), "");
}

// A file in memory to give a command as its terminal.
class Captured {
 public:
  Captured() : file_(::open_memstream(&text_, &size_)) {}
  ~Captured() {
    std::fclose(file_);
    std::free(text_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  [[nodiscard]] std::FILE* file() const { return file_; }
  [[nodiscard]] std::string text() const {
    std::fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

struct Parsed {
  int status;
  std::string out;
  std::string err;
  Terminal terminal;
  std::string name;
};

Parsed parse(std::vector<std::string> arguments) {
  const Captured out;
  const Captured err;
  Terminal terminal;
  terminal.out = out.file();
  terminal.err = err.file();
  CLI::App app("For the test", "iotape test");
  std::string name;
  add_common_options(app, terminal);
  app.add_option("--device", name, "A device");
  CommandCall call{std::move(arguments), &terminal};
  const int status = parse_arguments(app, call);
  return {status, out.text(), err.text(), terminal, name};
}

TEST(CommandLine, HelpAndVersionGoToStdoutWithZero) {
  for (const char* flag : {"-h", "--help"}) {
    const Parsed help = parse({flag});
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.out, HasSubstr("--device"));
    EXPECT_EQ(help.err, "");
  }
  EXPECT_THAT(parse({"--version"}).out, HasSubstr("iotape "));
}

TEST(CommandLine, UsageErrorsGoToStderrWithTwoAndNameTheNearest) {
  const Parsed typo = parse({"--devise", "x"});
  EXPECT_EQ(typo.status, 2);
  EXPECT_EQ(typo.out, "");
  EXPECT_THAT(typo.err, HasSubstr("did you mean --device?"));
  EXPECT_EQ(parse({"--width", "1"}).status, 2);
  EXPECT_EQ(parse({"--color", "blue"}).status, 2);
}

TEST(CommandLine, GoodWordsGoOn) {
  const Parsed good = parse({"--device", "loop0", "-q", "-v", "-v", "--width", "100", "--ascii"});
  EXPECT_EQ(good.status, -1) << good.err;
  EXPECT_EQ(good.name, "loop0");
  EXPECT_TRUE(good.terminal.quiet);
  EXPECT_EQ(good.terminal.verbose, 2);
  EXPECT_EQ(good.terminal.width, 100);
  EXPECT_TRUE(good.terminal.ascii);
}

TEST(CommandLine, ErrorCodesHaveTheirExitStatus) {
  const Captured err;
  Terminal terminal;
  terminal.err = err.file();
  const auto status = [&](ErrorCode code) { return report_error(terminal, "test", {code, "what went wrong"}); };
  EXPECT_EQ(status(ErrorCode::kUsage), 2);
  EXPECT_EQ(status(ErrorCode::kIo), 1);
  EXPECT_EQ(status(ErrorCode::kCorrupt), 4);
  EXPECT_EQ(status(ErrorCode::kUnsupported), 1);
  EXPECT_EQ(status(ErrorCode::kInterrupted), 130);
  EXPECT_THAT(err.text(), HasSubstr("iotape test: what went wrong\n"));
}

TEST(ShellWords, ComeBackAsTheyWereAndMoveNoCursor) {
  EXPECT_EQ(shell_word("a/b-1.iotape"), "a/b-1.iotape");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("two words"), "'two words'");
  for (const std::string& name : {std::string("it's"), std::string("$(x) `y` \\ \"z\""), std::string("a\nb\t'c"),
                                  std::string("\x1b[2J"), std::string("\xff\xfe"),
                                  std::string("\xc2\x9b"
                                              "31m"),
                                  std::string("\xc3\xa4"),
                                  std::string("\x01"
                                              "7"),
                                  std::string("~"), std::string("-n")}) {
    const std::string word = shell_word(name);
    for (const char letter : word) EXPECT_TRUE(static_cast<unsigned char>(letter) >= ' ' && letter != 0x7F) << word;
    EXPECT_EQ(test::run_shell("printf %s " + word).out, name == "-n" ? "-n" : name) << word;
  }
}

TEST(ErrorMessages, ShowControlBytesOfNames) {
  const test::CommandOutput output = test::run_program({IOTAPE_BINARY, "info", "no\x1b[31m\nsuch"});
  EXPECT_EQ(output.status, 1);
  EXPECT_EQ(output.err.find('\x1b'), std::string::npos);
  EXPECT_THAT(output.err, testing::HasSubstr("no\\x1b[31m\\x0asuch"));
}

}  // namespace
}  // namespace iotape
