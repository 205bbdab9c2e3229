// What recording needs of the machine, one entry per need with what was found and the remedy. `iotape doctor` prints
// all of them; `record` names the first that is not met.
#pragma once

#include <string>
#include <vector>

#include "format/base/result.h"

namespace iotape {

struct Requirement {
  std::string name;
  bool met = false;
  bool optional = false;  // recording works without it, with less in it
  std::string found;
  std::string remedy;  // empty when met
};

[[nodiscard]] std::vector<Requirement> survey_requirements();
// The first requirement that is not met and not optional, as an Error. Cheap: reads a few files.
Result<void> check_requirements();
// What a refused load of the kernel side most likely means on this machine.
[[nodiscard]] Error explain_load_failure(int os_errno);

}  // namespace iotape
