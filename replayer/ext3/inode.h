// Inode: a file as it is in memory, decoded from its record in the inode table.
//
// There is no dirty state: whoever changes an inode holds its lock and an open handle, and calls
// InodeCache::write before the handle ends. Fields below "in memory only" are caches and bookkeeping.
#pragma once

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "replayer/ext3/disk_format/inode_record.h"
#include "replayer/ext3/journal/journal.h"
#include "replayer/ext3/sleep_lock.h"
#include "replayer/ext3/types.h"

namespace iotape::ext3 {

class InodeCache;
struct ReservationWindow;  // allocator/reservation.h

struct FileTime {
  std::int64_t seconds = 0;  // since 1970
  std::uint32_t nanoseconds = 0;
  constexpr auto operator<=>(const FileTime&) const = default;
};

struct Inode {
  InodeNumber number;
  std::uint32_t mode = 0;  // S_IFMT and permission bits
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::uint32_t links = 0;
  std::uint64_t size = 0;     // bytes
  std::uint64_t sectors = 0;  // 512 bytes each, mapping and attribute blocks included
  std::uint32_t flags = 0;    // InodeFlag
  std::uint32_t generation = 0;
  FileTime access_time;
  FileTime change_time;
  FileTime modification_time;
  FileTime creation_time;           // kept only where the record has room
  std::uint32_t deletion_time = 0;  // seconds; while orphan: the next orphan's number
  BlockNumber attribute_block;
  // Twelve blocks and three roots of indirect blocks; or a short symlink's target; or a device's number.
  std::array<std::uint32_t, kBlockSlots> block{};

  // ---- in memory only ----
  InodeCache* cache = nullptr;
  std::uint32_t users = 0;
  SleepLock lock;
  std::uint64_t change_count = 0;  // of a directory's entries: readers compare it
  FileBlock lookup_start;          // linear directory: where the last name was found
  FileBlock last_file_block;       // the last block allocated, and where: the next one's goal
  BlockNumber last_block;
  std::unique_ptr<ReservationWindow> window;
  std::vector<std::uint32_t> block_cache;  // directories: file block -> block, 0 where not known yet
  Inode* former_parent = nullptr;          // of a removed directory, kept in use by it: where its ".." still leads
  bool orphan = false;
  Inode* orphan_previous = nullptr;
  Inode* orphan_next = nullptr;
  TransactionId last_change;       // what fsync waits for
  TransactionId last_data_change;  // what fdatasync waits for: size and block map
  Inode* hash_next = nullptr;
  Inode* idle_previous = nullptr;  // list of unused inodes, least recently used first
  Inode* idle_next = nullptr;
  bool fresh = false;           // just allocated: what its record holds is an older file's
  bool being_deleted = false;   // its last reference is gone; wait on its address
  bool no_default_acl = false;  // a directory known to have none: it is asked at every creation
  bool gone = false;            // deleted, or deleting failed: of no use to anybody

  [[nodiscard]] bool is_directory() const { return S_ISDIR(mode); }
  [[nodiscard]] bool is_regular() const { return S_ISREG(mode); }
  [[nodiscard]] bool is_symlink() const { return S_ISLNK(mode); }
  [[nodiscard]] bool has_flag(InodeFlag flag) const { return (flags & flag) != 0; }
  // A symlink whose target lies in `block`.
  [[nodiscard]] bool is_fast_symlink(std::uint32_t block_size) const {
    return is_symlink() && sectors == (attribute_block == kNoBlock ? 0 : block_size / 512);
  }
};

// Keeps an inode in memory. Dropping the last reference to an inode without links deletes the file, which starts a
// handle and may wait: REQUIRES no handle is open then, which the order of declarations sees to (references before
// handles).
class InodeReference {
 public:
  InodeReference() = default;
  explicit InodeReference(Inode* inode) : inode_(inode) {
    if (inode_ != nullptr) ++inode_->users;
  }
  InodeReference(const InodeReference& other) : InodeReference(other.inode_) {}
  InodeReference(InodeReference&& other) noexcept : inode_(std::exchange(other.inode_, nullptr)) {}
  InodeReference& operator=(InodeReference other) noexcept {
    std::swap(inode_, other.inode_);
    return *this;
  }
  ~InodeReference() {
    if (inode_ != nullptr) release();
  }

  Inode& operator*() const { return *inode_; }
  Inode* operator->() const { return inode_; }
  [[nodiscard]] Inode* get() const { return inode_; }
  explicit operator bool() const { return inode_ != nullptr; }

 private:
  void release();
  Inode* inode_ = nullptr;
};

}  // namespace iotape::ext3
