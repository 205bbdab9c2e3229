// Whether two small sets of measurements differ: the two-sided Mann-Whitney test.
//
// Exact (every way to divide the joint ranks) while there are at most 200,000 ways; beyond that the normal
// approximation with correction for ties and continuity. Source: Mann and Whitney, Annals of Mathematical Statistics
// 18 (1947).
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace iotape {

inline constexpr double kSignificance = 0.05;

// The probability of a difference at least so large if both came from one population. nullopt when either set has
// fewer than two values: one run says nothing about the spread.
[[nodiscard]] std::optional<double> difference_probability(std::span<const double> a, std::span<const double> b);

// The least p that so many values can give, however far apart they are; above kSignificance nothing can be concluded.
[[nodiscard]] double least_probability(std::size_t n, std::size_t m);

// The middle value, or the mean of the two middle ones. values must not be empty.
[[nodiscard]] double median_of(std::vector<double> values);

}  // namespace iotape
