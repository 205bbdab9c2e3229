// SyntheticWorkload: the classic workloads as events made from parameters, so that a step can be of any size and needs
// no recording. `iotape workload` makes the same calls for real; here the names, orders and sizes are what counts.
//
//   "manyfiles count=300000 do=create order=random"
//
// The same words give the same events everywhere. One thing only the target can tell: in which order it lists a
// directory (order=readdir); whoever runs the workload asks it before.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/base/result.h"
#include "replayer/engine/event_source.h"

namespace iotape {

class SyntheticWorkload {
 public:
  // NAME key=value ...; kUsage, naming what there is.
  static Result<SyntheticWorkload> parse(std::string_view text);

  // The directory whose order open() must be told; nullopt when none matters.
  [[nodiscard]] std::optional<std::string> listed_directory() const;
  // listing: the names of that directory as the target gave them.
  [[nodiscard]] EventSourceOpener open(std::vector<std::string> listing = {}) const;
  // With every value, those that were left out too.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string name_;
  std::map<std::string, std::string, std::less<>> words_;
  std::map<std::string, std::uint64_t, std::less<>> numbers_;
};

// One line per workload and key.
[[nodiscard]] std::string synthetic_workloads_help();

}  // namespace iotape
