// The index of a directory: finding the leaf of a hash, walking on from it, and making room.
//
// Nothing of an index is believed: limits must be what the block size makes them, counts within them, blocks within the
// directory. What does not hold makes the index worth nothing (IndexState::kDamaged), and callers then look through all
// blocks instead; only a leaf that is damaged itself is an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/directory/name_hash.h"

namespace iotape::ext3 {

enum class IndexState : std::uint8_t { kSound, kDamaged };

// How the names of one directory are hashed.
struct NameHasher {
  HashVersion version = kHashHalfMd4;
  bool unsigned_characters = false;
  std::array<std::uint32_t, 4> seed{};
  [[nodiscard]] NameHash operator()(std::string_view name) const {
    return hash_name(version, unsigned_characters, seed, name);
  }
};
// With the volume's default version, which a new index gets.
NameHasher default_hasher(const Volume& volume);

// Reads and checks the root, which becomes the path's first frame, and takes the index's version of the hash.
Answer<IndexState> open_index(Volume& volume, Inode& directory, HtreePath& path, NameHasher& hasher);
// From the root's frame to the leaf where the names of a hash begin.
Answer<IndexState> descend_index(Volume& volume, Inode& directory, std::uint32_t hash, HtreePath& path);
[[nodiscard]] FileBlock leaf_of(const HtreePath& path);
// The least hash of the leaf after the path's, bit 0 set when it goes on with the hash before; nullopt: the last leaf.
[[nodiscard]] std::optional<std::uint32_t> next_leaf_hash(const HtreePath& path);
// To the leaf after. REQUIRES: there is one.
Answer<IndexState> advance_leaf(Volume& volume, Inode& directory, HtreePath& path);

Answer<IndexState> probe_index(Volume& volume, Inode& directory, std::string_view name, DirectoryProbe& probe);

// For a probe that found its leaf full: splits it, and index blocks as it takes. The probe then has a place. ENOSPC.
Answer<void> make_indexed_room(Volume& volume, Handle& handle, Inode& directory, DirectoryProbe& probe,
                               std::string_view name, bool privileged);
// Turns a directory of one block into a root and one leaf, to which the probe then leads. False: the block does not
// begin as a directory must, and is left alone.
Answer<bool> make_index(Volume& volume, Handle& handle, Inode& directory, DirectoryProbe& probe, std::string_view name,
                        bool privileged);

}  // namespace iotape::ext3
