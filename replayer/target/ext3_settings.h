// The keys of an ext3: target, read into what mkfs and mount take.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/disk/disk_profile.h"
#include "format/base/result.h"
#include "format/base/strong_id.h"
#include "replayer/ext3/make_filesystem.h"
#include "replayer/ext3/mount_options.h"
#include "replayer/machine/elevator.h"
#include "replayer/target/target_spec.h"

namespace iotape {

// The simulated machine, where there is one (disk=).
struct MachineSettings {
  DiskProfile disk;
  machine::ElevatorKind elevator = machine::ElevatorKind::kClook;
  int position_halves = 0;   // of what the filesystem leaves free of the disk, before it: outer, middle, inner
  Sectors position;          // of the filesystem on the disk: see place_on_disk
  std::uint64_t memory = 0;  // bytes, all of it; the cache has what memory_for_cache leaves
  double cpu = 1;            // how many times as long the processor takes as the recorded one
  std::uint32_t cpus = 1;
};
// What of a machine's memory caches the disk: the kernel and the processes have 16 MiB and an eighth.
[[nodiscard]] constexpr std::uint64_t memory_for_cache(std::uint64_t memory) {
  constexpr std::uint64_t kKernel = std::uint64_t{16} << 20U;
  const std::uint64_t others = kKernel + memory / 8;
  return memory > 2 * others ? memory - others : memory / 2;
}

struct Ext3Settings {
  std::uint64_t bytes = 0;  // of the disk
  ext3::FilesystemOptions make;
  ext3::MountOptions mount;
  std::optional<MachineSettings> machine;
};

// Finds the position of a filesystem of that many bytes. kUsage when the disk is too small.
Result<void> place_on_disk(MachineSettings& machine, std::uint64_t bytes);

// kUsage, naming the key and what it takes.
Result<Ext3Settings> read_ext3_settings(const TargetSpec& spec);

}  // namespace iotape
