#include <fmt/format.h>

#include "analysis/plot/canvas.h"

namespace iotape {
namespace {

std::string hex(Color color) { return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue); }

std::string paint(std::string_view property, Color color) {
  std::string text = fmt::format("{}=\"{}\"", property, hex(color));
  if (color.alpha != 255) text += fmt::format(" {}-opacity=\"{:.2f}\"", property, color.alpha / 255.0);
  return text;
}

std::string escaped(std::string_view words) {
  std::string text;
  for (const char c : words) {
    if (c == '<')
      text += "&lt;";
    else if (c == '>')
      text += "&gt;";
    else if (c == '&')
      text += "&amp;";
    else if (c == '"')
      text += "&quot;";
    else
      text += c >= ' ' && c <= '~' ? c : '?';
  }
  return text;
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(bytes.size() * 4 / 3 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8U | (k < have ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= have ? kAlphabet[group >> (18U - 6U * static_cast<unsigned>(k)) & 0x3FU] : '=';
  }
  return text;
}

}  // namespace

SvgCanvas::SvgCanvas(double width, double height) {
  out_ = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
      "font-family=\"DejaVu Sans, Verdana, sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width, height);
}

void SvgCanvas::rectangle(Point corner, double width, double height, Color fill) {
  out_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}/>\n", corner.x, corner.y,
                      width, height, paint("fill", fill));
}

void SvgCanvas::polyline(const std::vector<Point>& points, double width, Color stroke) {
  out_ += "<polyline fill=\"none\" points=\"";
  for (const Point& point : points) out_ += fmt::format("{:.1f},{:.1f} ", point.x, point.y);
  out_ += fmt::format("\" stroke-width=\"{:g}\" {}/>\n", width, paint("stroke", stroke));
}

void SvgCanvas::text(Point position, std::string_view words, double size, Anchor anchor, Color fill) {
  const std::string_view where = anchor == Anchor::kStart ? "start" : anchor == Anchor::kMiddle ? "middle" : "end";
  out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:g}\" text-anchor=\"{}\" {}>{}</text>\n",
                      position.x, position.y, size, where, paint("fill", fill), escaped(words));
}

void SvgCanvas::image(Point corner, double width, double height, const PixelImage& pixels) {
  const auto png = encode_png(pixels);
  if (!png) return;  // only for want of memory; the axes still say what would have been here
  out_ += fmt::format(
      "<image x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" preserveAspectRatio=\"none\" "
      "image-rendering=\"pixelated\" xlink:href=\"data:image/png;base64,{}\"/>\n",
      corner.x, corner.y, width, height, base64(*png));
}

std::string SvgCanvas::finish() && { return std::move(out_) + "</svg>\n"; }

}  // namespace iotape
