#include "analysis/command/threshold_option.h"

#include <CLI/CLI.hpp>

#include "analysis/seek_statistics.h"
#include "format/base/units.h"

namespace iotape {

void add_threshold_option(CLI::App& app, std::uint64_t& sectors) {
  app.add_option_function<std::string>(
      "--threshold",
      [&sectors](const std::string& text) {
        const auto bytes = parse_size(text);
        if (!bytes) throw CLI::ValidationError("--threshold", bytes.error().message);
        sectors = *bytes / kSectorBytes;
      },
      "A longer distance is a seek (64K)");
}

}  // namespace iotape
