#include "replayer/ext3/directory/name_hash.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/test_support.h"

namespace iotape::ext3 {
namespace {

using Seed = std::array<std::uint32_t, 4>;
constexpr Seed kNoSeed{};
// The bytes 00 11 22 .. ff, read as the superblock's little-endian words.
constexpr Seed kVectorSeed{0x33221100, 0x77665544, 0xBBAA9988, 0xFFEEDDCC};

// Versions as libext2fs counts them: 0 to 2 signed, 3 to 5 unsigned.
NameHash hash_of(int version, const Seed& seed, std::string_view name) {
  return hash_name(static_cast<HashVersion>(version % 3), version >= 3, seed, name);
}
std::string shown(NameHash hash) { return fmt::format("{:08x}:{:08x}", hash.major, hash.minor); }

std::string unescaped(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\';
    std::uint8_t byte = static_cast<std::uint8_t>(text[i]);
    if (escape) std::from_chars(text.data() + i + 2, text.data() + i + 4, byte, 16);
    bytes += static_cast<char>(byte);
    if (escape) i += 3;
  }
  return bytes;
}

int expect_each(std::istream& expected, const Seed& seed, const std::string& name) {
  int checked = 0;
  for (std::string word; expected >> word; ++checked)
    EXPECT_EQ(shown(hash_of(word[0] - '0', seed, name)), word.substr(2)) << name << " version " << word[0];
  return checked;
}

TEST(NameHash, EqualsWhatLibext2fsComputes) {
  std::istringstream lines(test::read_file(IOTAPE_SOURCE_DIR "/tests/ext3/data/dirhash_vectors.txt"));
  int checked = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream rest(line);
    std::string kind;
    rest >> kind;
    std::string name(255, 'z');
    if (kind != "z*255") {
      const auto open = line.find('|');
      const auto close = line.rfind('|');
      name = unescaped(line.substr(open + 1, close - open - 1));
      rest.seekg(static_cast<std::streamoff>(close + 1));
    }
    checked += expect_each(rest, kind == "seed" ? kVectorSeed : kNoSeed, name);
  }
  EXPECT_EQ(checked, 90);
}

std::string random_name(std::mt19937& random) {
  // What debugfs reads as one word: no quote, backslash, blank or line end.
  std::string name(1 + random() % 255, '\0');
  for (char& c : name) c = static_cast<char>(random() % 3 == 0 ? 0x80 + random() % 0x80 : 'a' + random() % 26);
  return name;
}

TEST(NameHash, EqualsDebugfsForRandomNames) {
  std::mt19937 random(7);
  const test::ScratchDirectory scratch;
  std::string commands;
  std::vector<std::string> expected;
  for (int i = 0; i < 600; ++i) {
    const std::string name = random_name(random);
    const bool seeded = i % 2 == 0;
    commands +=
        fmt::format("dx_hash -h {} {} {}\n", i % 6, seeded ? "-s 00112233-4455-6677-8899-aabbccddeeff" : "", name);
    const NameHash hash = hash_of(i % 6, seeded ? kVectorSeed : kNoSeed, name);
    expected.push_back(fmt::format("is 0x{:x} (minor 0x{:x})", hash.major, hash.minor));
  }
  test::write_file(scratch / "commands", commands);
  std::istringstream out(test::run_program({"debugfs", "-f", scratch / "commands"}).out);
  std::size_t line_number = 0;
  for (std::string line; std::getline(out, line);) {
    const auto at = line.rfind("is 0x");
    if (at == std::string::npos || line.rfind("Hash of", 0) != 0) continue;
    ASSERT_LT(line_number, expected.size());
    EXPECT_EQ(line.substr(at), expected[line_number++]);
  }
  EXPECT_EQ(line_number, expected.size());
}

TEST(NameHash, NeverIsTheEndOfADirectoryAndLeavesTheContinuationBitClear) {
  for (std::uint32_t i = 0; i < 300000; ++i) {
    const NameHash hash = hash_of(static_cast<int>(i % 6), kVectorSeed, std::to_string(i));
    ASSERT_EQ(hash.major & 1U, 0U);
    ASSERT_NE(hash.major, kHtreeEndOfFileHash);
  }
}

}  // namespace
}  // namespace iotape::ext3
