#include "tests/fuzz/ext3_image_inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  iotape::fuzz::check_changed_image({data, size});
  return 0;
}
