// An experiment's result as one HTML page that needs nothing else: inline SVG, no script, no font, no link; light or
// dark as the reader's system is.
#pragma once

#include <string>

#include "replayer/experiment/experiment_results.h"

namespace iotape {

[[nodiscard]] std::string experiment_html(const ExperimentResult& result);

}  // namespace iotape
