// Numbers that must not be mixed up: a sector cannot be passed as an inode, nor nanoseconds as bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace iotape {

// A number with a meaning. Comparable and hashable, never implicitly converted.
template <typename Tag, typename Representation>
struct StrongId {
  using Rep = Representation;
  Rep value{};

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep v) : value(v) {}
  constexpr auto operator<=>(const StrongId&) const = default;
};

// A quantity: a StrongId that can also be added and subtracted. Sums and differences wrap modulo 2^64, as the trace
// format's own do: times and sectors come from files that may hold any bits.
template <typename Tag, typename Representation>
struct Quantity {
  using Rep = Representation;
  Rep value{};

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep v) : value(v) {}
  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity other) const { return Quantity(static_cast<Rep>(bits() + other.bits())); }
  constexpr Quantity operator-(Quantity other) const { return Quantity(static_cast<Rep>(bits() - other.bits())); }
  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
  constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }

 private:
  [[nodiscard]] constexpr std::uint64_t bits() const { return static_cast<std::uint64_t>(value); }
};

// Time on the trace's clock, or a length of time.
using Nanoseconds = Quantity<struct NanosecondsTag, std::int64_t>;
inline constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
// 512-byte sectors, whatever the device's own sector size: a position or a length.
using Sectors = Quantity<struct SectorsTag, std::int64_t>;

// A block device or a filesystem's s_dev: major << 20 | minor, as the kernel keeps it (not userspace's dev_t).
struct DeviceId : StrongId<struct DeviceIdTag, std::uint32_t> {
  using StrongId::StrongId;
  [[nodiscard]] constexpr std::uint32_t major_number() const { return value >> 20U; }
  [[nodiscard]] constexpr std::uint32_t minor_number() const { return value & 0xFFFFFU; }
  static constexpr DeviceId of(std::uint32_t major_part, std::uint32_t minor_part) {
    return DeviceId(major_part << 20U | minor_part);
  }
};
using InodeNumber = StrongId<struct InodeNumberTag, std::uint64_t>;
using ProcessId = StrongId<struct ProcessIdTag, std::int32_t>;  // thread-group id in the initial pid namespace
using ThreadId = StrongId<struct ThreadIdTag, std::int32_t>;    // task id in the initial pid namespace
// The position of an event in its trace, counted from 0 over all events of the file, lost ones not counted.
using EventId = StrongId<struct EventIdTag, std::uint64_t>;
using StackId = StrongId<struct StackIdTag, std::uint32_t>;

}  // namespace iotape

template <typename Tag, typename Rep>
struct std::hash<iotape::StrongId<Tag, Rep>> {
  std::size_t operator()(const iotape::StrongId<Tag, Rep>& id) const noexcept { return std::hash<Rep>{}(id.value); }
};
template <>
struct std::hash<iotape::DeviceId> {
  std::size_t operator()(const iotape::DeviceId& id) const noexcept { return std::hash<std::uint32_t>{}(id.value); }
};
