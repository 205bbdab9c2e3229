#include "analysis/text_table.h"

#include <algorithm>

namespace iotape {
namespace {

constexpr std::size_t kSmallestFirstColumn = 10;

std::string pad(const std::string& text, std::size_t columns, bool left) {
  const std::size_t have = display_columns(text);
  const std::string spaces(columns > have ? columns - have : 0, ' ');
  return left ? text + spaces : spaces + text;
}

}  // namespace

std::size_t display_columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string shortened(const std::string& text, std::size_t columns) {
  if (display_columns(text) <= columns || columns < 4) return text;
  return ".." + text.substr(text.size() - (columns - 2));
}

std::string printable(std::string_view text) {
  std::string clean(text);
  for (char& c : clean)
    if (c < ' ' || c > '~') c = '?';
  return clean;
}

std::string wrapped(std::string_view text, int width, std::string_view indent) {
  std::string out;
  std::string line;
  const auto limit = static_cast<std::size_t>(width);
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    if (!line.empty() && line != indent && line.size() + 1 + word.size() > limit) {
      out += line + "\n";
      line = indent;
    } else if (!line.empty() && line != indent) {
      line += ' ';
    }
    line += word;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return out + line + "\n";
}

std::string TextTable::render(int width) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_columns(row[i]));
  }
  std::size_t gap = 2;
  const auto other_columns = [&] {
    std::size_t sum = 0;
    for (std::size_t i = 1; i < widths.size(); ++i) sum += widths[i] + gap;
    return sum;
  };
  // A narrower gap loses less than the beginning of a name.
  if (!widths.empty() && widths[0] + other_columns() > static_cast<std::size_t>(width)) gap = 1;
  const std::size_t others = other_columns();
  if (!widths.empty() && widths[0] + others > static_cast<std::size_t>(width))
    widths[0] = std::max(kSmallestFirstColumn, static_cast<std::size_t>(width) - std::min<std::size_t>(others, width));
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i == 0 ? pad(shortened(row[0], widths[0]), widths[0], true)
                     : std::string(gap, ' ') + pad(row[i], widths[i], false);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace iotape
