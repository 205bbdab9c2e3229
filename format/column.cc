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

bool any_negative(std::span<const std::int64_t> values) {
  std::int64_t signs = 0;
  for (const std::int64_t value : values) signs |= value;
  return signs < 0;
}

bool differences_are_smaller(std::span<const std::int64_t> values, bool negative) {
  constexpr std::size_t kSample = 4096;
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

void write_differences(wire::Column& column, std::span<const std::int64_t> values) {
  column.set_delta(true);
  auto* stored = column.mutable_mixed();
  stored->Reserve(static_cast<int>(values.size()));
  std::int64_t previous = 0;
  for (const std::int64_t value : values) {
    stored->AddAlreadyReserved(wrapping_difference(value, previous));
    previous = value;
  }
}

}  // namespace

void ColumnWriter::grow() {
  constexpr std::size_t kFirst = 64;
  values_.resize(std::max(kFirst, values_.size() * 2));
}

void ColumnWriter::write_to(wire::Column& column, std::uint32_t id) const {
  if (id != 0) column.set_id(id);
  const std::span<const std::int64_t> values(values_.data(), size_);
  const bool negative = any_negative(values);
  if (differences_are_smaller(values, negative)) {
    write_differences(column, values);
  } else if (negative) {
    column.mutable_mixed()->Add(values.begin(), values.end());
  } else {
    column.mutable_plain()->Add(values.begin(), values.end());
  }
}

ColumnCursor::ColumnCursor(const wire::Column& column) : delta_(column.delta()) {
  static_assert(sizeof(std::uint64_t) == sizeof(std::int64_t));
  if (column.plain_size() > 0) {
    begin_ = reinterpret_cast<const std::int64_t*>(column.plain().data());
    end_ = begin_ + column.plain_size();
  } else if (column.mixed_size() > 0) {
    begin_ = column.mixed().data();
    end_ = begin_ + column.mixed_size();
  }
}

}  // namespace iotape
