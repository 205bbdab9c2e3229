// Which removed files a trace says nothing of: a replay cannot make them as they were. Filesystems whose removals the
// kernel shows (ext4, xfs, btrfs) leave none; on the others (tmpfs) a file nobody opened or looked at is gone unseen,
// and only --snapshot tree=DIR would have told.
//
// Files are told apart by their absolute paths, kept as hashes. Memory is bounded: past kMaximumPaths the count is no
// longer kept (overflowed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "format/changing_roots.h"
#include "format/event.h"

namespace iotape {

class RemovalWatch {
 public:
  static constexpr std::size_t kMaximumPaths = 1U << 20U;

  // What the trace told of a mount.
  void mounted(const MountInfo& mount);
  // The trace tells this file's size, or the run made the file.
  void known(std::string_view path);
  void moved(std::string_view from, std::string_view to);
  void removed(std::string_view path);

  // Files removed of which the trace has no size, and by filesystem the deepest directory that held them all.
  [[nodiscard]] std::uint64_t unseen() const { return overflowed_ ? 0 : unseen_; }
  [[nodiscard]] std::vector<ChangingRoots::Root> directories() const { return directories_.roots(); }
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  struct Mount {
    std::string point;
    DeviceId device;
    bool shows_removals = false;
  };
  [[nodiscard]] const Mount* mount_of(std::string_view path) const;

  std::vector<Mount> mounts_;
  std::unordered_set<std::uint64_t> known_;
  ChangingRoots directories_;
  std::uint64_t unseen_ = 0;
  bool overflowed_ = false;
};

}  // namespace iotape
