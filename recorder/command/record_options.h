// The command line of `iotape record`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/base/command.h"
#include "recorder/probe.h"

namespace iotape {

struct RecordOptions {
  std::string output;
  bool force = false;
  std::vector<std::int32_t> processes;
  bool all = false;
  std::string cgroup;
  std::string user;
  std::optional<Nanoseconds> window;
  std::vector<std::string> devices;
  bool calls = true;
  bool block = true;
  std::uint64_t ring_bytes = 64ULL << 20U;
  bool states = true;
  std::vector<std::string> trees;
  bool cold = false;
  ArgumentPolicy arguments = ArgumentPolicy::kName;
  bool stacks_failed = false;
  Nanoseconds stacks_slower_than{0};
  std::optional<std::uint64_t> max_size;
  std::optional<std::uint64_t> min_free;
  bool strict = false;
  std::vector<std::string> command;
};

// -1: go on; anything else is the exit status to return.
int parse_record_options(CommandCall& call, RecordOptions& options);

}  // namespace iotape
