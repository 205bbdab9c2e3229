// Ageing: makes a fresh filesystem look used before an experiment's first step: files of many sizes in many
// directories, then some of them replaced, again and again, at a given fill. Deterministic by seed, through the Target
// interface, so on any target that has a size.
#pragma once

#include <functional>

#include "format/experiment_spec.h"
#include "replayer/target/target.h"
#include "replayer/target/target_spec.h"

namespace iotape {

// The directory everything is made in, which stays.
inline constexpr std::string_view kAgedDirectory = "/aged";

// kUsage for a target that has no size; kInterrupted when stopped says so.
Result<void> age_target(Target& target, const TargetSpec& spec, const ExperimentAge& age,
                        const std::function<bool()>& stopped);

}  // namespace iotape
