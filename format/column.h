// One column of a block while it is being written or read.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <span>
#include <vector>

#include "trace.pb.h"

namespace iotape {

// Arithmetic that wraps, so that every pair of 64-bit values has a difference.
constexpr std::int64_t wrapping_difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

class ColumnWriter {
 public:
  // Called several times an event. Most columns hold nothing but zeros, which are only counted until something else
  // comes.
  void add(std::int64_t value) {
    if ((value | seen_) == 0) {
      ++leading_zeros_;
      return;
    }
    if (seen_ == 0) store_leading_zeros();
    seen_ |= value;
    values_.Add(value);
  }
  [[nodiscard]] bool all_zero() const { return seen_ == 0; }
  // Fills the message with the smaller of the values themselves and their differences. The values move into the
  // message; take_back() afterwards saves allocating them anew for the next block.
  void write_to(wire::Column& column, std::uint32_t id);
  void take_back(wire::Column& column);
  void clear() {
    values_.Clear();
    leading_zeros_ = 0;
    seen_ = 0;
  }

 private:
  using Values = google::protobuf::RepeatedField<std::int64_t>;
  void store_leading_zeros();

  Values values_;
  std::size_t leading_zeros_ = 0;
  std::int64_t seen_ = 0;  // the bitwise or of all values
};

// Walks a parsed column. An absent column yields zeros; one that ends too early sets `exhausted`.
class ColumnCursor {
 public:
  ColumnCursor() = default;
  // The message must outlive the cursor.
  explicit ColumnCursor(const wire::Column& column);

  std::int64_t next() {
    if (begin_ == nullptr) return 0;
    if (begin_ == end_) return exhausted_ = true, 0;
    const std::int64_t stored = *begin_++;
    if (!delta_) return stored;
    previous_ = wrapping_sum(previous_, stored);
    return previous_;
  }
  [[nodiscard]] bool exhausted() const { return exhausted_; }
  [[nodiscard]] bool finished() const { return begin_ == end_; }

 private:
  const std::int64_t* begin_ = nullptr;
  const std::int64_t* end_ = nullptr;
  std::int64_t previous_ = 0;
  bool delta_ = false;
  bool exhausted_ = false;
};

}  // namespace iotape
