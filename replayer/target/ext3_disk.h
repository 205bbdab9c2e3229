// The bytes under an ext3: target: a disk in memory or an image, with a filesystem made on it when it is new.
#pragma once

#include <memory>

#include "format/base/result.h"
#include "replayer/ext3/device/block_device.h"
#include "replayer/target/ext3_settings.h"
#include "replayer/target/target_spec.h"

namespace iotape {

struct Ext3Disk {
  std::unique_ptr<ext3::BlockDevice> device;
  bool fresh = true;  // the filesystem was made just now
};

// made_at: seconds since 1970 that a new filesystem is dated. kIo, kUsage, kCorrupt.
Result<Ext3Disk> open_ext3_disk(const TargetSpec& spec, Ext3Settings& settings, std::int64_t made_at);

}  // namespace iotape
