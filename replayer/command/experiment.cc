#include "replayer/command/experiment.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "format/base/units.h"
#include "format/output_file.h"
#include "format/quoting.h"
#include "format/trace_files.h"
#include "replayer/experiment/experiment_html.h"
#include "replayer/experiment/experiment_json.h"
#include "replayer/experiment/experiment_runner.h"
#include "replayer/experiment/experiment_text.h"
#include "replayer/experiment/shipped_experiments.h"

namespace iotape {
namespace {

namespace fs = std::filesystem;

// What was typed.
struct Arguments {
  std::vector<std::string> words;
  std::vector<std::string> targets;
  std::optional<std::uint32_t> runs;
  std::vector<std::string> maps;
  std::string pace;
  std::string page;
  std::string keep;
  std::string traces;
  std::optional<std::uint32_t> age;
  std::vector<std::string> positions;
  std::vector<std::string> allow_writes;
  bool list = false;
  bool print_spec = false;
  bool json = false;
  bool force = false;
};

void declare(CLI::App& app, Arguments& arguments) {
  app.add_option("EXPERIMENT", arguments.words, "A shipped one's name, a .experiment file, or traces: one step each");
  app.add_option("--target", arguments.targets, "[LABEL=]KIND:PLACE,key=value,...; repeatable; KIND:help lists keys")
      ->allow_extra_args(false);
  app.add_option("--runs", arguments.runs, "Of every target, taken in turn (default 5; 2 on a virtual clock)")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--map", arguments.maps, "FROM=TO, as iotape replay takes it, for every step; repeatable")
      ->allow_extra_args(false);
  app.add_option("--pace", arguments.pace, "asap, think, recorded or a speed; of steps that are traces named here");
  app.add_option("--age", arguments.age, "Fill each filesystem to this many percent with used files first")
      ->check(CLI::Range(1, 98));
  app.add_option("--position", arguments.positions,
                 "outer, middle or inner: where on its disk an ext3: target lies; "
                 "repeatable")
      ->check(CLI::IsMember({"outer", "middle", "inner"}))
      ->allow_extra_args(false);
  app.add_option("-o,--output", arguments.page, "Write the result as one HTML page as well");
  app.add_option("--keep", arguments.keep, "Keep the result traces in this directory");
  app.add_option("--traces", arguments.traces, "Where a specification's traces are looked for first");
  app.add_option("--allow-writes", arguments.allow_writes, "A block device that may be overwritten")
      ->allow_extra_args(false);
  app.add_flag("--list", arguments.list, "List the experiments that come with iotape");
  app.add_flag("--print-spec", arguments.print_spec, "Print the specification that would be run; run nothing");
  app.add_flag("--json", arguments.json, "One JSON document, schema iotape.experiment/1");
  app.add_flag("--force", arguments.force, "Overwrite what is there");
  app.footer(
      "Every run begins on a filesystem made for it, at the same place, with cold caches unless the\n"
      "specification says otherwise; runs of different targets are taken in turn.\n"
      "Exit status: 0 run (whatever it found), 1 failed, 2 usage, 130 interrupted.");
}

int list_experiments(const Terminal& terminal, bool json) {
  if (json) {
    auto list = nlohmann::json::array();
    for (const ShippedExperiment& shipped : shipped_experiments()) {
      const auto spec = parse_experiment(shipped.text, std::string(shipped.name));
      list.push_back({{"name", shipped.name}, {"summary", spec ? spec->summary : ""}});
    }
    fmt::print(terminal.out, "{}\n", list.dump(2));
    return kExitOk;
  }
  for (const ShippedExperiment& shipped : shipped_experiments()) {
    const auto spec = parse_experiment(shipped.text, std::string(shipped.name));
    fmt::print(terminal.out, "{:<12} {}\n", shipped.name, spec ? spec->summary : spec.error().message);
  }
  if (!terminal.quiet) fmt::print(terminal.err, "next: iotape experiment NAME\n");
  return kExitOk;
}

const ShippedExperiment* find_shipped(const std::string& name) {
  const auto all = shipped_experiments();
  const auto found = std::ranges::find(all, std::string_view(name), &ShippedExperiment::name);
  return found == all.end() ? nullptr : &*found;
}

// "LABEL=KIND:..."; what begins with KIND: or a path has no label.
ExperimentTarget target_of(const std::string& word) {
  const std::size_t equals = word.find('=');
  const bool labelled = equals != std::string::npos && equals > 0 && equals < word.find_first_of(":/,");
  if (!labelled) return {word, word, 0};
  return {word.substr(0, equals), word.substr(equals + 1), 0};
}

struct Chosen {
  ExperimentSpec spec;
  std::vector<std::string> directories;  // where its traces are
};

// What it reads and works on: the specification, the traces, the images.
std::vector<std::string> files_of(const ExperimentPlan& plan) {
  std::vector<std::string> files{plan.spec.file};
  for (const PlannedStep& step : plan.steps) files.push_back(step.trace);
  for (const PlannedTarget& target : plan.targets) files.push_back(target.spec.place);
  return files;
}

class ExperimentCommand {
 public:
  ExperimentCommand(const Terminal& terminal, Arguments arguments, const SelfRecorderFactory& make_recorder)
      : terminal_(terminal), arguments_(std::move(arguments)), make_recorder_(make_recorder) {}

  Result<int> run() {
    std::error_code ignored;
    if (!arguments_.traces.empty() && !fs::is_directory(arguments_.traces, ignored))
      return failure(ErrorCode::kUsage, fmt::format("--traces {}: there is no such directory", arguments_.traces));
    IOTAPE_ASSIGN(Chosen chosen, choose());
    if (arguments_.print_spec) return print_spec(chosen.spec);
    IOTAPE_ASSIGN(ExperimentPlan plan, plan_experiment(chosen.spec, chosen.directories));
    std::optional<OutputFile> page;  // before anything runs: a name that is taken is told at once
    if (!arguments_.page.empty()) {
      IOTAPE_TRY(check_output(arguments_.page, files_of(plan)));
      IOTAPE_ASSIGN(OutputFile made, OutputFile::create(arguments_.page, arguments_.force, kPictureMode));
      page.emplace(std::move(made));
    }
    const StopRequests stop;
    const auto result = run_experiment(std::move(plan), runner_options(), stop);
    clear_progress();
    if (!result) return tl::make_unexpected(result.error());
    fmt::print(terminal_.out, "{}",
               arguments_.json ? experiment_json(*result) + "\n" : experiment_report_text(*result, terminal_));
    if (page) {
      IOTAPE_TRY(page->write(experiment_html(*result)));
      IOTAPE_TRY(page->commit());
    }
    tell_next();
    return kExitOk;
  }

 private:
  Result<Chosen> choose() const {
    if (arguments_.words.empty())
      return failure(ErrorCode::kUsage,
                     "what is to be run? A shipped experiment (--list names them), a specification, or a trace with "
                     "--target A --target B");
    const std::string& first = arguments_.words.front();
    if (arguments_.words.size() == 1 && (find_shipped(first) != nullptr || first.ends_with(".experiment")))
      return from_specification(first);
    return from_traces();
  }

  Result<Chosen> from_specification(const std::string& name) const {
    if (!arguments_.pace.empty())
      return failure(
          ErrorCode::kUsage,
          fmt::format("--pace is for traces named on the command line; in {} each step has its own (pace:)", name));
    Chosen chosen;
    if (const ShippedExperiment* shipped = find_shipped(name)) {
      IOTAPE_ASSIGN(chosen.spec, parse_experiment(shipped->text, name + ".experiment"));
      chosen.directories = shipped_directories();
    } else {
      IOTAPE_ASSIGN(chosen.spec, read_experiment(name));
      chosen.directories.push_back(fs::path(name).has_parent_path() ? fs::path(name).parent_path().string() : ".");
      for (std::string& directory : shipped_directories()) chosen.directories.push_back(std::move(directory));
    }
    for (const std::string& word : arguments_.targets) chosen.spec.targets.push_back(target_of(word));
    apply_options(chosen.spec);
    return chosen;
  }

  [[nodiscard]] std::vector<std::string> shipped_directories() const {
    std::vector<std::string> directories;
    if (!arguments_.traces.empty()) directories.push_back(arguments_.traces);
    std::error_code ignored;
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
    const fs::path installed = program.parent_path().parent_path() / "share/iotape/traces";
    if (fs::is_directory(installed, ignored)) directories.push_back(installed.string());
    directories.emplace_back(source_traces_directory());
    return directories;
  }

  Result<Chosen> from_traces() const {
    Chosen chosen;
    chosen.spec.file = "command line";
    for (const std::string& word : arguments_.words) {
      std::error_code ignored;
      if (!fs::exists(word, ignored)) return failure(ErrorCode::kUsage, missing(word));
      ExperimentStep step;
      step.label = fs::path(word).stem().string();
      step.trace = word;
      step.cache = chosen.spec.steps.empty() ? StepCache::kCold : StepCache::kHot;
      if (!arguments_.pace.empty()) step.pace = arguments_.pace;
      chosen.spec.steps.push_back(std::move(step));
    }
    if (arguments_.targets.empty())
      return failure(ErrorCode::kUsage,
                     "on which targets? Name them with --target A --target B, e.g. --target ext3: "
                     "--target ext3:,alloc=classic; a specification is called *.experiment");
    for (const std::string& word : arguments_.targets) chosen.spec.targets.push_back(target_of(word));
    apply_options(chosen.spec);
    // Read back: what is run here and what --print-spec writes must be judged alike.
    IOTAPE_ASSIGN(chosen.spec, parse_experiment(experiment_text(chosen.spec), "command line"));
    return chosen;
  }

  static std::string missing(const std::string& word) {
    std::vector<std::string> names;
    for (const ShippedExperiment& shipped : shipped_experiments()) names.emplace_back(shipped.name);
    const std::string nearest = nearest_word(word, names);
    return fmt::format("{} is neither a file nor an experiment that comes with iotape{}", word,
                       nearest.empty() ? " (--list names them)" : fmt::format("; did you mean {}?", nearest));
  }

  void apply_options(ExperimentSpec& spec) const {
    if (arguments_.runs) spec.runs = *arguments_.runs;
    if (!arguments_.maps.empty()) spec.maps = arguments_.maps;
    if (arguments_.age) spec.age = ExperimentAge{.fill_percent = *arguments_.age};
    if (!arguments_.positions.empty()) spec.positions = arguments_.positions;
  }

  Result<int> print_spec(const ExperimentSpec& spec) const {
    fmt::print(terminal_.out,
               "# iotape experiment FILE.experiment runs this; format/experiment.proto says what the keys "
               "mean.\n{}",
               experiment_text(spec));
    if (!terminal_.quiet) fmt::print(terminal_.err, "next: iotape experiment ... --print-spec > MINE.experiment\n");
    return kExitOk;
  }

  RunnerOptions runner_options() {
    RunnerOptions options;
    options.allow_writes = arguments_.allow_writes;
    options.keep = arguments_.keep;
    options.force = arguments_.force;
    options.make_recorder = make_recorder_;
    if (!terminal_.quiet)
      options.say = [this](const std::string& text) {
        clear_progress();
        fmt::print(terminal_.err, "{}\n", text);
      };
    if (terminal_.err_is_terminal && !terminal_.quiet)
      options.progress = [this](const ExperimentProgress& progress) { show_progress(progress); };
    return options;
  }

  void show_progress(const ExperimentProgress& progress) {
    using Clock = std::chrono::steady_clock;
    constexpr auto kEvery = std::chrono::milliseconds(200);
    const auto now = Clock::now();
    if (shown_ && now - last_shown_ < kEvery) return;
    if (!shown_) began_ = now;
    shown_ = true, last_shown_ = now;
    std::string left;
    constexpr double kEnough = 0.02;  // before that a guess is worse than none
    if (progress.share > kEnough) {
      const double past = std::chrono::duration<double>(now - began_).count();
      left = fmt::format(", {:.0f} s left", past / progress.share * (1 - progress.share));
    }
    fmt::print(terminal_.err, "\r\x1b[Krun {} of {}, {}: {} ({:.0f} %{})", progress.run, progress.runs, progress.target,
               progress.step, 100 * progress.share, left);
    std::fflush(terminal_.err);
  }
  void clear_progress() {
    if (shown_) fmt::print(terminal_.err, "\r\x1b[K");
    shown_ = false;
  }

  void tell_next() const {
    if (terminal_.quiet) return;
    if (arguments_.keep.empty())
      fmt::print(terminal_.err, "next: the same with --keep DIR keeps the traces for seeks, compare and plot\n");
    else
      fmt::print(terminal_.err, "next: iotape seeks {}/*.iotape --by cause\n", shell_word(arguments_.keep));
  }

  const Terminal& terminal_;
  Arguments arguments_;
  const SelfRecorderFactory& make_recorder_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::time_point last_shown_;
};

}  // namespace

int run_experiment(CommandCall& call, const SelfRecorderFactory& make_recorder) {
  CLI::App app("One workload on several targets, several times, in one table; or a published result examined again",
               "iotape experiment");
  Arguments arguments;
  add_common_options(app, *call.terminal);
  declare(app, arguments);
  if (const int status = parse_arguments(app, call); status >= 0) return status;
  if (arguments.list) return list_experiments(*call.terminal, arguments.json);
  const auto done = ExperimentCommand(*call.terminal, std::move(arguments), make_recorder).run();
  return done ? *done : report_error(*call.terminal, "experiment", done.error());
}

}  // namespace iotape
