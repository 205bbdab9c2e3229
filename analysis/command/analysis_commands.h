// The run functions behind analysis_commands().
#pragma once

#include "format/base/command.h"

namespace iotape {

int run_seeks(CommandCall& call);
int run_compare(CommandCall& call);
int run_plot(CommandCall& call);

}  // namespace iotape
