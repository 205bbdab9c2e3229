// Names of stack frames: of this program's own functions, of a program that is gone, of the kernel.
#include "recorder/stack_symbols.h"

#include <bcc/bcc_elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <fstream>

#include "recorder/call_stacks.h"
#include "tests/support/test_support.h"

namespace iotape {

// Not in the unnamed namespace: its symbol must be in the table.
int function_with_a_name_to_find(int value);
__attribute__((noinline)) int function_with_a_name_to_find(int value) {
  asm volatile("" : "+r"(value));
  return value + 1;
}

namespace {

using testing::ElementsAre;
using testing::StartsWith;

constexpr ProcessId kNobody{0x7ffffff0};  // no process has it: whatever ran is gone

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe"); }

BuildId own_build_id() {
  char text[64] = {};
  EXPECT_EQ(bcc_elf_get_buildid(own_path().c_str(), text), 0);
  BuildId id{};
  for (std::size_t index = 0; index < id.size(); ++index)
    std::from_chars(text + 2 * index, text + 2 * index + 2, id[index], 16);
  return id;
}

// The offset in the file of an address of this program, from the kernel's own list of mappings.
std::uint64_t file_offset_of(std::uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*4c %lx", &begin, &end, &offset) != 3) continue;
    if (address >= begin && address < end) return offset + address - begin;
  }
  ADD_FAILURE() << "address is not mapped";
  return 0;
}

UserFrame own_frame(std::uint64_t into) {
  return {own_build_id(), true, file_offset_of(reinterpret_cast<std::uint64_t>(&function_with_a_name_to_find) + into)};
}

TEST(StackSymbols, AFunctionOfAProgramThatIsGoneIsNamed) {
  StackSymbols symbols;
  symbols.learn_file(own_path());
  const std::vector<UserFrame> frames = {own_frame(2)};
  EXPECT_THAT(symbols.user_frames(kNobody, frames),
              ElementsAre("iotape::function_with_a_name_to_find(int)+0x2 (recorder_tests)"));
}

TEST(StackSymbols, AFileLearntTwiceOrNotThereDoesNoHarm) {
  StackSymbols symbols;
  symbols.learn_file("/nonexistent/program");
  symbols.learn_file(own_path());
  symbols.learn_file(own_path());
  const std::vector<UserFrame> frames = {own_frame(0)};
  EXPECT_THAT(symbols.user_frames(kNobody, frames), ElementsAre(StartsWith("iotape::function_with_a_name_to_find")));
}

TEST(StackSymbols, ALivingProcessTellsItsFiles) {
  StackSymbols symbols;
  const std::vector<UserFrame> frames = {own_frame(1)};
  EXPECT_THAT(symbols.user_frames(ProcessId(::getpid()), frames),
              ElementsAre(StartsWith("iotape::function_with_a_name_to_find(int)+0x1")));
}

TEST(StackSymbols, WhatCannotBeNamedKeepsItsNumber) {
  StackSymbols symbols;
  UserFrame unknown_file{{1, 2, 3}, true, 0x1234};
  const std::vector<UserFrame> frames = {unknown_file, {{}, false, 0x7f00}};
  EXPECT_THAT(symbols.user_frames(kNobody, frames), ElementsAre("0x1234 (unknown)", "0x7f00 (unknown)"));
}

TEST(StackSymbols, AKernelFunctionIsNamed) {
  IOTAPE_NEEDS_RECORDER();  // addresses are hidden from others
  std::ifstream all("/proc/kallsyms");
  std::uint64_t address = 0;
  for (std::string line; std::getline(all, line) && address == 0;)
    if (line.ends_with(" vfs_read")) std::from_chars(line.data(), line.data() + 16, address, 16);
  ASSERT_NE(address, 0U);
  StackSymbols symbols;
  const std::vector<std::uint64_t> frames = {address + 0x10};
  EXPECT_THAT(symbols.kernel_frames(frames), ElementsAre("vfs_read+0x10 (kernel)"));
}

class Collected : public EventSink {
 public:
  Result<void> append(EventBody body) override {
    stacks.push_back(std::get<Stack>(std::move(body)));
    return {};
  }
  std::vector<Stack> stacks;
};

TEST(CallStacks, OneEventPerDifferentStackAndNoneForCallsWithout) {
  Collected sink;
  CallStacks stacks({[](std::int32_t id) {
                       // 5 and 6 are the same place in two processes: other addresses, hence other ids
                       return std::vector<UserFrame>{own_frame(id < 7 ? 1 : 3)};
                     },
                     [](std::int32_t) { return std::vector<std::uint64_t>{}; }});
  stacks.learn_file(own_path());
  const auto first = stacks.user(5, kNobody, sink);
  const auto same = stacks.user(6, kNobody, sink);
  const auto other = stacks.user(7, kNobody, sink);
  EXPECT_EQ(**first, **same);
  EXPECT_NE(**first, **other);
  EXPECT_FALSE(stacks.user(-17, kNobody, sink)->has_value());
  EXPECT_FALSE(stacks.kernel(3, sink)->has_value());
  ASSERT_EQ(sink.stacks.size(), 2U);
  EXPECT_EQ(sink.stacks[0].id, **first);
}

}  // namespace
}  // namespace iotape
