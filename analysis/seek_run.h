// From trace files to printed tables: what `seeks` and `stat` do after their options are known.
#pragma once

#include <string>

#include "analysis/call_statistics.h"
#include "analysis/seek_analysis.h"
#include "analysis/trace_walk.h"

namespace iotape {

Result<SeekReport> analyse_seeks(const std::string& path, const SelectionOptions& selection,
                                 const SeekOptions& options);

// The seek and call tables of one recorded file, to terminal.out. `iotape stat COMMAND` records to a temporary file and
// calls this. Returns an exit status.
int run_stat(const std::string& path, const Terminal& terminal);

}  // namespace iotape
