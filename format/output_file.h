// OutputFile: a result that is there whole or not at all.
//
// For commands whose output is of no use before it is complete (cut, merge, recover, convert, plot). The bytes go to a
// file without a name in the same directory (where the filesystem has such; else to one named NAME.partial-...), which
// gets its name when it is complete: a full disk, a failure or a signal leaves nothing behind and what --force replaces
// stays as it was. What must be readable while it grows (a recording, a replay's trace) uses create_output of
// trace_files.h instead.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "format/base/file_descriptor.h"
#include "format/base/result.h"

namespace iotape {

inline constexpr mode_t kTraceMode = 0600;    // file names are the workload's business
inline constexpr mode_t kPictureMode = 0666;  // less the umask

class OutputFile {
 public:
  // "-" is standard output, a device or pipe is written in place with force; both are as they come. Fails with kUsage
  // when path exists and force is false.
  [[nodiscard]] static Result<OutputFile> create(const std::string& path, bool force, mode_t mode = kTraceMode);
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  // A duplicate, for a writer that owns its descriptor. A regular file can be read back through it.
  [[nodiscard]] Result<FileDescriptor> descriptor() const;
  [[nodiscard]] Result<void> write(std::string_view bytes) const;
  // The file gets its name. Nothing may be written afterwards. Errors that only closing tells count as failures.
  [[nodiscard]] Result<void> commit();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit OutputFile(std::string path) : path_(std::move(path)) {}
  Result<void> open_beside(mode_t mode);
  Result<void> give_temporary_name();

  std::string path_;       // as given, for messages
  std::string final_;      // where it will be; empty when written in place
  std::string temporary_;  // its name until then; empty while it has none
  bool force_ = false;
  FileDescriptor file_;
};

}  // namespace iotape
