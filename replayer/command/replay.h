// iotape replay TRACE TARGET: repeats a trace on a target and says how it went.
#pragma once

#include "format/base/command.h"
#include "replayer/engine/self_recorder.h"

namespace iotape {

// make_recorder gives what records the requests of the target's device, or an Error that says why it cannot (the result
// then holds calls only); empty when there is none.
int run_replay(CommandCall& call, const SelfRecorderFactory& make_recorder);

}  // namespace iotape
