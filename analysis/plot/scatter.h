// Scatter: events of any number as a picture of fixed size. A first pass over a trace finds the extent of each panel,
// a second one counts events into the cells of a grid; only the grid is drawn.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/access_order.h"
#include "analysis/plot/canvas.h"
#include "analysis/trace_condition.h"

namespace iotape {

enum class PlotKind : std::uint8_t { kHeads, kLatency, kCause };

// One mark: from low to high on the vertical axis (the sectors of a request, or twice the same value).
struct Mark {
  std::int64_t time = 0;  // ns
  double low = 0;
  double high = 0;
  std::uint8_t category = 0;
};

struct Category {
  std::string name;
  Color color;
};
[[nodiscard]] const std::vector<Category>& categories_of(PlotKind kind);

// The panel and mark of an event; nullopt when this kind of plot does not show it. The panel is the device number, or
// kCallPanel for system calls.
inline constexpr std::uint64_t kCallPanel = ~std::uint64_t{0};
struct PlacedMark {
  std::uint64_t panel = 0;
  Mark mark;
};
[[nodiscard]] std::optional<PlacedMark> mark_of(PlotKind kind, const EventBody& body);

struct Extent {
  bool any = false;
  std::int64_t first = 0;
  std::int64_t last = 0;
  double low = 0;
  double high = 0;
  std::uint64_t marks = 0;
  void include(const Mark& mark);
};

// Counts per cell and category.
class Grid {
 public:
  Grid(int columns, int rows, std::size_t categories, const Extent& extent);
  void add(const Mark& mark);
  [[nodiscard]] std::uint32_t count(int column, int row, std::size_t category) const;
  [[nodiscard]] int columns() const { return columns_; }
  [[nodiscard]] int rows() const { return rows_; }
  [[nodiscard]] std::uint32_t largest() const { return largest_; }
  // Colours of the categories, stronger where more events fell; transparent where none did.
  [[nodiscard]] PixelImage paint(const std::vector<Category>& categories) const;
  // Row 0 is at the top: high values.
  [[nodiscard]] int row_of(double value) const;
  [[nodiscard]] int column_of(std::int64_t time) const;

 private:
  [[nodiscard]] std::size_t cell(int column, int row, std::size_t category) const;
  int columns_;
  int rows_;
  std::size_t categories_;
  Extent extent_;
  std::uint32_t largest_ = 0;
  std::vector<std::uint32_t> counts_;
};

struct Panel {
  std::string trace;
  std::string device;
  std::string caption;  // the figures beside the picture
  Extent extent;
  Grid grid;
  std::vector<Loss> losses;
};

struct ScatterPlot {
  PlotKind kind = PlotKind::kHeads;
  std::vector<Panel> panels;
  std::vector<std::string> remarks;  // below the picture
};

[[nodiscard]] double scatter_height(const ScatterPlot& plot);
inline constexpr double kPlotWidth = 1120;
void draw_scatter(const ScatterPlot& plot, Canvas& canvas);
[[nodiscard]] std::string scatter_text(const ScatterPlot& plot, int width, bool ascii);

}  // namespace iotape
