// Directories: names to inodes, in linear blocks or under an htree index.
//
// A probe is one search: it finds the name, or the place where it belongs, and stays true while the directory's lock is
// held and nothing is inserted or erased through another probe.
// REQUIRES of every call: the directory's lock is held. All may wait.
// Damage (a record that leaves its block, an index that contradicts itself) is EUCLEAN where names would be lost, and a
// linear search of all blocks where only the index is hurt.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "replayer/ext3/cache/buffer_cache.h"
#include "replayer/ext3/directory/name_hash.h"
#include "replayer/ext3/inode.h"
#include "replayer/ext3/journal/journal.h"

namespace iotape::ext3 {

struct Volume;

struct HtreeFrame {  // an index block on the way to a leaf
  BufferReference buffer;
  std::uint32_t entries_offset = 0;
  std::uint32_t position = 0;  // which entry was followed
};

struct HtreePath {  // from the root, which comes first, to the index entry that names a leaf
  std::array<HtreeFrame, 2> frames;
  std::uint32_t count = 0;
};

struct DirectoryProbe {
  InodeNumber inode;  // kNoInode: the name is not there
  std::uint8_t file_type = 0;
  BufferReference leaf;  // the block that holds the record, or that the name would go into; empty: none has room
  FileBlock leaf_block;
  std::uint32_t offset = 0;           // of the record found, or of the record whose slack takes the name
  std::uint32_t previous_offset = 0;  // of the record before the one found; equals offset for a block's first
  bool has_room = false;              // offset is a place for the name
  bool indexed = false;
  std::uint32_t hash = 0;
  HtreePath path;  // to where the name belongs, when indexed
  [[nodiscard]] bool found() const { return inode != kNoInode; }
};

// The longest name is kNameLimit bytes (the caller has checked), and holds neither '/' nor NUL.
Answer<DirectoryProbe> probe_directory(Volume& volume, Inode& directory, std::string_view name);

// Credits an insertion may spend: leaf and index splits, new blocks, the directory's own record.
std::uint32_t insert_credits(const Volume& volume);
// Where probe did not find the name. Grows the directory, splits leaves and index blocks as it takes. ENOSPC when the
// index or the volume is full: the directory is then as it was, or one valid index split larger. Updates the
// directory's times and record. privileged: may take the blocks kept for the superuser.
Answer<void> insert_name(Volume& volume, Handle& handle, Inode& directory, DirectoryProbe& probe, std::string_view name,
                         InodeNumber inode, std::uint32_t mode, bool privileged = true);
inline constexpr std::uint32_t kEraseCredits = 2;  // the leaf and the directory's record; also of rewrite_name
Answer<void> erase_name(Volume& volume, Handle& handle, Inode& directory, const DirectoryProbe& probe);
// Lets the found name mean another inode, in its place.
Answer<void> rewrite_name(Volume& volume, Handle& handle, Inode& directory, const DirectoryProbe& probe,
                          InodeNumber inode, std::uint32_t mode);

// The first block of a new directory: "." and "..". Sets size. Credits: map_credits + 1.
Answer<void> initialise_directory(Volume& volume, Handle& handle, Inode& directory, InodeNumber parent,
                                  bool privileged = true);
Answer<InodeNumber> directory_parent(Volume& volume, Inode& directory);
Answer<void> set_directory_parent(Volume& volume, Handle& handle, Inode& directory, InodeNumber parent);
Answer<bool> directory_is_empty(Volume& volume, Inode& directory);

struct DirectoryListing {
  std::string_view name;  // valid during the call
  InodeNumber inode;
  std::uint8_t file_type = 0;
  std::uint64_t next_cookie = 0;  // reading on from here gives what follows this name
};
// Where the reader of one open directory stands. A cookie does not tell names of equal hash apart; whoever keeps this
// between two reads gets each of them once, and gets on however few it takes at a time.
struct DirectoryPosition {
  std::uint64_t cookie = 0;  // what the name below was given with as next_cookie
  NameHash last;
  std::uint8_t name_length = 0;  // 0: nothing given yet
  std::array<char, kNameLimit> name{};
};
// Gives the names from a cookie on (0: the start), until take returns false (that name is then given again by the next
// call). Order: by hash under an index and for one-block directories of a dir_index volume, else as they lie. A name
// that is neither added nor removed meanwhile is given exactly once. A cookie other than position's is a seek.
// Memory: a fixed number of names, however many have one hash. Returns the cookie to go on from.
Answer<std::uint64_t> read_directory(Volume& volume, Inode& directory, DirectoryPosition& position,
                                     std::uint64_t cookie, const std::function<bool(const DirectoryListing&)>& take);
// Without a position: names of equal hash are given again when the cookie lies among them.
Answer<std::uint64_t> read_directory(Volume& volume, Inode& directory, std::uint64_t cookie,
                                     const std::function<bool(const DirectoryListing&)>& take);

}  // namespace iotape::ext3
