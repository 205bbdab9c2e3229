// Opening and creating trace files the way every command does it: "-" is standard input or output, a file of another
// format is named as what it is, nothing is overwritten unless asked.
//
// Two ways to create: create_output gives a file that grows under its name and can be read as far as it got (a
// recording, a replay's trace); TraceFile one that appears when it is complete (copies of traces).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "format/base/result.h"
#include "format/output_file.h"
#include "format/trace_header.h"
#include "format/trace_reader.h"
#include "format/trace_writer.h"

namespace iotape {

[[nodiscard]] Result<std::unique_ptr<TraceReader>> open_trace(const std::string& path, ReaderOptions options = {});

// Creates path with mode 0600; fails when it exists unless force. "-" gives a duplicate of standard output.
[[nodiscard]] Result<FileDescriptor> create_output(const std::string& path, bool force);

// Takes away again what create_output made and nothing came of: a file, never the device that somebody named.
void remove_output(const std::string& path);

// A trace made from others: whole under its name, or not there.
class TraceFile {
 public:
  // Adds the command to the header's history. Times keep the header's resolution.
  [[nodiscard]] static Result<TraceFile> create(const std::string& path, bool force, TraceHeader header,
                                                std::string history);
  [[nodiscard]] TraceWriter& writer() { return *writer_; }
  [[nodiscard]] Result<void> finish(TraceTotals totals);

 private:
  TraceFile(OutputFile file, std::unique_ptr<TraceWriter> writer)
      : file_(std::move(file)), writer_(std::move(writer)) {}

  OutputFile file_;
  std::unique_ptr<TraceWriter> writer_;
};

// Whether two paths lead to one file, which may not exist yet ("-" and "" never do).
[[nodiscard]] bool is_same_file(const std::string& a, const std::string& b);
// kUsage when the output is one of the files that the command reads or works on: --force is not meant for those.
[[nodiscard]] Result<void> check_output(const std::string& output, const std::vector<std::string>& needed);

// "a/b.blktrace.0" -> "b.blktrace.0": what the history may say of a file.
[[nodiscard]] std::string file_name_of(const std::string& path);

}  // namespace iotape
