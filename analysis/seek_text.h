// A SeekReport for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "analysis/seek_analysis.h"
#include "format/base/command.h"

namespace iotape {

// Tables and histograms, at most terminal.width columns.
[[nodiscard]] std::string seek_text(SeekReport& report, const Terminal& terminal);

// The histogram alone: one line per power of two, backward to the left, forward to the right.
[[nodiscard]] std::string histogram_text(const SignedLog2Histogram& histogram, std::uint64_t threshold_sectors,
                                         const Terminal& terminal);

// "schema": "iotape.seeks/1", one entry per trace.
[[nodiscard]] std::string seek_json(std::vector<SeekReport>& reports);

// "128 sectors (64.0 KiB)".
[[nodiscard]] std::string sectors_text(std::uint64_t sectors);

}  // namespace iotape
