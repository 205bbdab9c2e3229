// --threshold, the same for every command that counts seeks.
#pragma once

#include <cstdint>

namespace CLI {
class App;
}

namespace iotape {

// Takes a size; `sectors` must outlive the parse.
void add_threshold_option(CLI::App& app, std::uint64_t& sectors);

}  // namespace iotape
