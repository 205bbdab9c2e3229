#include "tests/fuzz/ext3_volume_inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  iotape::fuzz::use_ext3_volume({data, size});
  return 0;
}
