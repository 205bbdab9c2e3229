#include "format/column.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace iotape {
namespace {

constexpr std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1U ^ static_cast<std::uint64_t>(value >> 63);
}

// How many bits the bytes of a column's varints need when each is coded by its frequency: what zstd makes of columns
// without repeating sequences. Whether a column is better stored as differences is decided on this, over a sample.
class ByteFrequencies {
 public:
  void add(std::uint64_t varint) {
    do {
      ++counts_[varint < kMore ? varint : (varint & (kMore - 1)) | kMore];
      ++total_;
      varint >>= kBitsPerByte;
    } while (varint != 0);
  }
  [[nodiscard]] double bits() const {
    double sum = 0;
    for (const std::uint32_t count : counts_)
      if (count != 0) sum += count * std::log2(static_cast<double>(total_) / count);
    return sum;
  }

 private:
  static constexpr std::uint64_t kMore = 128;
  static constexpr unsigned kBitsPerByte = 7;
  std::array<std::uint32_t, 256> counts_{};
  std::uint32_t total_ = 0;
};

bool differences_are_smaller(std::span<const std::int64_t> values, bool negative) {
  constexpr std::size_t kSample = 1024;
  ByteFrequencies plain;
  ByteFrequencies differences;
  std::int64_t previous = 0;
  for (const std::int64_t value : values.first(std::min(values.size(), kSample))) {
    plain.add(negative ? zigzag(value) : static_cast<std::uint64_t>(value));
    differences.add(zigzag(wrapping_difference(value, previous)));
    previous = value;
  }
  return differences.bits() < plain.bits();
}

void make_differences(std::span<std::int64_t> values) {
  std::int64_t previous = 0;
  for (std::int64_t& value : values) {
    const std::int64_t original = value;
    value = wrapping_difference(original, previous);
    previous = original;
  }
}

}  // namespace

void ColumnWriter::store_leading_zeros() {
  values_.Resize(static_cast<int>(leading_zeros_), 0);
  leading_zeros_ = 0;
}

void ColumnWriter::write_to(wire::Column& column, std::uint32_t id) {
  if (id != 0) column.set_id(id);
  const std::span<std::int64_t> values(values_.mutable_data(), static_cast<std::size_t>(values_.size()));
  const bool negative = seen_ < 0;
  const bool delta = differences_are_smaller(values, negative);
  if (delta) {
    column.set_delta(true);
    make_differences(values);
  }
  Values& target = delta || negative ? *column.mutable_mixed() : *column.mutable_plain();
  target.Swap(&values_);
}

void ColumnWriter::take_back(wire::Column& column) {
  Values& held = column.mixed_size() > 0 ? *column.mutable_mixed() : *column.mutable_plain();
  values_.Swap(&held);
}

ColumnCursor::ColumnCursor(const wire::Column& column) : delta_(column.delta()) {
  if (column.plain_size() > 0) {
    begin_ = column.plain().data();
    end_ = begin_ + column.plain_size();
  } else if (column.mixed_size() > 0) {
    begin_ = column.mixed().data();
    end_ = begin_ + column.mixed_size();
  }
}

}  // namespace iotape
