// Goes through a file's block map as it lies on the disk.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "replayer/ext3/check/check_state.h"

namespace iotape::ext3::check {

// Visitor:
//   bool indirect(BlockNumber block)   an indirect block; true: go into it. Told before what it holds.
//   void data(std::uint64_t file_block, BlockNumber block)
// Pointers are told as they are, zero ones are not. A visitor that never goes twice into one block ends.
template <typename Visitor>
class BlockMapWalk {
 public:
  BlockMapWalk(CheckState& state, Visitor& visitor) : state_(state), visitor_(visitor) {}

  void walk(std::span<const le32, kBlockSlots> slots) {
    std::uint64_t file_block = 0;
    for (std::uint32_t slot = 0; slot < kBlockSlots; ++slot)
      file_block = subtree(BlockNumber(slots[slot]), slot < kDirectBlocks ? 0 : slot - kDirectBlocks + 1, file_block);
  }

 private:
  // Returns the file block after the subtree.
  std::uint64_t subtree(BlockNumber block, std::uint32_t depth, std::uint64_t file_block) {
    std::uint64_t span = 1;
    for (std::uint32_t i = 0; i < depth; ++i) span *= state_.geometry.pointers_per_block();
    if (block == kNoBlock) return file_block + span;
    if (depth == 0) {
      visitor_.data(file_block, block);
      return file_block + 1;
    }
    if (!visitor_.indirect(block)) return file_block + span;
    Bytes& bytes = buffers_[depth - 1];
    bytes.resize(state_.geometry.block_size);
    if (!state_.read(block, bytes)) return file_block + span;
    std::uint64_t next = file_block;
    for (std::uint32_t i = 0; i < state_.geometry.pointers_per_block(); ++i)
      next = subtree(BlockNumber(record_at<le32>(bytes, std::size_t{i} * 4)), depth - 1, next);
    return next;
  }

  CheckState& state_;
  Visitor& visitor_;
  std::array<Bytes, 3> buffers_;
};

}  // namespace iotape::ext3::check
