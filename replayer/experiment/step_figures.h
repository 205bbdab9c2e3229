// What one step of one run did, phase by phase, from its result trace.
#pragma once

#include <string>
#include <vector>

#include "analysis/signed_log2_histogram.h"
#include "format/base/file_descriptor.h"
#include "format/base/result.h"
#include "format/event.h"

namespace iotape {

// For which structure the head travelled.
struct CauseFigures {
  std::string cause;
  std::uint64_t requests = 0;
  std::uint64_t seeks = 0;
  std::uint64_t distance = 0;  // sectors
};

struct PhaseFigures {
  Nanoseconds time;  // from the phase's first call to the next phase's, or to the end of the last call
  // Until what it left to be written was written as well: hidden phases after it, and the settling of the step for the
  // last. Else as time.
  Nanoseconds settled;
  std::uint64_t calls = 0;
  std::uint64_t mismatches = 0;  // calls that ended otherwise than recorded

  // Requests by the time of their issue; those of hidden phases and of the write-back after the last call belong to the
  // shown phase before.
  bool has_requests = false;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t jumps = 0;     // requests that do not begin where the one before ended
  std::uint64_t seeks = 0;     // those of them that are longer than the threshold
  std::uint64_t distance = 0;  // sectors
  std::uint64_t median_distance = 0;
  double sequential_share = 0;
  SignedLog2Histogram histogram;
  std::vector<CauseFigures> causes;  // the longest distance first
};

struct StepTimes {
  Nanoseconds begin;
  std::vector<Nanoseconds> boundaries;  // where phases after the first begin
  Nanoseconds end;                      // of the last call
  Nanoseconds settled;                  // when everything was written back
};

// Reads the trace behind the descriptor from its beginning. shown: of each phase there should be; those that were never
// reached stay empty. threshold in sectors.
Result<std::vector<PhaseFigures>> read_step_figures(const FileDescriptor& trace, const std::string& name,
                                                    const StepTimes& times, const std::vector<bool>& shown,
                                                    std::uint64_t threshold);

}  // namespace iotape
