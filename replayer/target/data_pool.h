// The bytes that replayed writes write, and the place where replayed reads read to.
//
// Random bytes, so that a compressing filesystem cannot shrink them, and no 4 KiB block equal to another, so that one
// that deduplicates cannot fold them: every writer walks the pool from its own byte offset, and after one pass
// continues at an offset that no writer has had; small writes take consecutive bytes, so files of many small writes are
// as random. The pool is 4 MiB mapped again and again in a row: one write may be as long as the kernel takes (2 GiB) at
// no cost in memory. Reads land in a second such region, shared by all threads: nobody looks at the bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "format/base/result.h"
#include "replayer/target/target.h"

namespace iotape {

inline constexpr std::size_t kMaximumTransfer = std::size_t{1} << 31U;

class DataPool {
 public:
  // Uses and closes a memfd; needs no descriptor afterwards.
  static Result<DataPool> make(Fill fill, std::uint64_t seed);
  DataPool(DataPool&& other) noexcept;
  DataPool(const DataPool&) = delete;
  DataPool& operator=(const DataPool&) = delete;
  DataPool& operator=(DataPool&&) = delete;
  ~DataPool();

  // Where one thread stands in the pool.
  struct Cursor {
    std::size_t offset = 0;
    bool started = false;
  };
  // length bytes to write, at most kMaximumTransfer.
  const std::byte* next_data(Cursor& cursor, std::size_t length);
  // The same at a 4 KiB boundary, each 4 KiB stamped with a number of its own: for O_DIRECT.
  const std::byte* next_aligned_data(Cursor& cursor, std::size_t length);
  // Room for length bytes to be read to, 4 KiB aligned.
  [[nodiscard]] std::byte* scratch() const { return scratch_; }

 private:
  DataPool(std::byte* data, std::byte* scratch, Fill fill) : data_(data), scratch_(scratch), fill_(fill) {}
  std::size_t start_pass();

  std::byte* data_ = nullptr;
  std::byte* scratch_ = nullptr;
  Fill fill_ = Fill::kRandom;
  std::atomic<std::uint64_t> passes_{0};
  std::atomic<std::uint64_t> stamps_{1};
};

// Fills a span with random bytes; equal seeds give equal bytes.
void fill_random(std::span<std::byte> bytes, std::uint64_t seed);

}  // namespace iotape
