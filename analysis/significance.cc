#include "analysis/significance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace iotape {
namespace {

constexpr double kMostDivisions = 200'000;

// Ranks of the joined values, ties sharing their mean rank; a's come first.
std::vector<double> joint_ranks(std::span<const double> a, std::span<const double> b) {
  std::vector<double> values(a.begin(), a.end());
  values.insert(values.end(), b.begin(), b.end());
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return values[x] < values[y]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i;
    while (j < order.size() && values[order[j]] == values[order[i]]) ++j;
    for (std::size_t k = i; k < j; ++k) ranks[order[k]] = static_cast<double>(i + j - 1) / 2 + 1;
    i = j;
  }
  return ranks;
}

double divisions(std::size_t n, std::size_t m) {
  double ways = 1;
  for (std::size_t i = 1; i <= n; ++i) ways *= static_cast<double>(m + i) / static_cast<double>(i);
  return ways;
}

double exact_probability(const std::vector<double>& ranks, std::size_t n) {
  const double expected =
      std::accumulate(ranks.begin(), ranks.end(), 0.0) * static_cast<double>(n) / static_cast<double>(ranks.size());
  const double seen =
      std::abs(std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(n), 0.0) - expected);
  std::vector<std::size_t> chosen(n);
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  constexpr double kRounding = 1e-9;
  double as_far = 0;
  double all = 0;
  while (true) {
    double sum = 0;
    for (const std::size_t i : chosen) sum += ranks[i];
    all += 1;
    as_far += std::abs(sum - expected) >= seen - kRounding ? 1 : 0;
    std::size_t at = n;
    while (at > 0 && chosen[at - 1] == ranks.size() - n + at - 1) --at;
    if (at == 0) return as_far / all;
    ++chosen[at - 1];
    for (std::size_t i = at; i < n; ++i) chosen[i] = chosen[i - 1] + 1;
  }
}

double normal_probability(const std::vector<double>& ranks, std::size_t n) {
  const auto total = static_cast<double>(ranks.size());
  const auto size_a = static_cast<double>(n);
  const double size_b = total - size_a;
  const double sum = std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(n), 0.0);
  const double mean = size_a * (total + 1) / 2;
  double square = 0;  // of the ranks' deviations, which is where ties reduce the variance
  for (const double rank : ranks) square += (rank - (total + 1) / 2) * (rank - (total + 1) / 2);
  const double variance = size_a * size_b / (total * (total - 1)) * square;
  if (variance <= 0) return 1;
  const double z = std::max(std::abs(sum - mean) - 0.5, 0.0) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0));
}

}  // namespace

std::optional<double> difference_probability(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const auto ranks = joint_ranks(a, b);
  return divisions(a.size(), b.size()) <= kMostDivisions ? exact_probability(ranks, a.size())
                                                         : normal_probability(ranks, a.size());
}

double least_probability(std::size_t n, std::size_t m) {
  return n < 2 || m < 2 ? 1 : std::min(1.0, 2 / divisions(n, m));
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace iotape
