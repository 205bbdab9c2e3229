// A table of aligned columns for the terminal: the first column flush left, the others flush right.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace iotape {

class TextTable {
 public:
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Lines ended by newlines. The first column is cut so that no line is longer than width, unless the other columns
  // alone are.
  [[nodiscard]] std::string render(int width) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// The columns a string takes, counting each UTF-8 sequence as one.
[[nodiscard]] std::size_t display_columns(std::string_view text);
// At most `columns` wide, keeping the end, which tells paths and names apart.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t columns);
// Breaks at spaces; continuation lines are indented.
[[nodiscard]] std::string wrapped(std::string_view text, int width, std::string_view indent = "  ");
// Printable ASCII with anything else as '?': names in a trace are bytes of any kind.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace iotape
