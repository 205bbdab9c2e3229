// ReplayRoots: which part of the recorded namespace is replayed, and where inside the target it lies.
//
// A root is a directory of the trace (found by its place in the NameSpace, never by comparing strings) and the path
// inside the target that stands for it. What lies under no root is external. A root chosen by default ends at mount
// points below it; one that was asked for with --map goes through them. proc, sysfs and their like are never inside.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/base/result.h"
#include "replayer/engine/name_space.h"

namespace iotape {

struct PathMapping {
  std::string from;  // absolute path in the trace
  std::string to;    // absolute path inside the target
};
// "FROM=TO"; a '=' inside FROM is written twice.
Result<PathMapping> parse_path_mapping(std::string_view text);

struct ReplayRoot {
  FileIndex directory = kNoFile;
  std::string from;
  std::string to;  // without a trailing slash; empty for the target's top
  bool through_mounts = false;
};

class ReplayRoots {
 public:
  // Marks the root directory in names. Adding the same directory twice keeps the first.
  void add(NameSpace& names, ReplayRoot root);
  // Marks the same roots in the second pass's names.
  void mark(NameSpace& names) const;

  [[nodiscard]] bool contains(const NameSpace& names, FileIndex file) const { return find(names, file) != nullptr; }
  // Whether one root holds both: then a way from one to the other is the same in the target.
  [[nodiscard]] bool together(const NameSpace& names, FileIndex a, FileIndex b) const {
    return roots_.size() < 2 || find(names, a) == find(names, b);
  }
  // Where the file lies inside the target today; nullopt when it is external or has no place.
  [[nodiscard]] std::optional<std::string> target_path(const NameSpace& names, FileIndex file) const;
  // Where it lay before the first call.
  [[nodiscard]] std::optional<std::string> initial_target_path(const NameSpace& names, FileIndex file) const;
  [[nodiscard]] const std::vector<ReplayRoot>& all() const { return roots_; }

 private:
  [[nodiscard]] const ReplayRoot* find(const NameSpace& names, FileIndex file) const;
  std::vector<ReplayRoot> roots_;
};

}  // namespace iotape
