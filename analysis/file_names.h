// FileNames: the best path known for each file of a trace, learned from its events in order. A path as it was given is
// joined to its directory's path where that is known. For labels only: names change, the last one seen wins.
#pragma once

#include <string>
#include <unordered_map>

#include "format/event.h"

namespace iotape {

class FileNames {
 public:
  void learn(const EventBody& body);
  // The path, or "inode 12 on 7:0" when none was seen.
  [[nodiscard]] std::string name_of(const FileIdentity& file) const;

 private:
  void learn_call(const Syscall& call);
  void put(const FileReference& file, std::string path);
  [[nodiscard]] std::string join(const FileReference& directory, const std::string& path) const;

  static constexpr std::size_t kMaximumNames = 1'000'000;
  // A name is made of its directory's and its own: one that leads to itself would grow with every event.
  static constexpr std::size_t kLongestName = 64U << 10U;
  std::unordered_map<FileIdentity, std::string> paths_;
};

}  // namespace iotape
