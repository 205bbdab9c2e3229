// Worksite: the directory a workload works in, as plain system calls, and the count of what was done there.
//
// Names are relative to the directory, which is held open; nothing outside is touched. A file or directory that exists
// already is an error: a workload makes what it uses. Every error names the file and, for a full filesystem, says
// whether blocks or inodes ran out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/base/file_descriptor.h"
#include "format/base/result.h"

namespace iotape::workload {

struct Totals {
  std::uint64_t files_created = 0;
  std::uint64_t directories_created = 0;
  std::uint64_t files_deleted = 0;
  std::uint64_t files_renamed = 0;
  std::uint64_t entries_listed = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t bytes_read = 0;

  void add(const Totals& other);
};

class Worksite {
 public:
  // Opens the directory, making it when it does not exist (its parent must).
  static Result<Worksite> open(const std::string& path);

  [[nodiscard]] const Totals& totals() const { return totals_; }
  void add(const Totals& other) { totals_.add(other); }
  [[nodiscard]] const std::string& path() const { return path_; }

  Result<void> make_directory(const std::string& name);
  Result<void> make_empty_file(const std::string& name);
  // Writes content in calls of at most block bytes, as tar and cp do.
  Result<void> make_file(const std::string& name, std::string_view content, std::size_t block);
  Result<void> set_modification_time(const std::string& name, std::int64_t seconds_since_1970);
  Result<void> unlink(const std::string& name);
  Result<void> remove_directory(const std::string& name);
  Result<void> rename(const std::string& from, const std::string& to);
  // Opens for writing; truncates what is there. flags are more O_ bits.
  Result<FileDescriptor> open_for_writing(const std::string& name, int flags);
  Result<void> write_all(const FileDescriptor& file, const std::string& name, std::string_view bytes);
  // Reads a file from beginning to end.
  Result<void> read_file(const std::string& name, std::size_t block);
  // The names in a directory ("." is the worksite itself), in the order the filesystem gives them.
  Result<std::vector<std::string>> list(const std::string& name);
  // ls -lRa: reads every directory below and stats every entry.
  Result<void> list_recursively(const std::string& name);

 private:
  Worksite(std::string path, FileDescriptor directory) : path_(std::move(path)), directory_(std::move(directory)) {}
  [[nodiscard]] tl::unexpected<Error> refused(std::string_view doing, std::string_view name, int os_errno) const;

  std::string path_;
  FileDescriptor directory_;
  Totals totals_;
};

}  // namespace iotape::workload
