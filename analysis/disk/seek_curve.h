// SeekCurve: how long the arm takes to move over so many cylinders, settling for a read included.
//
// Three sources of one curve, tabled once per cylinder so that asking costs one look-up:
//   three-point  t(d) = min + b (d-1) + c sqrt(d-1), through a data sheet's track-to-track, average and full-stroke
//   times
//                (Lee and Katz, 1993). Over N cylinders the average distance is N/3 and the average of sqrt(d)
//                8 sqrt(N)/15, which gives b and c.
//   two-piece    a + b sqrt(d) below a distance, c + e d from there on (Ruemmler and Wilkes, IEEE Computer 27(3),
//   1994). measured     points of (cylinders, time), straight lines between them.
// A curve that falls, is negative, or contradicts itself is refused: no arm moves like that. Measured points may fall
// below their neighbours, as noise does, but not below half of an earlier one.
#pragma once

#include <cstdint>
#include <vector>

#include "format/base/result.h"

namespace iotape {

struct SeekPoint {
  std::int64_t cylinders = 0;
  double nanoseconds = 0;
};

class SeekCurve {
 public:
  static constexpr std::int64_t kMaximumCylinders = 4'000'000;

  SeekCurve() = default;
  // Times in nanoseconds; cylinders is how many the disk has. Errors: kUsage, with what is impossible about it.
  static Result<SeekCurve> three_point(double least, double average, double full, std::int64_t cylinders);
  static Result<SeekCurve> two_piece(double a, double b, std::int64_t limit, double c, double e,
                                     std::int64_t cylinders);
  // Beyond the last point the last slope goes on.
  static Result<SeekCurve> measured(const std::vector<SeekPoint>& points, std::int64_t cylinders);

  // Nanoseconds; 0 for no distance. distance must be below the number of cylinders.
  [[nodiscard]] std::int64_t time(std::int64_t distance) const { return times_[static_cast<std::size_t>(distance)]; }
  // The mean over all pairs of different cylinders, as a drive's manual defines its average seek.
  [[nodiscard]] std::int64_t average() const;

 private:
  template <typename TimeOf>
  static Result<SeekCurve> table(std::int64_t cylinders, TimeOf time_of);
  std::vector<std::uint32_t> times_{0};  // by distance
};

}  // namespace iotape
