// The command a recording is made of: started stopped, so that everything it does after its exec is seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/base/file_descriptor.h"
#include "format/base/result.h"
#include "format/base/strong_id.h"

namespace iotape {

struct RunAs {
  std::string name;
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::string home;
};
// A user by name or number.
Result<RunAs> find_user(const std::string& name);

class WorkloadProcess {
 public:
  struct Options {
    std::vector<std::string> words;  // at least one
    std::optional<RunAs> run_as;
    bool output_to_error = false;  // the trace itself goes to standard output
  };
  // Forks; the child waits. Must be called while the caller has one thread.
  static Result<WorkloadProcess> start(const Options& options);
  WorkloadProcess(WorkloadProcess&&) = default;
  WorkloadProcess& operator=(WorkloadProcess&&) = default;
  // A child that was never released is ended and reaped; a running one is left alone.
  ~WorkloadProcess();

  [[nodiscard]] ProcessId id() const { return ProcessId(child_); }
  // Lets it go. The errno of its exec when that failed (then it has been reaped), 0 when it runs.
  Result<int> release();
  // Its status as wait(2) reports it once it has ended, without waiting.
  std::optional<std::int32_t> poll();

 private:
  WorkloadProcess() = default;
  std::int32_t child_ = -1;
  FileDescriptor go_;      // closing it without a byte ends the child
  FileDescriptor failed_;  // the child's errno, or end of file when exec worked
};

}  // namespace iotape
