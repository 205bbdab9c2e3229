// zstd behind two calls. Private to the codec.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "format/base/result.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace iotape {

class Compressor {
 public:
  explicit Compressor(int level);
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  // Appends the compressed bytes to out.
  Result<void> compress(std::span<const std::uint8_t> in, std::vector<std::uint8_t>& out);

 private:
  ZSTD_CCtx_s* context_;
  int level_;
};

class Decompressor {
 public:
  Decompressor();
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  // An error unless the bytes are one zstd frame of exactly `size` bytes of content.
  Result<std::span<const std::uint8_t>> decompress(std::span<const std::uint8_t> in, std::size_t size);

 private:
  ZSTD_DCtx_s* context_;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace iotape
