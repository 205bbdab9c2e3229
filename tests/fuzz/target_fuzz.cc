#include "tests/fuzz/target_inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  iotape::fuzz::read_target({data, size});
  return 0;
}
