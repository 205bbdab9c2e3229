#include "analysis/plot/histogram_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/plot/palette.h"
#include "analysis/seek_text.h"
#include "analysis/text_table.h"
#include "format/base/units.h"

namespace iotape {
namespace {

constexpr double kLeft = 84;
constexpr double kRight = 20;
constexpr double kTop = 30;
constexpr double kHeight = 380;
constexpr double kLegendLine = 20;
constexpr Color kNearBand{0, 158, 115, 24};
// Okabe and Ito, the ones that differ most first.
constexpr std::array<Color, 7> kSeries{{{0, 114, 178, 255},
                                        {213, 94, 0, 255},
                                        {0, 158, 115, 255},
                                        {204, 121, 167, 255},
                                        {230, 159, 0, 255},
                                        {86, 180, 233, 255},
                                        {0, 0, 0, 255}}};

struct Frame {
  int farthest = 1;  // bins from -farthest to farthest
  double top_power = 1;
  double y0 = 0;  // top of the drawing area

  [[nodiscard]] double bin_width() const { return (kHistogramWidth - kLeft - kRight) / (2 * farthest + 1); }
  [[nodiscard]] double x(double bin) const { return kLeft + (bin + farthest) * bin_width(); }
  [[nodiscard]] double y(std::uint64_t count) const {
    // Half a decade below 1 keeps bins of one visible above the empty ones.
    constexpr double kBelowOne = 0.5;
    if (count == 0) return y0 + kHeight;
    return y0 + kHeight * (1 - (std::log10(static_cast<double>(count)) + kBelowOne) / (top_power + kBelowOne));
  }
};

Frame frame_of(const std::vector<SeekReport>& reports) {
  Frame frame;
  frame.y0 = kTop + kLegendLine * static_cast<double>(reports.size());
  std::uint64_t largest = 1;
  for (const SeekReport& report : reports) {
    const auto used = report.total.histogram.used();
    frame.farthest = std::max({frame.farthest, -used.lowest, used.highest});
    largest = std::max(largest, report.total.histogram.largest_count());
  }
  frame.top_power = std::max(1.0, std::ceil(std::log10(static_cast<double>(largest))));
  return frame;
}

std::string edge_text(int bin) {
  if (bin == 0) return "0";
  if (bin > 55) return fmt::format("2^{}", bin + 8);
  std::uint64_t value = SignedLog2Histogram::lower_edge(bin) * kSectorBytes;
  std::size_t unit = 0;
  static constexpr std::array<std::string_view, 7> kUnits{"B", "K", "M", "G", "T", "P", "E"};
  while (value >= 1024) value /= 1024, ++unit;
  return fmt::format("{}{}", value, kUnits[unit]);
}

void draw_axes(const Frame& frame, std::uint64_t threshold, Canvas& canvas) {
  const int threshold_bin = SignedLog2Histogram::bin_of(static_cast<std::int64_t>(threshold));
  const int near = std::min(threshold_bin, frame.farthest + 1);
  canvas.rectangle({frame.x(1 - near), frame.y0}, frame.bin_width() * (2 * near - 1), kHeight, kNearBand);
  for (int power = 0; power <= static_cast<int>(frame.top_power); ++power) {
    const auto count = static_cast<std::uint64_t>(std::llround(std::pow(10, power)));
    canvas.polyline({{kLeft, frame.y(count)}, {kHistogramWidth - kRight, frame.y(count)}}, 0.6, kFaint);
    canvas.text({kLeft - 6, frame.y(count) + 4}, format_count(count), kTextSize, Anchor::kEnd, kInk);
  }
  // "256M" and a gap: labels must not touch however many bins there are.
  constexpr double kLabelRoom = 44;
  const int every = std::max(1, static_cast<int>(std::ceil(kLabelRoom / frame.bin_width())));
  for (int bin = 0; bin <= frame.farthest; bin += every)
    for (const int side : {-bin, bin}) {
      canvas.text({frame.x(side + 0.5), frame.y0 + kHeight + 17}, edge_text(bin), kTextSize, Anchor::kMiddle, kInk);
      if (bin == 0) break;
    }
  const double caption_y = frame.y0 + kHeight + 36;
  canvas.text({kLeft, caption_y}, "backward", kTextSize, Anchor::kStart, kInk);
  canvas.text(
      {frame.x(0.5), caption_y + kLegendLine},
      fmt::format("seek distance, each bin a power of two from the given length on; shaded: not a seek (up to {})",
                  sectors_text(threshold)),
      kTextSize, Anchor::kMiddle, kInk);
  canvas.text({kHistogramWidth - kRight, caption_y}, "forward", kTextSize, Anchor::kEnd, kInk);
}

void draw_series(const Frame& frame, const SignedLog2Histogram& histogram, Color color, bool fill, Canvas& canvas) {
  std::vector<Point> outline;
  for (int bin = -frame.farthest; bin <= frame.farthest; ++bin) {
    const double y = frame.y(histogram.count(bin));
    outline.push_back({frame.x(bin), y});
    outline.push_back({frame.x(bin + 1), y});
    if (fill && histogram.count(bin) > 0)
      canvas.rectangle({frame.x(bin), y}, frame.bin_width(), frame.y0 + kHeight - y,
                       {color.red, color.green, color.blue, 50});
  }
  canvas.polyline(outline, 2, color);
}

}  // namespace

double histogram_height(const std::vector<SeekReport>& reports) {
  return kTop + kLegendLine * static_cast<double>(reports.size()) + kHeight + 52 + kLegendLine;
}

void draw_histograms(std::vector<SeekReport>& reports, Canvas& canvas) {
  const Frame frame = frame_of(reports);
  const std::uint64_t threshold = reports.empty() ? kDefaultThresholdSectors : reports.front().options.threshold;
  draw_axes(frame, threshold, canvas);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    SeekReport& report = reports[i];
    const Color color = kSeries[i % kSeries.size()];
    draw_series(frame, report.total.histogram, color, reports.size() <= 3, canvas);
    const double y = kTop + kLegendLine * static_cast<double>(i);
    canvas.rectangle({kLeft, y - 10}, 11, 11, color);
    const std::string lost = report.condition.complete() ? "" : "; " + report.condition.sentence();
    canvas.text({kLeft + 17, y},
                fmt::format("{}: {} requests, {:.1f} % sequential, {} seeks, median {}, total {} sectors{}",
                            shortened(printable(report.trace), 40), format_count(report.total.requests),
                            100 * report.total.share(report.total.sequential), format_count(report.total.seeks),
                            format_count(report.total.magnitudes.percentile(0.5)),
                            format_count(report.total.total_distance), lost),
                kTextSize, Anchor::kStart, kInk);
  }
  canvas.polyline({{kLeft, frame.y0}, {kLeft, frame.y0 + kHeight}, {kHistogramWidth - kRight, frame.y0 + kHeight}}, 1,
                  kFrame);
}

}  // namespace iotape
