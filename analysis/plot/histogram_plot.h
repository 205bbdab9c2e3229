// Seek histograms of one or several traces on one symmetric logarithmic axis: backward to the left, zero in the middle.
#pragma once

#include <string>
#include <vector>

#include "analysis/plot/canvas.h"
#include "analysis/seek_analysis.h"

namespace iotape {

inline constexpr double kHistogramWidth = 1120;
[[nodiscard]] double histogram_height(const std::vector<SeekReport>& reports);
void draw_histograms(std::vector<SeekReport>& reports, Canvas& canvas);

}  // namespace iotape
