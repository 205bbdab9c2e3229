// What workloads put into files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/base/random.h"

namespace iotape::workload {

enum class Fill : std::uint8_t { kRandom, kZero };

// A block of bytes to write again and again. Random bytes are new for every block, so that a filesystem can neither
// compress nor share them.
class BlockSource {
 public:
  BlockSource(Fill fill, std::size_t block, std::uint64_t seed) : fill_(fill), random_(seed), block_(block, '\0') {}
  // The next block; valid until the next call.
  std::string_view next();

 private:
  Fill fill_;
  Random random_;
  std::string block_;
};

// Text that compresses about as C source does. A file takes a window of it.
class SourceText {
 public:
  explicit SourceText(std::uint64_t seed);
  // size bytes beginning at a place chosen by at; valid until the next call.
  std::string_view window(std::uint64_t at, std::size_t size);

 private:
  std::string text_;
  std::string window_;
};

}  // namespace iotape::workload
