// DirectCalls: calls of the tool's own on a target, between replays: to age a filesystem, to ask for a directory's
// order.
#pragma once

#include <string>
#include <vector>

#include "replayer/target/target.h"

namespace iotape {

class DirectCalls {
 public:
  // Starts a thread on the target; end() lets it go. REQUIRES: no thread of a replay lives, target outlives this.
  static Result<DirectCalls> begin(Target& target);
  Result<void> end();

  Result<Completion> call(std::uint32_t number, Operation operation);
  // The answer's errno is an Error here: these calls have no reason to fail.
  Result<std::int64_t> expect(std::uint32_t number, Operation operation, std::string_view doing);

  // "." and ".." left out, in the target's order. path is inside the target.
  Result<std::vector<std::string>> list(const std::string& path);

 private:
  explicit DirectCalls(Target& target) : target_(&target) {}
  Target* target_;
};

// A path argument inside the target.
[[nodiscard]] PathArgument inside_target(std::string path);

}  // namespace iotape
