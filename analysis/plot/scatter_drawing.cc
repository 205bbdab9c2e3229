#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/plot/palette.h"
#include "analysis/plot/scatter.h"
#include "analysis/seek_statistics.h"
#include "analysis/text_table.h"
#include "format/base/units.h"

namespace iotape {
namespace {

constexpr double kLeft = 96;
constexpr double kRight = 20;
constexpr double kTop = 34;
constexpr double kPanelHeight = 300;
constexpr double kPanelGap = 74;
constexpr double kRemarkLine = 18;
constexpr double kFoot = 16;
constexpr Color kLossBand{128, 128, 128, 110};

double plot_columns() { return kPlotWidth - kLeft - kRight; }

// A step of 1, 2 or 5 times a power of ten that gives about `wanted` ticks.
double round_step(double span, int wanted) {
  const double raw = span / wanted;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw) return factor * power;
  return 10 * power;
}

// Positions: binary steps, so that ticks lie on whole MiB and GiB.
double binary_step(double sectors, int wanted) {
  return std::exp2(std::ceil(std::log2(std::max(sectors / wanted, 1.0))));
}

std::string position_text(double sectors) {
  const auto bytes = static_cast<std::uint64_t>(std::max(sectors, 0.0)) * kSectorBytes;
  static constexpr std::array<std::string_view, 7> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string seconds_text(double seconds, double step) {
  if (step < 1e-3) return fmt::format("{:.6g} ms", seconds * 1e3);
  return fmt::format("{:.6g} s", seconds);
}

void draw_value_axis(const Panel& panel, PlotKind kind, double top, Canvas& canvas) {
  const double span = panel.extent.high - panel.extent.low;
  const auto tick = [&](double value, const std::string& label) {
    const double share = span > 0 ? (value - panel.extent.low) / span : 0.5;
    const double y = top + kPanelHeight * (1 - share);
    canvas.polyline({{kLeft, y}, {kPlotWidth - kRight, y}}, 0.6, kFaint);
    canvas.text({kLeft - 6, y + 4}, label, kTextSize, Anchor::kEnd, kInk);
  };
  if (span <= 0) {
    tick(panel.extent.low, kind == PlotKind::kLatency ? "" : position_text(panel.extent.low));
  } else if (kind == PlotKind::kLatency) {
    for (int power = static_cast<int>(std::ceil(panel.extent.low)); power <= panel.extent.high; ++power)
      tick(power, format_duration(Nanoseconds(std::llround(std::pow(10, power)))));
  } else {
    const double step = binary_step(span, 5);
    const auto first = static_cast<std::int64_t>(std::ceil(panel.extent.low / step));
    const auto last = static_cast<std::int64_t>(std::floor(panel.extent.high / step));
    for (std::int64_t n = first; n <= last; ++n)
      tick(static_cast<double>(n) * step, position_text(static_cast<double>(n) * step));
  }
}

void draw_time_axis(const Panel& panel, double top, Canvas& canvas) {
  constexpr double kNanosecondsPerSecond = 1e9;
  const double span =
      (static_cast<double>(panel.extent.last) - static_cast<double>(panel.extent.first)) / kNanosecondsPerSecond;
  const double y = top + kPanelHeight;
  if (span <= 0) return;
  const double step = round_step(span, 8);
  for (int i = 0; i * step <= span * 1.0001; ++i) {
    const double x = kLeft + plot_columns() * (i * step / span);
    canvas.polyline({{x, y}, {x, y + 5}}, 1, kFrame);
    if (x < kPlotWidth - 2 * kRight || span <= i * step)
      canvas.text({x, y + 18}, seconds_text(i * step, step), kTextSize, i == 0 ? Anchor::kStart : Anchor::kMiddle,
                  kInk);
  }
}

void draw_losses(const Panel& panel, double top, Canvas& canvas) {
  const double span = static_cast<double>(panel.extent.last) - static_cast<double>(panel.extent.first);
  for (const Loss& loss : panel.losses) {
    if (span <= 0) continue;
    const auto place = [&](Nanoseconds time) {
      return std::clamp((static_cast<double>(time.value) - static_cast<double>(panel.extent.first)) / span, 0.0, 1.0) *
             plot_columns();
    };
    const double from = place(loss.first);
    const double width = std::max(place(loss.last) - from, 2.0);
    canvas.rectangle({kLeft + from, top}, std::min(width, plot_columns() - from + 2), kPanelHeight, kLossBand);
  }
}

void draw_panel(const Panel& panel, const ScatterPlot& plot, double top, Canvas& canvas) {
  const std::string title = panel.device.empty() ? panel.trace : fmt::format("{}: {}", panel.trace, panel.device);
  canvas.text({kLeft, top - 9}, shortened(printable(title), 60), kTextSize + 2, Anchor::kStart, kInk);
  canvas.text({kPlotWidth - kRight, top - 9}, panel.caption, kTextSize, Anchor::kEnd, kInk);
  draw_value_axis(panel, plot.kind, top, canvas);
  canvas.image({kLeft, top}, plot_columns(), kPanelHeight, panel.grid.paint(categories_of(plot.kind)));
  draw_losses(panel, top, canvas);
  canvas.polyline({{kLeft, top},
                   {kLeft, top + kPanelHeight},
                   {kPlotWidth - kRight, top + kPanelHeight},
                   {kPlotWidth - kRight, top},
                   {kLeft, top}},
                  1, kFrame);
  draw_time_axis(panel, top, canvas);
}

// Which categories occur at all, so that the legend names no others.
std::vector<bool> used_categories(const ScatterPlot& plot) {
  std::vector<bool> used(categories_of(plot.kind).size());
  for (const Panel& panel : plot.panels)
    for (int row = 0; row < panel.grid.rows(); ++row)
      for (int column = 0; column < panel.grid.columns(); ++column)
        for (std::size_t k = 0; k < used.size(); ++k) used[k] = used[k] || panel.grid.count(column, row, k) > 0;
  return used;
}

void draw_legend(const ScatterPlot& plot, Canvas& canvas) {
  const auto used = used_categories(plot);
  double x = kLeft;
  const auto entry = [&](const std::string& name, Color color) {
    canvas.rectangle({x, 12}, 11, 11, color);
    canvas.text({x + 16, 22}, name, kTextSize, Anchor::kStart, kInk);
    x += 34 + 7.6 * static_cast<double>(name.size());
  };
  const auto& categories = categories_of(plot.kind);
  for (std::size_t k = 0; k < categories.size(); ++k)
    if (used[k]) entry(categories[k].name, categories[k].color);
  if (std::any_of(plot.panels.begin(), plot.panels.end(), [](const Panel& p) { return !p.losses.empty(); }))
    entry("events lost", kLossBand);
  const std::string_view what = plot.kind == PlotKind::kLatency ? "latency over time" : "head position over time";
  canvas.text({kPlotWidth - kRight, 22}, what, kTextSize + 1, Anchor::kEnd, kInk);
}

char mark_letter(const Grid& grid, int column, int row, const std::vector<Category>& categories) {
  std::size_t best = 0;
  int kinds = 0;
  for (std::size_t k = 0; k < categories.size(); ++k) {
    if (grid.count(column, row, k) > 0) ++kinds;
    if (grid.count(column, row, k) > grid.count(column, row, best)) best = k;
  }
  if (kinds == 0) return ' ';
  return kinds > 1 ? '*' : categories[best].name.front();
}

}  // namespace

double scatter_height(const ScatterPlot& plot) {
  return kTop + static_cast<double>(std::max<std::size_t>(plot.panels.size(), 1)) * (kPanelHeight + kPanelGap) +
         static_cast<double>(plot.remarks.size()) * kRemarkLine + kFoot;
}

void draw_scatter(const ScatterPlot& plot, Canvas& canvas) {
  draw_legend(plot, canvas);
  double top = kTop + 26;
  for (const Panel& panel : plot.panels) {
    draw_panel(panel, plot, top, canvas);
    top += kPanelHeight + kPanelGap;
  }
  if (plot.panels.empty()) {
    canvas.text({kPlotWidth / 2, kTop + kPanelHeight / 2}, "no events to draw", kTextSize + 6, Anchor::kMiddle, kFrame);
    top += kPanelHeight + kPanelGap;
  }
  for (const std::string& remark : plot.remarks) {
    canvas.text({kLeft, top - 14}, printable(remark), kTextSize, Anchor::kStart, kInk);
    top += kRemarkLine;
  }
}

std::string scatter_text(const ScatterPlot& plot, int width, bool ascii) {
  std::string text;
  const auto& categories = categories_of(plot.kind);
  const std::string_view edge = ascii ? "|" : "│";
  for (const Panel& panel : plot.panels) {
    text += wrapped(printable(panel.trace + (panel.device.empty() ? "" : ": " + panel.device) + "  " + panel.caption),
                    width);
    const auto label = [&](double value) {
      return plot.kind == PlotKind::kLatency ? format_duration(Nanoseconds(std::llround(std::pow(10, value))))
                                             : position_text(value);
    };
    for (int row = 0; row < panel.grid.rows(); ++row) {
      std::string line = fmt::format("{:>10} {}",
                                     row == 0                       ? label(panel.extent.high)
                                     : row + 1 == panel.grid.rows() ? label(panel.extent.low)
                                                                    : "",
                                     edge);
      for (int column = 0; column < panel.grid.columns(); ++column) {
        const bool lost = std::any_of(panel.losses.begin(), panel.losses.end(), [&](const Loss& loss) {
          return column >= panel.grid.column_of(loss.first.value) && column <= panel.grid.column_of(loss.last.value);
        });
        const char letter = mark_letter(panel.grid, column, row, categories);
        line += letter == ' ' && lost ? '/' : letter;
      }
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    const Nanoseconds span{panel.extent.last - panel.extent.first};
    text += fmt::format("{:>12}{:>{}}\n", "0 s", format_duration(span), panel.grid.columns());
  }
  std::string legend = "letters:";
  const auto used = used_categories(plot);
  for (std::size_t k = 0; k < categories.size(); ++k)
    if (used[k]) legend += fmt::format(" {} {},", categories[k].name.front(), categories[k].name);
  text += wrapped(legend + " * several, / events lost", width);
  for (const std::string& remark : plot.remarks) text += wrapped(printable(remark), width);
  return text;
}

}  // namespace iotape
