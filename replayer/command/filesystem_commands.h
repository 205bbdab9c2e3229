// iotape mkfs and iotape check: the built-in ext3's images, made and judged.
#pragma once

#include "format/base/command.h"

namespace iotape {

int run_mkfs(CommandCall& call);
int run_check(CommandCall& call);

}  // namespace iotape
