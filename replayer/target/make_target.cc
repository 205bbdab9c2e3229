#include "replayer/target/make_target.h"

#include <fmt/format.h>

#include "replayer/target/null_target.h"

namespace iotape {

Result<std::unique_ptr<Target>> make_target(const TargetSpec& spec, const TargetOptions& options) {
  static_cast<void>(options);
  if (spec.help) return failure(ErrorCode::kUsage, target_help(spec.kind));
  if (spec.kind == "null") return std::make_unique<NullTarget>();
  return failure(ErrorCode::kUnsupported, fmt::format("{}: targets are not in this build", spec.kind));
}

}  // namespace iotape
