// StepTrace: the result trace of one step. It gets its name, where it is to be kept, when it is complete; else it is a
// file without a name that goes with this object.
#pragma once

#include <string>

#include "format/base/file_descriptor.h"
#include "format/output_file.h"

namespace iotape {

class StepTrace {
 public:
  // path empty: not kept. kUsage when it exists and force is false.
  static Result<StepTrace> create(const std::string& path, bool force);

  // For the writer, and for reading what was written.
  [[nodiscard]] Result<FileDescriptor> descriptor() const { return file_.descriptor(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  Result<void> keep();

 private:
  StepTrace(OutputFile file, std::string name, bool kept)
      : file_(std::move(file)), name_(std::move(name)), kept_(kept) {}

  OutputFile file_;
  std::string name_;
  bool kept_;
};

// Whether two files hold the same bytes. Errors of reading count as failures.
Result<bool> same_bytes(const FileDescriptor& a, const FileDescriptor& b);

}  // namespace iotape
