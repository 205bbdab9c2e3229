// An experiment's result for the terminal, and the words and numbers that text, HTML and JSON share.
#pragma once

#include <string>

#include "format/base/command.h"
#include "replayer/experiment/experiment_results.h"

namespace iotape {

// Tables, claims and histograms, at most terminal.width columns.
[[nodiscard]] std::string experiment_report_text(const ExperimentResult& result, const Terminal& terminal);

// "unpack, orlov over classic"; "delete over create, default".
[[nodiscard]] std::string claim_name(const ExperimentClaim& claim);
// A number of the claim's metric: "0.68" for ratios, "249.3 s", "1,602".
[[nodiscard]] std::string claim_number(const ExperimentClaim& claim, double value);
// "0.80 to 0.95", "at most 0.48", "" without a band.
[[nodiscard]] std::string claim_band(const ExperimentClaim& claim);
// "1.8 TiB" for sectors.
[[nodiscard]] std::string distance_text(std::uint64_t sectors);
// What the head travelled for: "inode table 61 %, directory leaf 30 %"; "" without seeks.
[[nodiscard]] std::string causes_text(const PhaseFigures& figures, std::size_t most);
// The label of a histogram's bin, by its least distance: "0", "512B", "64K".
[[nodiscard]] std::string distance_bin_label(int bin);

}  // namespace iotape
