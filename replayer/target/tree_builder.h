// Makes the files a replay expects to find, as fast as is sane, with their modes, times, links and attributes.
//
// Runs inside the sandbox: a hostile tree's symbolic links lead nowhere. Missing parents are made (0755). Modes, owners
// and times of directories are set last, deepest first, since filling a directory changes them.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/base/result.h"
#include "replayer/target/make_target.h"
#include "replayer/target/policy.h"

namespace iotape {

// Bytes the tree's files take on disk.
std::uint64_t tree_bytes(const InitialTree& tree);

// Under the working directory's root "/", then syncs it. done counts nodes. An Error names the node.
// A device node that the policy refuses becomes an empty regular file, so that calls on its name still find one.
Result<void> build_tree(const InitialTree& tree, Fill fill, std::uint64_t seed, const Policy& policy,
                        std::atomic<std::uint64_t>& done);

}  // namespace iotape
