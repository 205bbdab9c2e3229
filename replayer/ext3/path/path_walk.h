// From a path to an inode: components, ".", "..", symbolic links, search permission, and the limits of
// path_resolution(7).
//
// REQUIRES: inside the monitor, no lock and no handle held. May wait. Errnos are those of the system calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "replayer/ext3/inode.h"
#include "replayer/ext3/path/permission.h"

namespace iotape::ext3 {

struct Volume;

inline constexpr std::size_t kPathLimit = 4096;     // bytes, the terminating NUL counted
inline constexpr std::uint32_t kSymlinkLimit = 40;  // followed in one walk

enum class LastSymlink : std::uint8_t {
  kFollow,
  kKeep,   // unless a slash follows it
  kNever,  // calls that make, rename and remove names; a last component may be longer than any name then
};

struct WalkStart {
  InodeReference root;     // where "/" and its ".." lead
  InodeReference current;  // where a relative path begins
  // openat2(2): a way out of the root is refused (EXDEV) rather than led back to it; links are not followed (ELOOP).
  bool beneath = false;
  bool no_symlinks = false;
  // Nothing is mounted below, but the kernel takes an absolute link for a crossing when the walk has not met its root
  // before (EXDEV).
  bool no_crossing = false;
};

// Where a path ends: the directory that holds its last component, and what is there now.
struct PathEnd {
  InodeReference directory;        // empty when the path ends in "/", "." or ".."
  std::string name;                // the last component, symbolic links followed as asked
  InodeReference inode;            // empty: the name does not exist
  bool must_be_directory = false;  // a slash came after it
  bool dots = false;               // it was "." or "..": only `inode` is set
};

// The last component may be missing; everything before it must exist. ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG.
Answer<PathEnd> walk_path(Volume& volume, const WalkStart& start, std::string_view path, LastSymlink last,
                          const Credentials& credentials);
// Likewise, and the last component must exist: ENOENT; ENOTDIR when a slash says it is a directory and it is not.
Answer<InodeReference> find_path(Volume& volume, const WalkStart& start, std::string_view path, LastSymlink last,
                                 const Credentials& credentials);

}  // namespace iotape::ext3
