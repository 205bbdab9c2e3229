// FreshPlace: what lets one target be made at the same place again and again. A directory that was empty is emptied
// after each use, an image that was not there is removed; kernel: and memory targets need neither.
#pragma once

#include <string>

#include "format/base/result.h"
#include "replayer/target/target_spec.h"

namespace iotape {

class FreshPlace {
 public:
  // Before the target is made. kUsage when the place holds something: it is not ours to remove.
  static Result<FreshPlace> claim(const TargetSpec& spec);
  // After the target is gone.
  [[nodiscard]] Result<void> empty() const;

 private:
  enum class What : std::uint8_t { kNothing, kDirectory, kImage };
  FreshPlace(What what, std::string path) : what_(what), path_(std::move(path)) {}
  What what_;
  std::string path_;
};

// Removes what lies in a directory; "lost+found" stays.
Result<void> empty_directory(const std::string& directory);

}  // namespace iotape
