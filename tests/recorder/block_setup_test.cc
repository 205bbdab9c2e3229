// The shapes of kernels that are not at hand: how the block layer's hooks are chosen.
#include "recorder/block_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "format/event.h"

namespace iotape {
namespace {

using testing::Contains;
using testing::Not;

struct FakeKernel {
  std::map<std::string, int> arities = {
      {"block_bio_queue", 1},   {"block_bio_remap", 3}, {"block_bio_complete", 2}, {"block_rq_issue", 1},
      {"block_rq_requeue", 1},  {"block_rq_merge", 1},  {"block_rq_complete", 3},  {"writeback_dirty_folio", 2},
      {"jbd2_handle_start", 5}, {"xfs_trans_alloc", 2}};
  std::map<std::string, std::uint64_t> numbers = {{"req_op REQ_OP_READ", 0},        {"req_op REQ_OP_WRITE", 1},
                                                  {"req_op REQ_OP_DISCARD", 3},     {"req_op REQ_OP_DRV_OUT", 35},
                                                  {"req_flag_bits __REQ_META", 12}, {"req_flag_bits __REQ_SYNC", 11}};
  [[nodiscard]] KernelShape shape() const {
    return {[this](const std::string& name) {
              const auto found = arities.find(name);
              return found == arities.end() ? -1 : found->second;
            },
            [this](const std::string& type, const std::string& name) -> std::optional<std::uint64_t> {
              const auto found = numbers.find(type + " " + name);
              if (found == numbers.end()) return std::nullopt;
              return found->second;
            }};
  }
};

TEST(BlockSetup, TodaysKernelNeedsNoShiftAndMissesNothing) {
  const BlockSetup setup = plan_block(FakeKernel{}.shape(), false);
  EXPECT_TRUE(setup.usable);
  EXPECT_TRUE(setup.missing.empty());
  EXPECT_THAT(setup.absent_programs, testing::ElementsAre("block_dirty_page"));
  for (const __u8 shift : setup.config.shift) EXPECT_EQ(shift, 0);
}

TEST(BlockSetup, AKernelBefore511PutsTheQueueFirst) {
  FakeKernel old;
  old.arities = {{"block_bio_queue", 2},   {"block_bio_remap", 4},      {"block_bio_complete", 2},
                 {"block_rq_issue", 2},    {"block_rq_requeue", 2},     {"block_rq_merge", 2},
                 {"block_rq_complete", 3}, {"writeback_dirty_page", 2}, {"jbd2_handle_start", 5},
                 {"xfs_trans_alloc", 2}};
  old.numbers = {{"req_opf REQ_OP_WRITE", 1}};
  const BlockSetup setup = plan_block(old.shape(), true);
  EXPECT_TRUE(setup.usable);
  EXPECT_EQ(setup.config.listed_only, 1);
  EXPECT_EQ(setup.config.shift[WIRE_SHIFT_RQ_ISSUE], 1);
  EXPECT_EQ(setup.config.shift[WIRE_SHIFT_BIO_QUEUE], 1);
  EXPECT_EQ(setup.config.shift[WIRE_SHIFT_BIO_REMAP], 1);
  EXPECT_THAT(setup.absent_programs, testing::ElementsAre("block_dirty_folio"));
  EXPECT_TRUE(setup.missing.empty());
  EXPECT_EQ(setup.config.operations[1], static_cast<__u8>(BlockOperation::kWrite));
}

// 5.10.137 took the change to the request tracepoints alone: each hook is judged by its own arguments.
TEST(BlockSetup, ABackPortOfOneHalfShiftsOnlyTheOther) {
  FakeKernel mixed;
  mixed.arities["block_bio_queue"] = 2;
  const BlockSetup setup = plan_block(mixed.shape(), false);
  EXPECT_EQ(setup.config.shift[WIRE_SHIFT_BIO_QUEUE], 1);
  EXPECT_EQ(setup.config.shift[WIRE_SHIFT_RQ_ISSUE], 0);
}

TEST(BlockSetup, AMissingHookIsNamedAndNotLoaded) {
  FakeKernel kernel;
  kernel.arities.erase("block_rq_requeue");
  const BlockSetup setup = plan_block(kernel.shape(), false);
  EXPECT_TRUE(setup.usable);
  EXPECT_THAT(setup.absent_programs, Contains("block_requeue"));
  ASSERT_EQ(setup.missing.size(), 1U);
  EXPECT_EQ(setup.missing[0].name, "block_rq_requeue");
}

TEST(BlockSetup, AnUnknownShapeIsNotGuessed) {
  FakeKernel kernel;
  kernel.arities["block_rq_issue"] = 5;
  const BlockSetup setup = plan_block(kernel.shape(), false);
  EXPECT_FALSE(setup.usable);
  EXPECT_THAT(setup.absent_programs, Contains("block_issue"));
}

TEST(BlockSetup, WithoutEitherDirtyingHookThatIsSaidOnce) {
  FakeKernel kernel;
  kernel.arities.erase("writeback_dirty_folio");
  const BlockSetup setup = plan_block(kernel.shape(), false);
  ASSERT_EQ(setup.missing.size(), 1U);
  EXPECT_EQ(setup.missing[0].name, "writeback_dirty_folio");
  EXPECT_THAT(setup.absent_programs, Contains("block_dirty_page"));
}

TEST(BlockSetup, NumbersTheKernelDoesNotHaveMatchNothing) {
  const BlockSetup setup = plan_block(FakeKernel{}.shape(), false);
  EXPECT_EQ(setup.config.operations[3], static_cast<__u8>(BlockOperation::kDiscard));
  EXPECT_EQ(setup.config.operations[35], static_cast<__u8>(BlockOperation::kDriver));
  EXPECT_EQ(setup.config.operations[9], static_cast<__u8>(BlockOperation::kOther));
  EXPECT_EQ(setup.config.flag_bits[0], 11);             // kBlockSync
  EXPECT_EQ(setup.config.flag_bits[1], 12);             // kBlockMetadata
  EXPECT_EQ(setup.config.flag_bits[11], WIRE_NO_FLAG);  // kBlockAtomic
}

}  // namespace
}  // namespace iotape
