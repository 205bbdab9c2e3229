#include "format/column.h"

#include <algorithm>
#include <bit>

namespace iotape {
namespace {

constexpr std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1U ^ static_cast<std::uint64_t>(value >> 63);
}

// A measure of what a number costs after entropy coding: its length in bits.
constexpr unsigned bits_of(std::uint64_t value) { return static_cast<unsigned>(std::bit_width(value)); }

struct Costs {
  std::uint64_t plain = 0;
  std::uint64_t delta = 0;
  bool negative = false;
};

Costs costs_of(std::span<const std::int64_t> values) {
  Costs costs;
  std::int64_t previous = 0;
  for (const std::int64_t value : values) {
    costs.negative |= value < 0;
    costs.plain += bits_of(zigzag(value));
    costs.delta += bits_of(zigzag(wrapping_difference(value, previous)));
    previous = value;
  }
  return costs;
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
  const Costs costs = costs_of(values);
  if (costs.delta < costs.plain) {
    write_differences(column, values);
  } else if (costs.negative) {
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
