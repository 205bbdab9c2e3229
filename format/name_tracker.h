// What processes and files were called, learned from the events that have passed.
//
// File names are the ones a file was last seen under (a working directory, an inherited descriptor, a first touch, an
// open): they are for people to read. Nothing is resolved by them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "format/event.h"

namespace iotape {

class NameTracker {
 public:
  void observe(const EventBody& body);

  // comm of the thread, else of its process, else empty.
  [[nodiscard]] std::string_view command(ThreadKey thread) const;
  // Empty when no name is known.
  [[nodiscard]] std::string_view path(const FileReference& file) const;
  // path led by the name of its directory; empty when that is not known either. Not normalised.
  [[nodiscard]] std::string absolute(const PathArgument& path) const;

 private:
  struct Observer;
  void name_file(const FileReference& file, std::string path);
  void name_thread(std::int32_t thread, std::string command);

  std::unordered_map<std::int32_t, std::string> commands_;  // by thread id
  std::unordered_map<FileIdentity, std::string> paths_;
  std::size_t path_bytes_ = 0;  // given to paths_ since it was last empty
};

}  // namespace iotape
