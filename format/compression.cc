#include "format/compression.h"

#include <fmt/format.h>
#include <zstd.h>

namespace iotape {

Compressor::Compressor(int level) : context_(ZSTD_createCCtx()), level_(level) {}
Compressor::~Compressor() { ZSTD_freeCCtx(context_); }

Result<void> Compressor::compress(std::span<const std::uint8_t> in, std::vector<std::uint8_t>& out) {
  const std::size_t before = out.size();
  out.resize(before + ZSTD_compressBound(in.size()));
  const std::size_t written =
      ZSTD_compressCCtx(context_, out.data() + before, out.size() - before, in.data(), in.size(), level_);
  if (ZSTD_isError(written) != 0)
    return failure(ErrorCode::kLimit, fmt::format("zstd could not compress a block: {}", ZSTD_getErrorName(written)));
  out.resize(before + written);
  return {};
}

Decompressor::Decompressor() : context_(ZSTD_createDCtx()) {}
Decompressor::~Decompressor() { ZSTD_freeDCtx(context_); }

Result<std::span<const std::uint8_t>> Decompressor::decompress(std::span<const std::uint8_t> in, std::size_t size) {
  if (buffer_.size() < size) buffer_.resize(size);
  const std::size_t got = ZSTD_decompressDCtx(context_, buffer_.data(), size, in.data(), in.size());
  if (ZSTD_isError(got) != 0)
    return failure(ErrorCode::kCorrupt, fmt::format("the payload is not valid zstd: {}", ZSTD_getErrorName(got)));
  if (got != size) return failure(ErrorCode::kCorrupt, "the payload is shorter than its header says");
  return std::span<const std::uint8_t>(buffer_.data(), size);
}

}  // namespace iotape
