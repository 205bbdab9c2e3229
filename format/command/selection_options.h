// Puts --from --to --device --op --process --path --syscall on a command line. What they mean: format/selection.h.
#pragma once

#include "format/selection.h"

namespace CLI {
class App;
}

namespace iotape {

// options must outlive the parse. A value that is no time, operation or system call is a usage error naming the
// nearest.
void add_selection_options(CLI::App& app, SelectionOptions& options);

}  // namespace iotape
