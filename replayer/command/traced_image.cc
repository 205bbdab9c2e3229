#include "replayer/command/traced_image.h"

#include "format/trace_files.h"

namespace iotape {

Result<TracedImage> TracedImage::begin(ext3::BlockDevice& image, const TraceWish& wish) {
  TracedImage traced(image);
  if (wish.path.empty()) return traced;
  ext3::RequestTraceOptions options;
  options.path = wish.path;
  options.force = wish.force;
  options.command = wish.command + " --trace " + file_name_of(wish.path);
  IOTAPE_ASSIGN(traced.trace_, ext3::RequestTrace::create(image, std::move(options)));
  return traced;
}

}  // namespace iotape
