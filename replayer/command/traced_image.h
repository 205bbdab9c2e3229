// An image whose requests a command may be asked to write down (--trace).
#pragma once

#include <memory>
#include <string>

#include "format/base/result.h"
#include "replayer/ext3/trace/request_trace.h"

namespace iotape {

struct TraceWish {
  std::string path;  // empty: none
  bool force = false;
  std::string command;  // for the history
};

class TracedImage {
 public:
  // REQUIRES: image outlives this.
  static Result<TracedImage> begin(ext3::BlockDevice& image, const TraceWish& wish);
  [[nodiscard]] ext3::BlockDevice& device() { return trace_ ? *trace_ : image_; }
  Result<void> finish() { return trace_ ? trace_->finish() : Result<void>{}; }

 private:
  explicit TracedImage(ext3::BlockDevice& image) : image_(image) {}
  ext3::BlockDevice& image_;
  std::unique_ptr<ext3::RequestTrace> trace_;
};

}  // namespace iotape
