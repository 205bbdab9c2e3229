#include "replayer/machine/elevator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace iotape::machine {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kMillisecond = 1'000'000;

// Requests of 8 sectors that wait, and the order in which an elevator lets them go.
class Waiting {
 public:
  explicit Waiting(ElevatorKind kind) : elevator_(make_elevator(kind)) {}

  void add(bool write, std::int64_t start, Nanoseconds arrival = {}) {
    auto request = std::make_unique<QueuedRequest>();
    request->write = write;
    request->start = start;
    request->length = 8;
    request->arrival = arrival;
    request->sequence = ++sequence_;
    elevator_->add(*request);
    requests_.push_back(std::move(request));
  }
  void read(std::int64_t start, Nanoseconds arrival = {}) { add(false, start, arrival); }
  void write(std::int64_t start, Nanoseconds arrival = {}) { add(true, start, arrival); }

  std::int64_t next(Nanoseconds now = {}) {
    QueuedRequest* const chosen = elevator_->choose(head_, now);
    if (chosen == nullptr) return -1;
    elevator_->remove(*chosen);
    head_ = chosen->end();
    return chosen->start;
  }
  std::vector<std::int64_t> all(Nanoseconds now = {}) {
    std::vector<std::int64_t> order;
    for (std::int64_t start = next(now); start >= 0; start = next(now)) order.push_back(start);
    return order;
  }
  void head_at(std::int64_t sector) { head_ = sector; }

 private:
  std::unique_ptr<Elevator> elevator_;
  std::vector<std::unique_ptr<QueuedRequest>> requests_;
  std::uint64_t sequence_ = 0;
  std::int64_t head_ = 0;
};

TEST(Noop, LetsThemGoAsTheyCame) {
  Waiting waiting(ElevatorKind::kNoop);
  waiting.read(500);
  waiting.write(100);
  waiting.read(300);
  EXPECT_THAT(waiting.all(), ElementsAre(500, 100, 300));
}

TEST(Clook, GoesUpFromTheHeadAndBeginsAgainAtTheLowest) {
  Waiting waiting(ElevatorKind::kClook);
  waiting.head_at(250);
  waiting.read(500);
  waiting.write(100);
  waiting.read(300);
  waiting.write(200);
  EXPECT_THAT(waiting.all(), ElementsAre(300, 500, 100, 200));
}

TEST(Clook, TakesWhatBeginsWhereTheHeadStands) {
  Waiting waiting(ElevatorKind::kClook);
  waiting.head_at(300);
  waiting.read(308);
  waiting.read(300);
  EXPECT_THAT(waiting.all(), ElementsAre(300, 308));
}

TEST(Deadline, ReadsGoBeforeWritesAndEachInRisingOrder) {
  Waiting waiting(ElevatorKind::kDeadline);
  waiting.write(50);
  waiting.read(500);
  waiting.read(100);
  waiting.write(10);
  EXPECT_THAT(waiting.all(), ElementsAre(100, 500, 10, 50));
}

TEST(Deadline, ABatchEndsAfterSixteenAndWritesWaitForTwoOfThem) {
  Waiting waiting(ElevatorKind::kDeadline);
  waiting.write(5);
  for (std::int64_t i = 0; i < 40; ++i) waiting.read(1000 + i * 100);
  const std::vector<std::int64_t> order = waiting.all();
  EXPECT_EQ(std::ranges::find(order, 5) - order.begin(), 32);
}

TEST(Deadline, WhatHasWaitedTooLongIsNext) {
  Waiting waiting(ElevatorKind::kDeadline);
  waiting.head_at(0);
  waiting.read(900, Nanoseconds(0));
  waiting.read(100, Nanoseconds(400 * kMillisecond));
  EXPECT_EQ(waiting.next(Nanoseconds(499 * kMillisecond)), 100);
  waiting.read(100, Nanoseconds(450 * kMillisecond));
  waiting.read(200, Nanoseconds(450 * kMillisecond));
  // The sweep's batch goes on; only a new one looks at the clock.
  EXPECT_EQ(waiting.next(Nanoseconds(499 * kMillisecond)), 200);
  EXPECT_EQ(waiting.next(Nanoseconds(501 * kMillisecond)), 900);
  EXPECT_EQ(waiting.next(Nanoseconds(501 * kMillisecond)), 100);
}

TEST(Deadline, ANewBatchBeginsWithTheOldestWhenItHasExpired) {
  Waiting waiting(ElevatorKind::kDeadline);
  waiting.read(900, Nanoseconds(0));
  waiting.read(100, Nanoseconds(kMillisecond));
  EXPECT_EQ(waiting.next(Nanoseconds(500 * kMillisecond)), 900);
}

TEST(ElevatorKinds, AreKnownByTheirWords) {
  EXPECT_EQ(elevator_kind("noop"), ElevatorKind::kNoop);
  EXPECT_EQ(elevator_kind("clook"), ElevatorKind::kClook);
  EXPECT_EQ(elevator_kind("deadline"), ElevatorKind::kDeadline);
  EXPECT_EQ(elevator_kind("cfq"), std::nullopt);
}

}  // namespace
}  // namespace iotape::machine
