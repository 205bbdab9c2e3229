// An experiment's result for programs: "schema": "iotape.experiment/1".
#pragma once

#include <string>

#include "replayer/experiment/experiment_results.h"

namespace iotape {

[[nodiscard]] std::string experiment_json(const ExperimentResult& result);

}  // namespace iotape
