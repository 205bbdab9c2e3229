// `iotape record` and `iotape doctor`.
#pragma once

#include "format/base/command.h"

namespace iotape {

int run_record(CommandCall& call);
int run_doctor(CommandCall& call);

}  // namespace iotape
