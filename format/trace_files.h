// Opening and creating trace files the way every command does it: "-" is standard input or output, a file of another
// format is named as what it is, nothing is overwritten unless asked.
#pragma once

#include <memory>
#include <string>

#include "format/base/result.h"
#include "format/trace_header.h"
#include "format/trace_reader.h"
#include "format/trace_writer.h"

namespace iotape {

[[nodiscard]] Result<std::unique_ptr<TraceReader>> open_trace(const std::string& path, ReaderOptions options = {});

// Creates path with mode 0600; fails when it exists unless force. "-" gives a duplicate of standard output.
[[nodiscard]] Result<FileDescriptor> create_output(const std::string& path, bool force);
// Adds the command to the header's history and starts a trace in a file of that name. Times keep the header's
// resolution.
[[nodiscard]] Result<std::unique_ptr<TraceWriter>> create_trace(const std::string& path, bool force, TraceHeader header,
                                                                std::string history);

// Whether two paths lead to one existing file ("-" never does).
[[nodiscard]] bool is_same_file(const std::string& a, const std::string& b);

// "a/b.blktrace.0" -> "b.blktrace.0": what the history may say of a file.
[[nodiscard]] std::string file_name_of(const std::string& path);

}  // namespace iotape
