// What pictures are drawn with. Two backends: SVG text and a raster that becomes a PNG. Units are pixels of the SVG;
// the origin is at the top left.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/base/result.h"

namespace iotape {

struct Color {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  std::uint8_t alpha = 255;
};
struct Point {
  double x = 0;
  double y = 0;
};
enum class Anchor : std::uint8_t { kStart, kMiddle, kEnd };

// A small image of fixed size, row by row from the top.
struct PixelImage {
  int width = 0;
  int height = 0;
  std::vector<Color> pixels;

  PixelImage() = default;
  PixelImage(int w, int h, Color fill)
      : width(w), height(h), pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), fill) {}
  [[nodiscard]] Color& at(int x, int y) {
    return pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
  }
  [[nodiscard]] const Color& at(int x, int y) const { return const_cast<PixelImage*>(this)->at(x, y); }
};

class Canvas {
 public:
  Canvas() = default;
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;
  virtual ~Canvas() = default;

  virtual void rectangle(Point corner, double width, double height, Color fill) = 0;
  virtual void polyline(const std::vector<Point>& points, double width, Color stroke) = 0;
  // position is on the text's base line.
  virtual void text(Point position, std::string_view words, double size, Anchor anchor, Color fill) = 0;
  virtual void image(Point corner, double width, double height, const PixelImage& pixels) = 0;
};

class SvgCanvas final : public Canvas {
 public:
  SvgCanvas(double width, double height);
  void rectangle(Point corner, double width, double height, Color fill) override;
  void polyline(const std::vector<Point>& points, double width, Color stroke) override;
  void text(Point position, std::string_view words, double size, Anchor anchor, Color fill) override;
  void image(Point corner, double width, double height, const PixelImage& pixels) override;
  // The whole document.
  [[nodiscard]] std::string finish() &&;

 private:
  std::string out_;
};

class RasterCanvas final : public Canvas {
 public:
  // scale: pixels of the raster per unit.
  RasterCanvas(double width, double height, double scale);
  void rectangle(Point corner, double width, double height, Color fill) override;
  void polyline(const std::vector<Point>& points, double width, Color stroke) override;
  void text(Point position, std::string_view words, double size, Anchor anchor, Color fill) override;
  void image(Point corner, double width, double height, const PixelImage& pixels) override;
  [[nodiscard]] const PixelImage& pixels() const { return pixels_; }

 private:
  void blend(int x, int y, Color color, double coverage);
  void stroke(Point from, Point to, double width, Color color);

  double scale_;
  PixelImage pixels_;
};

// PNG bytes of an image.
Result<std::string> encode_png(const PixelImage& image);

// Strokes of a character of the built-in plotter font, on a grid of 4 x 6 units with the base line at y = 6; unknown
// characters are a box. The width of any character is kGlyphAdvance.
[[nodiscard]] std::vector<std::vector<Point>> glyph_strokes(char character);
inline constexpr double kGlyphAdvance = 5.6;
inline constexpr double kGlyphHeight = 6;

}  // namespace iotape
