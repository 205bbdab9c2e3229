#include "tests/fuzz/record_inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  iotape::fuzz::decode_record({data, size});
  return 0;
}
