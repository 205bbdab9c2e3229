#include <algorithm>

#include "tests/fuzz/body_mutator.h"
#include "tests/fuzz/fuzz_inputs.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  iotape::fuzz::read_block_body({data, size});
  return 0;
}

// Three in four mutations change the message, the others its bytes.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  if (seed % 4 == 0 || size == 0) return LLVMFuzzerMutate(data, size, max_size);
  const auto body = iotape::fuzz::mutated_body(data + 1, size - 1, seed);
  if (body.size() + 1 > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(body.begin(), body.end(), data + 1);
  return body.size() + 1;
}
