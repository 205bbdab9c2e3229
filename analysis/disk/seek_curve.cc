#include "analysis/disk/seek_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace iotape {
namespace {

constexpr double kLongest = 4e9;  // four seconds: fits the table's 32 bits and is beyond any arm

std::string milliseconds(double nanoseconds) { return fmt::format("{:.3f} ms", nanoseconds / 1e6); }

}  // namespace

template <typename TimeOf>
Result<SeekCurve> SeekCurve::table(std::int64_t cylinders, TimeOf time_of) {
  if (cylinders < 1 || cylinders > kMaximumCylinders)
    return failure(ErrorCode::kUsage, fmt::format("{} cylinders; 1 to {} are possible", cylinders, kMaximumCylinders));
  SeekCurve curve;
  curve.times_.reserve(static_cast<std::size_t>(cylinders));
  for (std::int64_t distance = 1; distance < cylinders; ++distance) {
    const double time = time_of(distance);
    if (!(time >= 0 && time <= kLongest))
      return failure(ErrorCode::kUsage,
                     fmt::format("an impossible seek curve: {} cylinders would take {}", distance, milliseconds(time)));
    curve.times_.push_back(static_cast<std::uint32_t>(time + 0.5));
  }
  return curve;
}

Result<SeekCurve> SeekCurve::three_point(double least, double average, double full, std::int64_t cylinders) {
  if (!(least > 0 && least <= average && average <= full && full <= kLongest))
    return failure(ErrorCode::kUsage,
                   fmt::format("an impossible seek curve: least {}, average {} and full {} must not fall",
                               milliseconds(least), milliseconds(average), milliseconds(full)));
  const auto n = static_cast<double>(std::max<std::int64_t>(cylinders, 1));
  const double c = (-10 * least + 15 * average - 5 * full) / (3 * std::sqrt(n));
  const double b = (7 * least - 15 * average + 8 * full) / (3 * n);
  if (c < 0)
    return failure(ErrorCode::kUsage,
                   fmt::format("an impossible seek curve: an average of {} is below {}, a third of the way from least "
                               "to full, so short seeks would be slower than long ones are per cylinder",
                               milliseconds(average), milliseconds((2 * least + full) / 3)));
  // The curve's slope falls with the distance, so it is least at the end.
  if (b + c / (2 * std::sqrt(n)) < 0)
    return failure(ErrorCode::kUsage,
                   fmt::format("an impossible seek curve: with an average of {} a full stroke of {} is too fast",
                               milliseconds(average), milliseconds(full)));
  return table(cylinders, [&](std::int64_t distance) {
    const auto d = static_cast<double>(distance - 1);
    return least + b * d + c * std::sqrt(d);
  });
}

Result<SeekCurve> SeekCurve::two_piece(double a, double b, std::int64_t limit, double c, double e,
                                       std::int64_t cylinders) {
  if (!(a >= 0 && b >= 0 && c >= 0 && e >= 0 && limit >= 1))
    return failure(ErrorCode::kUsage, "an impossible seek curve: a piece that falls or starts below zero");
  const auto edge = static_cast<double>(limit);
  const double short_end = a + b * std::sqrt(edge);
  const double long_start = c + e * edge;
  // Fitted pieces meet within a few per cent; a step down of more is a mistake in a number.
  if (limit < cylinders && long_start < 0.8 * short_end)
    return failure(ErrorCode::kUsage, fmt::format("an impossible seek curve: at {} cylinders it falls from {} to {}",
                                                  limit, milliseconds(short_end), milliseconds(long_start)));
  return table(cylinders, [&](std::int64_t distance) {
    const auto d = static_cast<double>(distance);
    return distance < limit ? a + b * std::sqrt(d) : c + e * d;
  });
}

Result<SeekCurve> SeekCurve::measured(const std::vector<SeekPoint>& points, std::int64_t cylinders) {
  if (points.empty() || points.front().cylinders < 1)
    return failure(ErrorCode::kUsage, "an impossible seek curve: it needs points, from 1 cylinder on");
  double slowest = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i > 0 && points[i].cylinders <= points[i - 1].cylinders)
      return failure(ErrorCode::kUsage, fmt::format("an impossible seek curve: {} cylinders come after {}",
                                                    points[i].cylinders, points[i - 1].cylinders));
    if (!(points[i].nanoseconds > 0 && points[i].nanoseconds >= slowest / 2))
      return failure(ErrorCode::kUsage,
                     fmt::format("an impossible seek curve: {} cylinders in {} after {} for fewer", points[i].cylinders,
                                 milliseconds(points[i].nanoseconds), milliseconds(slowest)));
    slowest = std::max(slowest, points[i].nanoseconds);
  }
  std::size_t above = 0;
  return table(cylinders, [&](std::int64_t distance) {
    while (above < points.size() && points[above].cylinders < distance) ++above;
    if (points.size() == 1 || above == 0) return points.front().nanoseconds;
    const SeekPoint& right = points[std::min(above, points.size() - 1)];
    const SeekPoint& left = points[std::min(above, points.size() - 1) - 1];
    const double slope = (right.nanoseconds - left.nanoseconds) / static_cast<double>(right.cylinders - left.cylinders);
    // A last pair that falls by noise must not pull the far end down.
    const double beyond = above == points.size() ? std::max(slope, 0.0) : slope;
    return right.nanoseconds + beyond * static_cast<double>(distance - right.cylinders);
  });
}

std::int64_t SeekCurve::average() const {
  const std::size_t n = times_.size();
  if (n < 2) return 0;
  double sum = 0;
  for (std::size_t d = 1; d < n; ++d) sum += static_cast<double>(n - d) * times_[d];
  return static_cast<std::int64_t>(2 * sum / (static_cast<double>(n) * static_cast<double>(n - 1)) + 0.5);
}

}  // namespace iotape
