// From traces to a picture of bounded size.
#pragma once

#include <string>
#include <vector>

#include "analysis/plot/scatter.h"
#include "analysis/seek_analysis.h"
#include "format/selection.h"

namespace iotape {

inline constexpr std::size_t kMostPanels = 12;
inline constexpr std::size_t kMostPanelsPerTrace = 4;

// Reads each trace twice: for the extents, then for the grids. columns and rows are cells of each panel.
Result<ScatterPlot> collect_scatter(PlotKind kind, const std::vector<std::string>& traces,
                                    const SelectionOptions& selection, std::uint64_t threshold, int columns, int rows);

}  // namespace iotape
