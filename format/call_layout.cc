#include "format/call_layout.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace iotape {
namespace {

struct LayoutLine {
  std::string_view call;
  std::string_view arguments;
  std::string_view result;
};

constexpr LayoutLine kLines[] = {
#define LAYOUT(call, arguments, result) {#call, arguments, #result},
#include "format/call_syntax.def"
};

template <typename T>
struct Word {
  std::string_view word;
  T meaning;
};
constexpr std::array<Word<ArgumentForm>, 8> kForms{{{"octal", ArgumentForm::kOctal},
                                                    {"hex", ArgumentForm::kHex},
                                                    {"pointer_value", ArgumentForm::kPointerValue},
                                                    {"pointer", ArgumentForm::kOffsetPointer},
                                                    {"list", ArgumentForm::kSegments},
                                                    {"times", ArgumentForm::kTimes},
                                                    {"create", ArgumentForm::kCreationMode},
                                                    {"device", ArgumentForm::kDevice}}};
constexpr std::array<Word<ResultForm>, 4> kResults{{{"decimal", ResultForm::kDecimal},
                                                    {"fd", ResultForm::kDescriptor},
                                                    {"hex", ResultForm::kHex},
                                                    {"octal", ResultForm::kOctal}}};

template <typename Words>
auto meaning_of(const Words& words, std::string_view word) -> std::optional<decltype(words.front().meaning)> {
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto& entry) { return entry.word == word; });
  if (found == words.end()) return std::nullopt;
  return found->meaning;
}

// inner: "flags:open_flags", "path@", "length".
bool parse_placeholder(std::string_view inner, LayoutPiece& piece) {
  const std::size_t colon = inner.find(':');
  piece.field = inner.substr(0, colon);
  if (piece.field.ends_with('@')) {
    piece.field.remove_suffix(1);
    piece.form = ArgumentForm::kWithDirectory;
    return true;
  }
  if (colon == std::string_view::npos) return true;
  const std::string_view word = inner.substr(colon + 1);
  if (const auto form = meaning_of(kForms, word)) return piece.form = *form, true;
  const auto table = symbol_table(word);
  if (!table) return false;
  piece.form = ArgumentForm::kSymbols;
  piece.table = *table;
  return true;
}

std::optional<CallLayout> parse_line(const LayoutLine& line) {
  CallLayout layout;
  std::string_view rest = line.arguments;
  while (!rest.empty()) {
    LayoutPiece piece;
    const std::size_t start = rest.find("$(");
    piece.literal = rest.substr(0, start);
    if (start == std::string_view::npos) {
      layout.pieces.push_back(piece);
      break;
    }
    const std::size_t end = rest.find(')', start);
    if (end == std::string_view::npos || !parse_placeholder(rest.substr(start + 2, end - start - 2), piece))
      return std::nullopt;
    layout.pieces.push_back(piece);
    rest.remove_prefix(end + 1);
  }
  const auto result = meaning_of(kResults, line.result);
  if (!result) return std::nullopt;
  layout.result = *result;
  return layout;
}

}  // namespace

std::optional<CallLayout> call_layout(std::string_view call) {
  const auto* line =
      std::find_if(std::begin(kLines), std::end(kLines), [&](const LayoutLine& entry) { return entry.call == call; });
  return line == std::end(kLines) ? std::nullopt : parse_line(*line);
}

std::vector<std::string> malformed_layouts() {
  std::vector<std::string> bad;
  for (const LayoutLine& line : kLines)
    if (!parse_line(line)) bad.emplace_back(line.call);
  return bad;
}

std::vector<std::string_view> calls_with_layout() {
  std::vector<std::string_view> calls;
  for (const LayoutLine& line : kLines) calls.push_back(line.call);
  return calls;
}

}  // namespace iotape
