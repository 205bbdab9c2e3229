// The page that shows how to add an allocator says nothing that does not compile and run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/test_support.h"

namespace iotape::ext3 {
namespace {

constexpr std::string_view kPage = IOTAPE_SOURCE_DIR "/replayer/ext3/allocator/ADDING_AN_ALLOCATOR.md";

// The page's C++ listings, in order.
std::vector<std::string> listings() {
  std::ifstream page{std::string(kPage)};
  std::vector<std::string> all;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      inside = line == "```cpp";
      if (inside) all.emplace_back();
    } else if (inside) {
      all.back() += line + "\n";
    }
  }
  return all;
}

TEST(AllocatorPage, ItsCodeCompilesAndPlacesDirectoriesByTheirNames) {
  const std::vector<std::string> code = listings();
  ASSERT_EQ(code.size(), 2U);
  EXPECT_LE(std::count(code[0].begin(), code[0].end(), '\n'), 45);
  const iotape::test::ScratchDirectory scratch;
  std::ofstream(scratch / "page.cc") << code[0] << code[1];
  const auto compiled =
      iotape::test::run_shell(fmt::format("{} {} -I{} -o {} {} {}", IOTAPE_CXX, IOTAPE_CXX_OPTIONS, IOTAPE_SOURCE_DIR,
                                          scratch / "page", scratch / "page.cc", IOTAPE_EXT3_LIBRARIES));
  ASSERT_EQ(compiled.status, 0) << compiled.err;
  const auto ran = iotape::test::run_program({scratch / "page"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  // FNV-1a of each name, modulo 8.
  EXPECT_EQ(ran.out, "usr: group 1\nhome: group 6\netc: group 5\nopt: group 2\n4 directories\n");
}

}  // namespace
}  // namespace iotape::ext3
