// ext3: on the simulated machine: virtual clock, processors, cache, journal and write-back threads, block queue, disk.
//
// Each traced thread is a fiber: it spends the processor's part of its calls, and waits for reads, for a full journal,
// for dirty throttling and for others' locks, as it would. Nothing depends on the host's speed: the same trace, target
// and seed give the same result everywhere. replayer/machine/MODEL.md states what is modelled and what is not.
#pragma once

#include <memory>

#include "replayer/target/ext3_settings.h"
#include "replayer/target/make_target.h"

namespace iotape {

// REQUIRES: settings.machine. Errors as make_ext3_target.
Result<std::unique_ptr<Target>> make_machine_target(const TargetSpec& spec, Ext3Settings settings,
                                                    const TargetOptions& options);

}  // namespace iotape
