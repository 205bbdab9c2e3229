// What recording one call costs the traced thread, measured on this machine at this moment: a child makes a cheap file
// call many times, before the hooks are there and then recorded.
#pragma once

#include <memory>

#include "format/base/file_descriptor.h"
#include "format/base/result.h"
#include "format/base/strong_id.h"

namespace iotape {

class Calibration {
 public:
  // Starts the child, which measures the plain cost at once and then waits.
  static Result<Calibration> start();
  Calibration(Calibration&&) = default;
  Calibration& operator=(Calibration&&) = default;
  ~Calibration();

  [[nodiscard]] ThreadId child() const { return ThreadId(child_); }
  // The child measures again, now recorded; the difference per call, at least 0.
  Result<Nanoseconds> finish();

 private:
  Calibration() = default;
  std::int32_t child_ = -1;
  FileDescriptor to_child_;
  FileDescriptor from_child_;
};

}  // namespace iotape
