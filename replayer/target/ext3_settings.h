// The keys of an ext3: target, read into what mkfs and mount take.
#pragma once

#include "format/base/result.h"
#include "replayer/ext3/make_filesystem.h"
#include "replayer/ext3/mount_options.h"
#include "replayer/target/target_spec.h"

namespace iotape {

struct Ext3Settings {
  std::uint64_t bytes = 0;  // of the disk
  ext3::FilesystemOptions make;
  ext3::MountOptions mount;
};

// kUsage, naming the key and what it takes.
Result<Ext3Settings> read_ext3_settings(const TargetSpec& spec);

}  // namespace iotape
