#include <algorithm>
#include <cmath>

#include "analysis/plot/canvas.h"

namespace iotape {
namespace {

constexpr Color kPaper{255, 255, 255, 255};
constexpr double kOpaque = 255;

double distance_to_segment(double x, double y, Point a, Point b) {
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double square = dx * dx + dy * dy;
  const double t = square == 0 ? 0 : std::clamp(((x - a.x) * dx + (y - a.y) * dy) / square, 0.0, 1.0);
  return std::hypot(x - a.x - t * dx, y - a.y - t * dy);
}

// How much of pixel i lies between low and high.
double overlap(int i, double low, double high) {
  return std::clamp(std::min(i + 1.0, high) - std::max<double>(i, low), 0.0, 1.0);
}

}  // namespace

RasterCanvas::RasterCanvas(double width, double height, double scale)
    : scale_(scale), pixels_(static_cast<int>(width * scale), static_cast<int>(height * scale), kPaper) {}

void RasterCanvas::blend(int x, int y, Color color, double coverage) {
  if (x < 0 || y < 0 || x >= pixels_.width || y >= pixels_.height) return;
  const double weight = coverage * color.alpha / kOpaque;
  Color& under = pixels_.at(x, y);
  const auto mix = [weight](std::uint8_t old, std::uint8_t fresh) {
    return static_cast<std::uint8_t>(std::lround(old + (fresh - old) * weight));
  };
  under = {mix(under.red, color.red), mix(under.green, color.green), mix(under.blue, color.blue), 255};
}

void RasterCanvas::rectangle(Point corner, double width, double height, Color fill) {
  const double left = corner.x * scale_;
  const double top = corner.y * scale_;
  const double right = left + width * scale_;
  const double bottom = top + height * scale_;
  for (int y = std::max(0, static_cast<int>(top)); y < std::min<double>(pixels_.height, bottom); ++y)
    for (int x = std::max(0, static_cast<int>(left)); x < std::min<double>(pixels_.width, right); ++x)
      blend(x, y, fill, overlap(x, left, right) * overlap(y, top, bottom));
}

void RasterCanvas::stroke(Point from, Point to, double width, Color color) {
  const Point a{from.x * scale_, from.y * scale_};
  const Point b{to.x * scale_, to.y * scale_};
  const double radius = width * scale_ / 2;
  const int x0 = std::max(0, static_cast<int>(std::min(a.x, b.x) - radius - 1));
  const int x1 = std::min(pixels_.width - 1, static_cast<int>(std::max(a.x, b.x) + radius + 1));
  const int y0 = std::max(0, static_cast<int>(std::min(a.y, b.y) - radius - 1));
  const int y1 = std::min(pixels_.height - 1, static_cast<int>(std::max(a.y, b.y) + radius + 1));
  for (int y = y0; y <= y1; ++y)
    for (int x = x0; x <= x1; ++x) {
      const double coverage = std::clamp(radius + 0.5 - distance_to_segment(x + 0.5, y + 0.5, a, b), 0.0, 1.0);
      if (coverage > 0) blend(x, y, color, coverage);
    }
}

void RasterCanvas::polyline(const std::vector<Point>& points, double width, Color color) {
  for (std::size_t i = 1; i < points.size(); ++i) stroke(points[i - 1], points[i], width, color);
}

void RasterCanvas::text(Point position, std::string_view words, double size, Anchor anchor, Color fill) {
  const double unit = size * 0.72 / kGlyphHeight;  // capitals are about 0.72 of a font's size
  const double length = static_cast<double>(words.size()) * kGlyphAdvance * unit;
  double x = position.x - (anchor == Anchor::kStart ? 0 : anchor == Anchor::kMiddle ? length / 2 : length);
  for (const char character : words) {
    for (auto& line : glyph_strokes(character)) {
      for (Point& point : line) point = {x + point.x * unit, position.y + (point.y - kGlyphHeight) * unit};
      polyline(line, size / 11, fill);
    }
    x += kGlyphAdvance * unit;
  }
}

void RasterCanvas::image(Point corner, double width, double height, const PixelImage& source) {
  const int left = static_cast<int>(std::lround(corner.x * scale_));
  const int top = static_cast<int>(std::lround(corner.y * scale_));
  const int columns = static_cast<int>(std::lround(width * scale_));
  const int rows = static_cast<int>(std::lround(height * scale_));
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x)
      blend(left + x, top + y, source.at(x * source.width / columns, y * source.height / rows), 1);
}

}  // namespace iotape
