#include "replayer/ext3/allocator/block_search.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <vector>

namespace iotape::ext3 {
namespace {

using Found = std::optional<std::uint32_t>;

// A group of 1,024 blocks, all taken but those freed; block numbers start at 8,193.
class Bits {
 public:
  explicit Bits(std::byte fill = std::byte{0xFF}) : current_(128, fill) {}
  Bits& free(std::uint32_t first, std::uint32_t count = 1) {
    for (std::uint32_t i = first; i < first + count; ++i) clear_bit(current_.data(), i);
    return *this;
  }
  Bits& take(std::uint32_t first, std::uint32_t count = 1) {
    for (std::uint32_t i = first; i < first + count; ++i) set_bit(current_.data(), i);
    return *this;
  }
  Bits& uncommitted(std::uint32_t first, std::uint32_t count = 1) {
    if (committed_.empty()) committed_ = current_;
    for (std::uint32_t i = first; i < first + count; ++i) set_bit(committed_.data(), i);
    return *this;
  }
  [[nodiscard]] GroupBits group(std::uint32_t count = 1024) const {
    return {{current_.data(), committed_.empty() ? nullptr : committed_.data()}, 8193, count};
  }

 private:
  std::vector<std::byte> current_;
  std::vector<std::byte> committed_;
};

TEST(BlockSearch, TakesTheGoalWhenItIsFree) { EXPECT_EQ(search_group(Bits().free(100, 50).group(), 120), Found(120)); }

TEST(BlockSearch, LooksUpToTheNextBoundaryOf64ThenForAWholeFreeByteThenForAnyBit) {
  // 70 is taken; 90 lies before 128, though a whole byte is free at 200.
  EXPECT_EQ(search_group(Bits().free(90).free(200, 8).group(), 70), Found(90));
  // Nothing before 128: the byte at 200, not the lone bit at 150.
  EXPECT_EQ(search_group(Bits().free(150).free(200, 8).group(), 70), Found(200));
  // No whole byte: the lone bit. A run of 8 that is no byte of the map does not count.
  EXPECT_EQ(search_group(Bits().free(150).free(204, 8).group(), 70), Found(150));
  // A goal at a boundary has nothing to look through.
  EXPECT_EQ(search_group(Bits().free(65).free(72, 8).group(), 64), Found(72));
}

TEST(BlockSearch, BacksUpOverAtMostSevenFreeBlocksBehindTheGoal) {
  EXPECT_EQ(search_group(Bits().free(197, 11).group(), 70), Found(197)) << "3 before the byte";
  EXPECT_EQ(search_group(Bits().free(193, 15).group(), 70), Found(193)) << "7 before the byte";
  EXPECT_EQ(search_group(Bits().free(197, 11).group(), 198), Found(198)) << "the goal itself is free";
  EXPECT_EQ(search_group(Bits().free(200, 8).take(200).group(), 200), Found(201)) << "never before the goal";
}

TEST(BlockSearch, NeverGoesBackBeforeTheGoalsPlaceWithinTheGroup) {
  EXPECT_EQ(search_group(Bits().free(10, 20).group(), 70), std::nullopt);
  EXPECT_EQ(search_group(Bits().free(10, 20).group(), std::nullopt), Found(10)) << "without a goal from the start";
}

TEST(BlockSearch, PassesBlocksFreedInATransactionThatHasNotCommitted) {
  EXPECT_EQ(search_group(Bits().free(100, 4).uncommitted(100, 2).group(), 100), Found(102));
  EXPECT_EQ(search_group(Bits().free(100, 4).uncommitted(100, 4).group(), 100), std::nullopt);
  EXPECT_EQ(search_group(Bits().free(200, 8).free(300).uncommitted(200, 8).group(), 70), Found(300));
}

TEST(BlockSearch, EndsWhereTheGroupEnds) {
  EXPECT_EQ(search_group(Bits(std::byte{0}).take(0, 500).group(500), 490), std::nullopt);
  EXPECT_EQ(search_group(Bits(std::byte{0}).take(0, 499).group(500), 490), Found(499));
  EXPECT_EQ(search_group(Bits(std::byte{0}).group(500), 500), std::nullopt);
}

TEST(NextFree, AgreesWithLookingAtEveryBit) {
  std::mt19937 engine(7);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  for (int round = 0; round < 2000; ++round) {
    Bits bits;
    const std::uint32_t holes = random() % 6;
    for (std::uint32_t i = 0; i < holes; ++i) bits.free(random() % 1000, 1 + random() % 20);
    if (random() % 2 == 0) bits.uncommitted(random() % 1000, 1 + random() % 20);
    const std::uint32_t from = random() % 1025;
    const std::uint32_t end = random() % 1025;
    const GroupBits group = bits.group();
    Found expected;
    for (std::uint32_t bit = from; bit < end && !expected; ++bit)
      if (group.bits.free(bit)) expected = bit;
    EXPECT_EQ(next_free(group.bits, from, end), expected) << from << ' ' << end;
  }
}

class Windows : public testing::Test {
 protected:
  ReservationWindows windows;
  ReservationWindow one;
  ReservationWindow two;
  ReservationWindow three;
};

TEST_F(Windows, TakeTheFirstPlaceThatNoOtherTouches) {
  ASSERT_TRUE(windows.move(one, 100, 999, 8));
  EXPECT_EQ(one.first, 100U);
  EXPECT_EQ(one.last, 107U);
  ASSERT_TRUE(windows.move(two, 110, 999, 8));
  EXPECT_EQ(two.first, 110U);
  ASSERT_TRUE(windows.move(three, 98, 999, 8)) << "2 blocks before, 2 between: neither will do";
  EXPECT_EQ(three.first, 118U);
}

TEST_F(Windows, StayWhereTheyWereWhenNoPlaceBeginsBeforeTheLimit) {
  ASSERT_TRUE(windows.move(one, 100, 999, 8));
  ASSERT_TRUE(windows.move(two, 10, 999, 8));
  EXPECT_FALSE(windows.move(two, 95, 107, 8));
  EXPECT_EQ(two.first, 10U);
  EXPECT_TRUE(windows.move(two, 95, 108, 8)) << "it may begin at the limit and reach beyond";
  EXPECT_EQ(two.last, 115U);
}

TEST_F(Windows, LeaveTheSetWhenTheirFileIsGone) {
  ASSERT_TRUE(windows.move(one, 100, 999, 8));
  {
    ReservationWindow short_lived;
    ASSERT_TRUE(windows.move(short_lived, 108, 999, 8));
    EXPECT_EQ(windows.count(), 2U);
  }
  EXPECT_EQ(windows.count(), 1U);
  windows.remove(one);
  windows.remove(one);
  EXPECT_EQ(windows.count(), 0U);
}

TEST_F(Windows, DoubleWhenMoreThanHalfOfTheLastWasUsedAndStopAt1027) {
  std::vector<std::byte> bits(16384 / 8);
  const GroupBits group{{bits.data(), nullptr}, 1, 16384};
  std::vector<std::uint32_t> sizes;
  std::uint32_t goal = 0;
  for (int i = 0; i < 9000; ++i) {
    const Found found = search_with_window(group, goal, one, windows);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, static_cast<std::uint32_t>(i)) << "one file alone gets one block after the other";
    set_bit(bits.data(), *found);
    if (sizes.empty() || one.hits == 1) sizes.push_back(one.size());
    goal = *found + 1;
  }
  EXPECT_EQ(std::vector<std::uint32_t>(sizes.begin(), sizes.begin() + 10),
            (std::vector<std::uint32_t>{8, 16, 32, 64, 128, 256, 512, 1024, 1027, 1027}));
}

TEST_F(Windows, KeepTheirSizeWhenLittleOfTheLastWasUsed) {
  Bits bits(std::byte{0});
  ASSERT_EQ(search_with_window(bits.group(), 0, one, windows), Found(0));
  bits.take(0);
  ASSERT_EQ(search_with_window(bits.group(), 500, one, windows), Found(500)) << "the goal is elsewhere";
  EXPECT_EQ(one.size(), 8U);
  EXPECT_EQ(one.first, 8193U + 500);
}

TEST_F(Windows, SendOthersBehindThem) {
  Bits bits(std::byte{0});
  ASSERT_EQ(search_with_window(bits.group(), 100, one, windows), Found(100));
  bits.take(100);
  EXPECT_EQ(search_with_window(bits.group(), 101, two, windows), Found(108));
  EXPECT_EQ(search_with_window(bits.group(), 101, one, windows), Found(101));
}

TEST_F(Windows, AreOnlyPlacedWhereSomethingIsFree) {
  Bits bits;
  bits.free(600);
  EXPECT_EQ(search_with_window(bits.group(), 100, one, windows), Found(600));
  EXPECT_EQ(one.first, 8193U + 600);
  bits.take(600);
  EXPECT_EQ(search_with_window(bits.group(), 601, one, windows), std::nullopt);
  EXPECT_TRUE(one.empty()) << "and given up when nothing is";
}

TEST_F(Windows, ThatReachIntoTheNextGroupAreKeptForIt) {
  Bits bits(std::byte{0});
  ASSERT_EQ(search_with_window(bits.group(), 1020, one, windows), Found(1020));
  EXPECT_EQ(one.last, 8193U + 1027);
  bits.take(1020, 4);
  EXPECT_EQ(search_with_window(bits.group(), 1023, one, windows), std::nullopt);
  EXPECT_EQ(one.first, 8193U + 1020);
  Bits next(std::byte{0});
  GroupBits group = next.group();
  group.first_block += 1024;
  EXPECT_EQ(search_with_window(group, std::nullopt, one, windows), Found(0));
}

}  // namespace
}  // namespace iotape::ext3
