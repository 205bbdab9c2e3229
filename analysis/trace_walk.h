// Walks a trace file for an analysis: opens it, judges every event by the selection, and says at the end how far the
// file can be trusted.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/trace_condition.h"
#include "format/base/result.h"
#include "format/selection.h"
#include "format/trace_reader.h"

namespace iotape {

struct WalkNeeds {
  bool syscalls = true;
  bool requests = true;
};

struct WalkEnd {
  TraceHeader header;
  ReadReport report;
  std::vector<std::string> unmatched;  // selection's words that nothing agreed with
};

using EventVisitor = std::function<void(const Event& event, Selected selected)>;

Result<WalkEnd> walk_trace(const std::string& path, const SelectionOptions& selection, WalkNeeds needs,
                           const EventVisitor& visit);

}  // namespace iotape
