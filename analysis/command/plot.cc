// iotape plot T... -o x.svg|x.png|x.txt
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>

#include "analysis/command/analysis_commands.h"
#include "analysis/command/threshold_option.h"
#include "analysis/plot/histogram_plot.h"
#include "analysis/plot/plot_run.h"
#include "analysis/seek_run.h"
#include "analysis/seek_text.h"
#include "format/base/units.h"
#include "format/command/selection_options.h"
#include "format/output_file.h"
#include "format/trace_files.h"

namespace iotape {
namespace {

struct PlotArguments {
  std::vector<std::string> traces;
  std::string output;
  std::string what = "heads";
  SelectionOptions selection;
  std::uint64_t threshold = kDefaultThresholdSectors;
  bool force = false;
};

constexpr int kGridColumns = 502;
constexpr int kGridRows = 150;
constexpr int kTextRows = 20;
constexpr int kTextMargin = 12;
constexpr double kPngScale = 1.5;

void declare(CLI::App& app, PlotArguments& arguments) {
  app.add_option("T", arguments.traces, "Traces; each is read twice, so no pipes")->required();
  app.add_option("-o,--output", arguments.output, "Where to: NAME.svg, NAME.png or NAME.txt; - prints the text form")
      ->required();
  app.add_option("--what", arguments.what, "heads (default), histogram, latency or cause")
      ->check(CLI::IsMember({"heads", "histogram", "latency", "cause"}));
  add_threshold_option(app, arguments.threshold);
  app.add_flag("--force", arguments.force, "Overwrite the output");
  add_selection_options(app, arguments.selection);
}

enum class OutputForm : std::uint8_t { kSvg, kPng, kText };

Result<OutputForm> form_of(const std::string& output) {
  if (output == "-" || output.ends_with(".txt")) return OutputForm::kText;
  if (output.ends_with(".svg")) return OutputForm::kSvg;
  if (output.ends_with(".png")) return OutputForm::kPng;
  return failure(ErrorCode::kUsage,
                 fmt::format("'{}' ends in none of .svg, .png, .txt, which says what to draw", output));
}

Result<std::string> draw(OutputForm form, double width, double height, const std::function<void(Canvas&)>& paint) {
  if (form == OutputForm::kSvg) {
    SvgCanvas canvas(width, height);
    paint(canvas);
    return std::move(canvas).finish();
  }
  RasterCanvas canvas(width, height, kPngScale);
  paint(canvas);
  return encode_png(canvas.pixels());
}

Result<std::string> histogram_picture(const PlotArguments& arguments, OutputForm form, const Terminal& terminal) {
  std::vector<SeekReport> reports;
  for (const std::string& trace : arguments.traces) {
    SeekOptions options;
    options.threshold = arguments.threshold;
    IOTAPE_ASSIGN(SeekReport report, analyse_seeks(trace, arguments.selection, options));
    reports.push_back(std::move(report));
  }
  if (form != OutputForm::kText)
    return draw(form, kHistogramWidth, histogram_height(reports),
                [&](Canvas& canvas) { draw_histograms(reports, canvas); });
  Terminal plain = terminal;
  plain.color = false;
  std::string text;
  for (const SeekReport& report : reports)
    text += fmt::format("{}: {}\n{}", report.trace, report.condition.sentence(),
                        histogram_text(report.total.histogram, arguments.threshold, plain));
  return text;
}

Result<std::string> scatter_picture(const PlotArguments& arguments, OutputForm form, const Terminal& terminal) {
  const PlotKind kind = arguments.what == "heads"     ? PlotKind::kHeads
                        : arguments.what == "latency" ? PlotKind::kLatency
                                                      : PlotKind::kCause;
  const bool text = form == OutputForm::kText;
  IOTAPE_ASSIGN(
      const ScatterPlot plot,
      collect_scatter(kind, arguments.traces, arguments.selection, arguments.threshold,
                      text ? std::max(terminal.width - kTextMargin, 10) : kGridColumns, text ? kTextRows : kGridRows));
  if (text) return scatter_text(plot, terminal.width, terminal.ascii);
  return draw(form, kPlotWidth, scatter_height(plot), [&](Canvas& canvas) { draw_scatter(plot, canvas); });
}

Result<void> write_output(const PlotArguments& arguments, const std::string& bytes, const Terminal& terminal) {
  if (arguments.output == "-") {
    std::fwrite(bytes.data(), 1, bytes.size(), terminal.out);
    return {};
  }
  IOTAPE_TRY(check_output(arguments.output, arguments.traces));
  IOTAPE_ASSIGN(OutputFile file, OutputFile::create(arguments.output, arguments.force, kPictureMode));
  IOTAPE_TRY(file.write(bytes));
  return file.commit();
}

Result<void> plot(const PlotArguments& arguments, const Terminal& terminal) {
  IOTAPE_ASSIGN(const OutputForm form, form_of(arguments.output));
  IOTAPE_ASSIGN(const std::string bytes, arguments.what == "histogram" ? histogram_picture(arguments, form, terminal)
                                                                       : scatter_picture(arguments, form, terminal));
  return write_output(arguments, bytes, terminal);
}

}  // namespace

int run_plot(CommandCall& call) {
  Terminal& terminal = *call.terminal;
  CLI::App app("Draw head movement, seek histograms or latencies", "iotape plot");
  PlotArguments arguments;
  add_common_options(app, terminal);
  declare(app, arguments);
  if (const int status = parse_arguments(app, call); status >= 0) return status;
  if (const auto done = plot(arguments, terminal); !done) return report_error(terminal, "plot", done.error());
  if (!terminal.quiet) fmt::print(terminal.err, "next: iotape compare A B says in numbers what pictures only show\n");
  return kExitOk;
}

}  // namespace iotape
