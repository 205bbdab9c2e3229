#include "replayer/experiment/experiment_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "format/base/units.h"
#include "replayer/experiment/experiment_text.h"

namespace iotape {
namespace {

constexpr std::size_t kSeries = 7;  // colours; more targets begin again

constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6570; --line: #d5dae0; --back: #ffffff; --card: #f6f8fa;
  --good: #00704f; --bad: #b3401a;
  --s0: #0072b2; --s1: #d55e00; --s2: #009e73; --s3: #cc79a7; --s4: #b8860b; --s5: #3a93c9; --s6: #6a6a6a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #9aa5b0; --line: #39424c; --back: #14181c;
  --card: #1c2228; --good: #4cc79d; --bad: #f0894f;
  --s0: #56b4e9; --s1: #f0894f; --s2: #35c69a; --s3: #dd9cc2; --s4: #e6c229; --s5: #8fd0f5; --s6: #b0b0b0; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p.soft, li.soft, figcaption { color: var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; }
th { font-weight: 600; color: var(--soft); }
.in { color: var(--good); font-weight: 600; } .out { color: var(--bad); font-weight: 600; }
figure { margin: 1rem 0; } svg { display: block; width: 100%; height: auto; background: var(--card); border-radius: 6px; }
svg text { fill: var(--ink); font-size: 12px; } svg .soft { fill: var(--soft); }
svg .grid { stroke: var(--line); stroke-width: 1; } svg .range { stroke: var(--ink); stroke-width: 1.5; }
svg .claim { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 4 3; }
.f0 { fill: var(--s0); } .f1 { fill: var(--s1); } .f2 { fill: var(--s2); } .f3 { fill: var(--s3); }
.f4 { fill: var(--s4); } .f5 { fill: var(--s5); } .f6 { fill: var(--s6); }
.l0 { stroke: var(--s0); } .l1 { stroke: var(--s1); } .l2 { stroke: var(--s2); } .l3 { stroke: var(--s3); }
.l4 { stroke: var(--s4); } .l5 { stroke: var(--s5); } .l6 { stroke: var(--s6); }
polyline { fill: none; stroke-width: 2; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; }
pre { background: var(--card); padding: .8rem; overflow-x: auto; border-radius: 6px; }
)css";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= ' ' || c == '\n')
      out += c;
    else
      out += '?';
  }
  return out;
}

std::string seconds_text(double seconds) {
  return format_duration(Nanoseconds(static_cast<std::int64_t>(std::llround(seconds * 1e9))));
}

class Page {
 public:
  explicit Page(const ExperimentResult& result) : result_(result) {}

  std::string make() {
    const ExperimentSpec& spec = result_.plan.spec;
    const std::string title = spec.title.empty() ? "An experiment" : spec.title;
    out_ = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n"
        "<h1>{0}</h1>\n",
        escaped(title), kStyle);
    if (!spec.source.empty()) paragraph("Published: " + spec.source);
    targets();
    list(result_.conditions(), "");
    for (const std::string& warning : result_.warnings())
      out_ += fmt::format("<p class=\"out\">Warning: {}</p>\n", escaped(warning));
    claims();
    for (std::size_t row = 0; row < result_.plan.rows.size(); ++row) section(row);
    if (!spec.notes.empty()) out_ += "<h2>What is modelled</h2>\n";
    list(spec.notes, "");
    out_ += fmt::format("<details><summary>The specification</summary>\n<pre>{}</pre></details>\n",
                        escaped(experiment_text(spec)));
    out_ += fmt::format("<p class=\"soft\">iotape {}</p>\n</body>\n</html>\n", IOTAPE_VERSION);
    return std::move(out_);
  }

 private:
  [[nodiscard]] const std::string& label(std::size_t target) const { return result_.plan.targets[target].label; }

  void paragraph(const std::string& text) { out_ += fmt::format("<p>{}</p>\n", escaped(text)); }
  void list(const std::vector<std::string>& lines, std::string_view style) {
    if (lines.empty()) return;
    out_ += "<ul>\n";
    for (const std::string& line : lines) out_ += fmt::format("<li{}>{}</li>\n", style, escaped(line));
    out_ += "</ul>\n";
  }

  void targets() {
    out_ += "<div class=\"wide\"><table>\n<tr><th>target</th><th>as made</th><th>runs</th></tr>\n";
    for (std::size_t target = 0; target < result_.targets.size(); ++target) {
      const TargetResult& each = result_.targets[target];
      const std::string same = each.identical.value_or(false) ? ", equal byte for byte" : "";
      out_ += fmt::format("<tr><td>{}</td><td><code>{}</code> {}</td><td>{}{}</td></tr>\n", escaped(label(target)),
                          escaped(each.description), escaped(each.filesystem), each.runs.size(), same);
    }
    out_ += "</table></div>\n";
  }

  void claims() {
    const auto all = result_.claims();
    if (all.empty()) return;
    out_ +=
        "<h2>Against what was published</h2>\n<div class=\"wide\"><table>\n<tr><th>claim</th><th>published</th>"
        "<th>ours</th><th>band</th><th></th></tr>\n";
    for (const ClaimResult& each : all) {
      const ExperimentClaim& claim = *each.claim;
      const bool outside = each.verdict == Verdict::kOutside;
      std::string words = claim.says;
      if (outside) words += (words.empty() ? "" : " ") + (claim.outside.empty() ? "Not explained." : claim.outside);
      out_ += fmt::format("<tr><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"{}\">{}</td></tr>\n",
                          escaped(claim_name(claim)),
                          words.empty() ? "" : "<br><span class=\"soft\">" + escaped(words) + "</span>",
                          claim.published ? claim_number(claim, *claim.published) : "",
                          each.ours ? claim_number(claim, *each.ours) : "", claim_band(claim),
                          outside                            ? "out"
                          : each.verdict == Verdict::kInside ? "in"
                                                             : "",
                          outside ? "outside" : verdict_word(each.verdict));
    }
    out_ += "</table></div>\n";
  }

  void section(std::size_t row) {
    out_ += fmt::format("<h2>{}</h2>\n", escaped(result_.plan.rows[row].label));
    table(row);
    times(row);
    histogram(row);
    std::vector<std::string> causes;
    for (std::size_t target = 0; target < result_.targets.size(); ++target)
      if (const std::string text = causes_text(result_.figures(target, row, 0), 5); !text.empty())
        causes.push_back(fmt::format("{} travelled for {}", label(target), text));
    list(causes, " class=\"soft\"");
  }

  [[nodiscard]] std::string count(std::size_t target, std::size_t row, std::string_view metric) const {
    const auto spread = result_.spread(target, row, metric);
    return spread ? format_count(static_cast<std::uint64_t>(std::llround(spread->median))) : "";
  }

  void table(std::size_t row) {
    out_ +=
        "<div class=\"wide\"><table>\n<tr><th>target</th><th>time</th><th>spread</th><th>until "
        "written</th><th>reads</th>"
        "<th>writes</th><th>bytes</th><th>seeks</th><th>distance</th></tr>\n";
    for (std::size_t target = 0; target < result_.targets.size(); ++target) {
      const auto time = result_.spread(target, row, "time");
      const auto settled = result_.spread(target, row, "settled");
      const auto bytes = result_.spread(target, row, "bytes");
      const auto distance = result_.spread(target, row, "distance");
      out_ += fmt::format(
          "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></"
          "tr>\n",
          escaped(label(target)), time ? seconds_text(time->median) : "",
          time && time->runs > 1 ? fmt::format("±{:.1f} %", 100 * time->half_range()) : "",
          settled ? seconds_text(settled->median) : "", count(target, row, "reads"), count(target, row, "writes"),
          bytes ? format_size(static_cast<std::uint64_t>(bytes->median)) : "", count(target, row, "seeks"),
          distance ? distance_text(static_cast<std::uint64_t>(distance->median)) : "");
    }
    out_ += "</table></div>\n";
  }

  // What was published of the time of a target in a row.
  [[nodiscard]] std::optional<double> published(std::size_t target, std::size_t row) const {
    for (const ExperimentClaim& claim : result_.plan.spec.claims)
      if (!claim.is_ratio() && claim.metric == "time" && claim.published && claim.target == label(target) &&
          claim.step == result_.plan.rows[row].label)
        return claim.published;
    return std::nullopt;
  }

  void times(std::size_t row) {
    constexpr double kWidth = 900;
    constexpr double kLeft = 200;
    constexpr double kRight = 110;
    constexpr double kBar = 26;
    double longest = 0;
    for (std::size_t target = 0; target < result_.targets.size(); ++target) {
      if (const auto time = result_.spread(target, row, "time")) longest = std::max(longest, time->most);
      longest = std::max(longest, published(target, row).value_or(0));
    }
    if (longest <= 0) return;
    const auto x = [&](double seconds) { return kLeft + seconds / longest * (kWidth - kLeft - kRight); };
    const double height = 16 + kBar * static_cast<double>(result_.targets.size());
    out_ += fmt::format("<figure><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"time of {}\">\n", kWidth, height,
                        escaped(result_.plan.rows[row].label));
    for (std::size_t target = 0; target < result_.targets.size(); ++target) {
      const auto time = result_.spread(target, row, "time");
      const double y = 8 + kBar * static_cast<double>(target);
      out_ += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 8, y + 17,
                          escaped(cut(label(target), 28)));
      if (!time) continue;
      out_ += fmt::format("<rect class=\"f{}\" x=\"{}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"18\"/>\n",
                          target % kSeries, kLeft, y + 4, std::max(1.0, x(time->median) - kLeft));
      if (time->most > time->least)
        out_ += fmt::format("<line class=\"range\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n",
                            x(time->least), x(time->most), y + 13);
      if (const auto claim = published(target, row))
        out_ += fmt::format("<line class=\"claim\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>\n",
                            x(*claim), y + 1, y + 25);
      out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x(time->most) + 8, y + 17,
                          seconds_text(time->median));
    }
    out_ +=
        "</svg><figcaption>time, median; the line is the range, dashes are what was published</figcaption></figure>\n";
  }

  static std::string cut(const std::string& text, std::size_t most) {
    return text.size() <= most ? text : ".." + text.substr(text.size() - most + 2);
  }

  void histogram(std::size_t row) {
    int lowest = -1;
    int highest = 1;
    std::uint64_t largest = 0;
    for (std::size_t target = 0; target < result_.targets.size(); ++target) {
      const SignedLog2Histogram& each = result_.figures(target, row, 0).histogram;
      lowest = std::min(lowest, each.used().lowest), highest = std::max(highest, each.used().highest);
      largest = std::max(largest, each.largest_count());
    }
    if (largest == 0) return;
    constexpr double kWidth = 900;
    constexpr double kHeight = 260;
    constexpr double kLeft = 70;
    constexpr double kHeadroom = 14;
    const int farthest = std::max(-lowest, highest);
    const double bin_width = (kWidth - kLeft - 14) / (2 * farthest + 1);
    const double top = std::ceil(std::log10(static_cast<double>(largest) + 1));
    const auto x = [&](double bin) { return kLeft + (bin + farthest) * bin_width; };
    const auto y = [&](std::uint64_t n) {
      return kHeadroom + kHeight * (1 - (n == 0 ? 0 : (std::log10(static_cast<double>(n)) + 0.5) / (top + 0.5)));
    };
    out_ += fmt::format("<figure><svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"seek distances of {}\">\n",
                        kWidth, kHeadroom + kHeight + 44, escaped(result_.plan.rows[row].label));
    for (int power = 0; power <= static_cast<int>(top); ++power) {
      const auto n = static_cast<std::uint64_t>(std::llround(std::pow(10, power)));
      out_ += fmt::format(
          "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text class=\"soft\" "
          "x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
          kLeft, kWidth - 14, y(n), kLeft - 6, y(n) + 4, format_count(n));
    }
    const int every = std::max(1, static_cast<int>(std::ceil(44 / bin_width)));
    for (int bin = -(farthest / every) * every; bin <= farthest; bin += every)
      out_ += fmt::format("<text class=\"soft\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(bin + 0.5),
                          kHeadroom + kHeight + 16, distance_bin_label(bin));
    for (std::size_t target = 0; target < result_.targets.size(); ++target) {
      out_ += fmt::format("<polyline class=\"l{}\" points=\"", target % kSeries);
      for (int bin = -farthest; bin <= farthest; ++bin) {
        const double height = y(result_.figures(target, row, 0).histogram.count(bin));
        out_ += fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} ", x(bin), height, x(bin + 1), height);
      }
      out_ += "\"/>\n";
    }
    double at = kLeft;
    for (std::size_t target = 0; target < result_.targets.size(); ++target) {
      const std::string name = cut(label(target), 30);
      out_ += fmt::format(
          "<rect class=\"f{}\" x=\"{:.1f}\" y=\"{}\" width=\"10\" height=\"10\"/><text x=\"{:.1f}\" "
          "y=\"{}\">{}</text>\n",
          target % kSeries, at, kHeadroom + kHeight + 26, at + 15, kHeadroom + kHeight + 35, escaped(name));
      at += 40 + 7 * static_cast<double>(name.size());
    }
    out_ +=
        "</svg><figcaption>requests by seek distance, backward to the left, forward to the right, first run"
        "</figcaption></figure>\n";
  }

  const ExperimentResult& result_;
  std::string out_;
};

}  // namespace

std::string experiment_html(const ExperimentResult& result) { return Page(result).make(); }

}  // namespace iotape
