// iotape experiment. It needs a recorder for targets that do not make their own requests, which iotape.cc hands in.
#pragma once

#include "format/base/command.h"
#include "replayer/engine/self_recorder.h"

namespace iotape {

int run_experiment(CommandCall& call, const SelfRecorderFactory& make_recorder);

}  // namespace iotape
