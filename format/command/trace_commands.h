// The subcommands that show traces and turn them into others. Each takes its words and answers with its exit status.
#pragma once

#include "format/base/command.h"

namespace iotape {

int run_info(CommandCall& call);
int run_dump(CommandCall& call);
int run_convert(CommandCall& call);
int run_cut(CommandCall& call);
int run_merge(CommandCall& call);
int run_recover(CommandCall& call);

}  // namespace iotape
