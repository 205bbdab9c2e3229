#include "replayer/target/make_target.h"

#include <fmt/format.h>

#include "replayer/target/directory_place.h"
#include "replayer/target/ext3_target.h"
#include "replayer/target/kernel_place.h"
#include "replayer/target/null_target.h"
#include "replayer/target/sandboxed_target.h"

namespace iotape {
namespace {

Result<std::unique_ptr<Target>> on_place(const TargetSpec& spec, const TargetOptions& options,
                                         Result<std::unique_ptr<TargetPlace>> place) {
  if (!place) return tl::make_unexpected(std::move(place).error());
  IOTAPE_ASSIGN(const Nanoseconds block_limit, spec.duration_value("block_limit"));
  IOTAPE_ASSIGN(const Nanoseconds block_total, spec.duration_value("block_total"));
  return std::make_unique<SandboxedTarget>(std::move(*place), options, BlockLimits{block_limit, block_total});
}

}  // namespace

Result<std::unique_ptr<Target>> make_target(const TargetSpec& spec, const TargetOptions& options) {
  if (spec.help) return failure(ErrorCode::kUsage, target_help(spec.kind));
  if (spec.kind == "null") return std::make_unique<NullTarget>();
  if (spec.kind == "ext3") return make_ext3_target(spec, options);
  if (spec.kind == "dir") return on_place(spec, options, make_directory_place(spec, options));
  if (spec.kind == "kernel") return on_place(spec, options, make_kernel_place(spec, options));
  return failure(ErrorCode::kUnsupported, fmt::format("{}: targets are not in this build", spec.kind));
}

}  // namespace iotape
