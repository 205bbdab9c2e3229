// An htree directory's index as it lies on the disk: its leaves in the order of their hashes.
#pragma once

#include <cstdint>
#include <vector>

#include "replayer/ext3/check/check_state.h"
#include "replayer/ext3/directory/name_hash.h"

namespace iotape::ext3::check {

class HtreeShape {
 public:
  // blocks: the directory's, without a hole. Says what is wrong with the index.
  HtreeShape(CheckState& state, InodeNumber directory, const std::vector<BlockNumber>& blocks);

  // False when the index is not good enough to look names up in.
  [[nodiscard]] bool usable() const { return usable_; }
  // A block that holds part of the index, the root among them.
  [[nodiscard]] bool is_index(std::uint32_t file_block) const { return roles_[file_block] == kIndexRole; }
  // Whether a look-up of the name by its hash comes to the block that holds it.
  [[nodiscard]] bool leads_to(const NameHash& hash, std::uint32_t file_block) const;
  [[nodiscard]] NameHash hash(std::string_view name) const;

 private:
  struct Leaf {
    std::uint32_t hash;  // as stored: bit 0 for a continuation
    std::uint32_t file_block;
  };
  static constexpr std::uint32_t kUnseen = 0xFFFFFFFF;
  static constexpr std::uint32_t kIndexRole = 0xFFFFFFFE;

  template <typename... Arguments>
  void wrong(std::uint32_t file_block, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    usable_ = false;
    state_.problem(ProblemKind::kIndex, directory_, blocks_[file_block], "directory {}, index block {}: {}",
                   directory_.value, file_block, fmt::format(text, std::forward<Arguments>(arguments)...));
  }
  bool read_root(Bytes& bytes);
  bool read_node(std::uint32_t file_block, Bytes& bytes);
  void read_entries(std::uint32_t file_block, std::span<const std::byte> bytes, std::uint32_t offset,
                    std::uint32_t levels, std::uint32_t least, std::uint64_t beyond);
  void child(std::uint32_t parent, std::uint32_t file_block, std::uint32_t levels, std::uint32_t least,
             std::uint64_t beyond);

  CheckState& state_;
  InodeNumber directory_;
  const std::vector<BlockNumber>& blocks_;
  HashVersion version_ = kHashLegacy;
  bool unsigned_ = false;
  std::array<std::uint32_t, 4> seed_{};
  bool usable_ = true;
  std::vector<std::uint32_t> roles_;  // by file block: place among the leaves
  std::vector<Leaf> leaves_;
};

}  // namespace iotape::ext3::check
