#include "replayer/machine/request_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace iotape::machine {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr std::int64_t kLargest = 64;

class Queue {
 public:
  bool add(std::int64_t sector, std::int64_t length, bool write = true) {
    return queue_.add(QueuedPiece{std::make_shared<SubmittedIo>(), sector, 0, 1}, length, write, {});
  }
  // (first sector, sectors) of each request, in the elevator's order.
  std::vector<std::pair<std::int64_t, std::int64_t>> drained() {
    std::vector<std::pair<std::int64_t, std::int64_t>> requests;
    while (const auto request = queue_.next(0, {})) requests.emplace_back(request->start, request->length);
    return requests;
  }
  RequestQueue queue_{ElevatorKind::kClook, kLargest};
};

TEST(RequestQueue, NeighboursBecomeOneRequestFromEitherEnd) {
  Queue queue;
  EXPECT_FALSE(queue.add(16, 8));
  EXPECT_TRUE(queue.add(24, 8));
  EXPECT_TRUE(queue.add(8, 8));
  EXPECT_THAT(queue.drained(), ElementsAre(Pair(8, 24)));
}

TEST(RequestQueue, APieceThatFillsTheGapJoinsBoth) {
  Queue queue;
  queue.add(0, 8);
  queue.add(16, 8);
  EXPECT_EQ(queue.queue_.count(), 2U);
  EXPECT_TRUE(queue.add(8, 8));
  EXPECT_EQ(queue.queue_.count(), 1U);
  EXPECT_THAT(queue.drained(), ElementsAre(Pair(0, 24)));
}

TEST(RequestQueue, NothingGrowsBeyondTheLargestRequest) {
  Queue queue;
  queue.add(0, 56);
  EXPECT_TRUE(queue.add(56, 8));
  EXPECT_FALSE(queue.add(64, 8));
  EXPECT_THAT(queue.drained(), ElementsAre(Pair(0, 64), Pair(64, 8)));
}

TEST(RequestQueue, ReadsAndWritesStayApart) {
  Queue queue;
  queue.add(0, 8, true);
  EXPECT_FALSE(queue.add(8, 8, false));
  EXPECT_EQ(queue.queue_.count(), 2U);
}

TEST(RequestQueue, AJoinedRequestHasWaitedAsLongAsItsOldestPiece) {
  RequestQueue queue(ElevatorKind::kNoop, kLargest);
  const auto piece = [](std::int64_t sector) { return QueuedPiece{std::make_shared<SubmittedIo>(), sector, 0, 1}; };
  queue.add(piece(16), 8, true, Nanoseconds(1));
  queue.add(piece(100), 8, true, Nanoseconds(2));
  queue.add(piece(0), 8, true, Nanoseconds(3));
  queue.add(piece(8), 8, true, Nanoseconds(4));  // joins 0 and 16
  const auto first = queue.next(0, Nanoseconds(5));
  EXPECT_EQ(first->start, 0);
  EXPECT_EQ(first->length, 24);
  EXPECT_EQ(first->arrival, Nanoseconds(1));
}

// Whatever is added comes out once, whole, in rising pieces, and no request is larger than it may be.
TEST(RequestQueue, EverySectorComesOutExactlyOnce) {
  for (const ElevatorKind kind : {ElevatorKind::kNoop, ElevatorKind::kClook, ElevatorKind::kDeadline}) {
    std::mt19937 random(7);  // the same every time
    RequestQueue queue(kind, kLargest);
    std::vector<std::uint32_t> waiting(4096);  // by block of 8 sectors: 0 none, 1 read, 2 write
    std::int64_t head = 0;
    std::uint64_t added = 0;
    std::uint64_t served = 0;
    for (int step = 0; step < 20'000; ++step) {
      const auto block = static_cast<std::uint32_t>(random() % waiting.size());
      const bool write = random() % 2 == 0;
      if (random() % 3 != 0) {
        if (waiting[block] != 0) continue;
        waiting[block] = write ? 2 : 1;
        ++added;
        queue.add({std::make_shared<SubmittedIo>(), std::int64_t{block} * 8, 0, 1}, 8, write, Nanoseconds(step));
        continue;
      }
      const auto request = queue.next(head, Nanoseconds(step));
      if (!request) continue;
      head = request->end();
      ASSERT_LE(request->length, kLargest);
      ASSERT_EQ(request->pieces.size() * 8, static_cast<std::size_t>(request->length));
      std::int64_t at = request->start;
      for (const QueuedPiece& piece : request->pieces) {
        ASSERT_EQ(piece.sector, at);
        at += 8;
        std::uint32_t& was = waiting[static_cast<std::size_t>(piece.sector / 8)];
        ASSERT_EQ(was, request->write ? 2U : 1U);
        was = 0;
        ++served;
      }
    }
    while (const auto request = queue.next(head, {})) served += request->pieces.size();
    EXPECT_EQ(served, added);
  }
}

}  // namespace
}  // namespace iotape::machine
