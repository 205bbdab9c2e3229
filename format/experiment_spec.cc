#include "format/experiment_spec.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <set>
#include <span>

#include "experiment.pb.h"
#include "format/base/command.h"
#include "format/base/file_descriptor.h"

namespace iotape {
namespace {

namespace pb = google::protobuf;
using pb::TextFormat;

constexpr std::size_t kLargestSpec = std::size_t{1} << 20U;
constexpr std::uint32_t kMostRuns = 10'000;

// Keeps the first error; the ones after it are mostly its consequences.
class FirstError final : public pb::io::ErrorCollector {
 public:
  void AddError(int line, int /*column*/, const std::string& message) override {
    if (!message_.empty()) return;
    line_ = line + 1;
    message_ = message;
  }
  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] std::string explained() const;

 private:
  int line_ = 0;
  std::string message_;
};

std::string between(std::string_view text, std::string_view before, char end) {
  const std::size_t start = text.find(before);
  if (start == std::string_view::npos) return {};
  const std::string_view rest = text.substr(start + before.size());
  return std::string(rest.substr(0, rest.find(end)));
}

// The parser's own words, but for the commonest mistake, which deserves the name that was meant.
std::string FirstError::explained() const {
  const std::string key = between(message_, "has no field named \"", '"');
  const auto* type = pb::DescriptorPool::generated_pool()->FindMessageTypeByName(between(message_, "type \"", '"'));
  if (key.empty() || type == nullptr) return message_;
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(type->field_count()));
  for (int i = 0; i < type->field_count(); ++i) names.push_back(type->field(i)->name());
  const std::string nearest = nearest_word(key, names);
  return fmt::format(
      "unknown key '{}'; {}", key,
      nearest.empty() ? fmt::format("there are {}", fmt::join(names, " ")) : fmt::format("did you mean {}?", nearest));
}

// Where a field of a message stands, 1 for the first line; 0 when it is absent.
int line_of(const TextFormat::ParseInfoTree* tree, const pb::Message& message, const char* field, int index = -1) {
  const auto* descriptor = message.GetDescriptor()->FindFieldByName(field);
  return tree == nullptr ? 0 : tree->GetLocation(descriptor, index).line + 1;
}
TextFormat::ParseInfoTree* nested(TextFormat::ParseInfoTree& tree, const pb::Message& message, const char* field,
                                  int index) {
  return tree.GetTreeForNested(message.GetDescriptor()->FindFieldByName(field), index);
}

std::vector<std::string> words(const std::string& list) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    std::string word = list.substr(at, comma - at);
    std::erase(word, ' ');
    if (!word.empty()) all.push_back(std::move(word));
    at = comma + 1;
  }
  return all;
}

// What differs from the text's message: lines are kept, words get their meaning.
class Reader {
 public:
  Reader(const wire::Experiment& message, TextFormat::ParseInfoTree& tree, std::string file)
      : message_(message), tree_(tree) {
    spec_.file = std::move(file);
  }

  Result<ExperimentSpec> read() {
    spec_.title = message_.title();
    spec_.summary = message_.summary();
    spec_.source = message_.source();
    spec_.notes.assign(message_.note().begin(), message_.note().end());
    spec_.maps.assign(message_.map().begin(), message_.map().end());
    if (!spec_.maps.empty()) spec_.map_line = line_of(&tree_, message_, "map", 0);
    IOTAPE_TRY(read_runs());
    IOTAPE_TRY(read_targets());
    IOTAPE_TRY(read_age());
    for (int i = 0; i < message_.step_size(); ++i) IOTAPE_TRY(read_step(i));
    if (spec_.steps.empty()) return spec_.wrong(0, "step", "there is none; write step { trace: \"T.iotape\" }");
    for (int i = 0; i < message_.claim_size(); ++i) IOTAPE_TRY(read_claim(i));
    return std::move(spec_);
  }

 private:
  // Labels stand in tables on a terminal.
  Result<void> plain_label(int line, const char* key, const std::string& label) const {
    if (std::ranges::none_of(label, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }))
      return {};
    return spec_.wrong(line, key, "holds control characters");
  }

  Result<void> read_runs() {
    spec_.runs = message_.has_runs() ? message_.runs() : kDefaultRuns;
    if (spec_.runs >= 1 && spec_.runs <= kMostRuns) return {};
    return spec_.wrong(line_of(&tree_, message_, "runs"), "runs",
                       fmt::format("1 to {}, not {}", kMostRuns, spec_.runs));
  }

  Result<void> read_targets() {
    for (int i = 0; i < message_.target_size(); ++i) {
      const auto& from = message_.target(i);
      const auto* tree = nested(tree_, message_, "target", i);
      ExperimentTarget target{from.label(), from.spec(), line_of(tree, from, "spec")};
      if (target.spec.empty())
        return spec_.wrong(line_of(&tree_, message_, "target", i), "target.spec", "missing; e.g. spec: \"ext3:\"");
      if (target.label.empty()) target.label = target.spec;
      IOTAPE_TRY(plain_label(target.line, "target.label", target.label));
      spec_.targets.push_back(std::move(target));
    }
    for (int i = 0; i < message_.position_size(); ++i) {
      static constexpr std::array<std::string_view, 3> kPlaces{"outer", "middle", "inner"};
      spec_.position_line = line_of(&tree_, message_, "position", i);
      if (std::ranges::find(kPlaces, message_.position(i)) == kPlaces.end())
        return spec_.wrong(spec_.position_line, "position",
                           fmt::format("outer, middle or inner, not '{}'", message_.position(i)));
      spec_.positions.push_back(message_.position(i));
    }
    std::set<std::string> labels;
    for (const ExperimentTarget& target : spec_.placed_targets())
      if (!labels.insert(target.label).second)
        return spec_.wrong(target.line, "target.label", fmt::format("'{}' is there twice", target.label));
    if (!spec_.targets.empty()) return {};
    return spec_.wrong(0, "target", "there is none; write target { label: \"ours\" spec: \"ext3:\" }");
  }

  Result<void> read_age() {
    if (!message_.has_age()) return {};
    constexpr std::uint32_t kFullest = 98;
    constexpr std::uint32_t kMostChurn = 10'000;
    const auto& from = message_.age();
    const auto* tree = nested(tree_, message_, "age", -1);
    ExperimentAge age;
    age.line = line_of(&tree_, message_, "age");
    age.fill_percent = from.fill_percent();
    if (from.has_seed()) age.seed = from.seed();
    if (from.has_churn()) age.churn = from.churn();
    if (age.fill_percent < 1 || age.fill_percent > kFullest)
      return spec_.wrong(from.has_fill_percent() ? line_of(tree, from, "fill_percent") : age.line, "age.fill_percent",
                         fmt::format("1 to {}, not {}", kFullest, age.fill_percent));
    if (age.churn > kMostChurn)
      return spec_.wrong(line_of(tree, from, "churn"), "age.churn",
                         fmt::format("0 to {} percent, not {}", kMostChurn, age.churn));
    spec_.age = age;
    return {};
  }

  Result<void> read_step(int index) {
    const auto& from = message_.step(index);
    auto* tree = nested(tree_, message_, "step", index);
    const int here = line_of(&tree_, message_, "step", index);
    ExperimentStep step;
    step.trace = from.trace();
    step.workload = from.workload();
    step.line = line_of(tree, from, from.has_trace() ? "trace" : "workload");
    if (step.trace.empty() == step.workload.empty())
      return spec_.wrong(here, "step", "takes exactly one of trace and workload");
    step.label = from.label();
    if (step.label.empty())
      step.label = step.trace.empty() ? step.workload.substr(0, step.workload.find(' '))
                                      : std::filesystem::path(step.trace).stem().string();
    IOTAPE_TRY(plain_label(here, "step.label", step.label));
    step.pace = from.has_pace() ? from.pace() : "asap";
    step.pace_line = line_of(tree, from, "pace");
    step.thinking = from.thinking();
    step.thinking_line = line_of(tree, from, "thinking");
    if (from.has_cache() && from.cache() != "cold" && from.cache() != "hot")
      return spec_.wrong(line_of(tree, from, "cache"), "step.cache",
                         fmt::format("cold or hot, not '{}'", from.cache()));
    step.fresh = from.fresh();
    step.cache =
        (from.has_cache() ? from.cache() == "cold" : index == 0 || step.fresh) ? StepCache::kCold : StepCache::kHot;
    IOTAPE_TRY(read_phases(from, *tree, step));
    for (const std::string& row : rows_of(step))
      if (!rows_.insert(row).second) return spec_.wrong(here, "step.label", fmt::format("'{}' is there twice", row));
    spec_.steps.push_back(std::move(step));
    return {};
  }

  Result<void> read_phases(const wire::ExperimentStep& from, TextFormat::ParseInfoTree& tree, ExperimentStep& step) {
    for (int i = 0; i < from.phase_size(); ++i) {
      const auto& phase = from.phase(i);
      const bool last = i + 1 == from.phase_size();
      ExperimentPhase made{phase.label(), words(phase.until()), !phase.has_shown() || phase.shown(),
                           line_of(&tree, from, "phase", i)};
      if (made.label.empty()) return spec_.wrong(made.line, "phase.label", "missing");
      IOTAPE_TRY(plain_label(made.line, "phase.label", made.label));
      if (!last && made.until.empty())
        return spec_.wrong(made.line, "phase.until",
                           fmt::format("'{}' is followed by another phase and must say where it ends", made.label));
      if (last && !made.until.empty())
        return spec_.wrong(made.line, "phase.until",
                           fmt::format("'{}' is the last phase: add another for what comes after", made.label));
      step.phases.push_back(std::move(made));
    }
    return {};
  }

  static std::vector<std::string> rows_of(const ExperimentStep& step) {
    if (step.phases.empty()) return {step.label};
    std::vector<std::string> rows;
    for (const ExperimentPhase& phase : step.phases)
      if (phase.shown) rows.push_back(phase.label);
    return rows;
  }

  Result<void> read_claim(int index) {
    const auto& from = message_.claim(index);
    const auto* tree = nested(tree_, message_, "claim", index);
    ExperimentClaim claim;
    claim.line = line_of(&tree_, message_, "claim", index);
    claim.step = from.step(), claim.target = from.target();
    claim.over_step = from.over_step(), claim.over_target = from.over_target();
    if (from.has_metric()) claim.metric = from.metric();
    if (from.has_published()) claim.published = from.published();
    if (from.has_low()) claim.low = from.low();
    if (from.has_high()) claim.high = from.high();
    claim.says = from.says(), claim.outside = from.outside();
    const auto labels = spec_.placed_targets();
    const auto known_target = [&](const std::string& label) {
      return std::ranges::any_of(labels, [&](const ExperimentTarget& target) { return target.label == label; });
    };
    const auto bad = [&](const char* key, std::string_view kind, const std::string& value) {
      return spec_.wrong(line_of(tree, from, key) == 0 ? claim.line : line_of(tree, from, key),
                         fmt::format("claim.{}", key), fmt::format("no {} is called '{}'", kind, value));
    };
    if (!rows_.contains(claim.step)) return bad("step", "step or shown phase", claim.step);
    if (!claim.over_step.empty() && !rows_.contains(claim.over_step))
      return bad("over_step", "step or shown phase", claim.over_step);
    if (!known_target(claim.target)) return bad("target", "target", claim.target);
    if (!claim.over_target.empty() && !known_target(claim.over_target))
      return bad("over_target", "target", claim.over_target);
    for (const auto& [key, number] :
         {std::pair("published", claim.published), std::pair("low", claim.low), std::pair("high", claim.high)})
      if (number && !std::isfinite(*number))
        return spec_.wrong(line_of(tree, from, key), fmt::format("claim.{}", key), "is no number to compare with");
    if (claim.low && claim.high && *claim.low > *claim.high)
      return spec_.wrong(line_of(tree, from, "low"), "claim.low", "is above high");
    static constexpr std::array<std::string_view, 9> kMetrics{"time",   "failed", "requests", "reads", "jumps",
                                                              "writes", "seeks",  "distance", "bytes"};
    if (std::ranges::find(kMetrics, claim.metric) == kMetrics.end())
      return spec_.wrong(line_of(tree, from, "metric"), "claim.metric",
                         fmt::format("one of {}, not '{}'", fmt::join(kMetrics, " "), claim.metric));
    spec_.claims.push_back(std::move(claim));
    return {};
  }

  const wire::Experiment& message_;
  TextFormat::ParseInfoTree& tree_;
  ExperimentSpec spec_;
  std::set<std::string> rows_;
};

void put(const ExperimentStep& from, wire::ExperimentStep& step, bool first) {
  step.set_label(from.label);
  if (!from.trace.empty()) step.set_trace(from.trace);
  if (!from.workload.empty()) step.set_workload(from.workload);
  if (from.fresh) step.set_fresh(true);
  if ((from.cache == StepCache::kCold) != (first || from.fresh))
    step.set_cache(from.cache == StepCache::kCold ? "cold" : "hot");
  if (from.pace != "asap") step.set_pace(from.pace);
  if (!from.thinking.empty()) step.set_thinking(from.thinking);
  for (const ExperimentPhase& each : from.phases) {
    auto& phase = *step.add_phase();
    phase.set_label(each.label);
    if (!each.until.empty()) phase.set_until(fmt::format("{}", fmt::join(each.until, ",")));
    if (!each.shown) phase.set_shown(false);
  }
}

void put(const ExperimentClaim& from, wire::ExperimentClaim& claim) {
  claim.set_step(from.step);
  claim.set_target(from.target);
  if (!from.over_step.empty()) claim.set_over_step(from.over_step);
  if (!from.over_target.empty()) claim.set_over_target(from.over_target);
  if (from.metric != "time") claim.set_metric(from.metric);
  if (from.published) claim.set_published(*from.published);
  if (from.low) claim.set_low(*from.low);
  if (from.high) claim.set_high(*from.high);
  if (!from.says.empty()) claim.set_says(from.says);
  if (!from.outside.empty()) claim.set_outside(from.outside);
}

}  // namespace

tl::unexpected<Error> ExperimentSpec::wrong(int line, std::string_view key, std::string_view what) const {
  const std::string place = line > 0 ? fmt::format("{}:{}", file, line) : file;
  return failure(ErrorCode::kUsage, fmt::format("{}: {}: {}", place, key, what));
}

std::vector<ExperimentTarget> ExperimentSpec::placed_targets() const {
  if (positions.empty()) return targets;
  std::vector<ExperimentTarget> placed;
  for (const ExperimentTarget& target : targets)
    for (const std::string& position : positions) {
      ExperimentTarget at = target;
      if (positions.size() > 1) at.label += " " + position;
      at.spec += ",position=" + position;
      placed.push_back(std::move(at));
    }
  return placed;
}

Result<ExperimentSpec> parse_experiment(std::string_view text, std::string file) {
  wire::Experiment message;
  TextFormat::ParseInfoTree tree;
  FirstError error;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.WriteLocationsTo(&tree);
  if (!parser.ParseFromString(std::string(text), &message))
    return failure(ErrorCode::kUsage, fmt::format("{}:{}: {}", file, error.line(), error.explained()));
  return Reader(message, tree, std::move(file)).read();
}

Result<ExperimentSpec> read_experiment(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENOENT) return failure(ErrorCode::kNotFound, fmt::format("{} does not exist", path));
  if (!file) return system_failure(path, errno);
  std::string text(kLargestSpec + 1, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + have, text.size() - have);
    if (got < 0) return system_failure(path, errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  if (have > kLargestSpec) return failure(ErrorCode::kUsage, fmt::format("{}: larger than 1 MiB, no experiment", path));
  text.resize(have);
  return parse_experiment(text, path);
}

std::string experiment_text(const ExperimentSpec& spec) {
  wire::Experiment message;
  if (!spec.title.empty()) message.set_title(spec.title);
  if (!spec.summary.empty()) message.set_summary(spec.summary);
  if (!spec.source.empty()) message.set_source(spec.source);
  for (const std::string& note : spec.notes) message.add_note(note);
  for (const ExperimentTarget& from : spec.targets) {
    auto& target = *message.add_target();
    target.set_label(from.label);
    target.set_spec(from.spec);
  }
  for (std::size_t i = 0; i < spec.steps.size(); ++i) put(spec.steps[i], *message.add_step(), i == 0);
  message.set_runs(spec.runs);
  if (spec.age) {
    message.mutable_age()->set_fill_percent(spec.age->fill_percent);
    message.mutable_age()->set_seed(spec.age->seed);
    message.mutable_age()->set_churn(spec.age->churn);
  }
  for (const std::string& position : spec.positions) message.add_position(position);
  for (const std::string& map : spec.maps) message.add_map(map);
  for (const ExperimentClaim& claim : spec.claims) put(claim, *message.add_claim());
  std::string text;
  TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  printer.PrintToString(message, &text);
  return text;
}

}  // namespace iotape
