#include "replayer/experiment/experiment_json.h"

#include <nlohmann/json.hpp>

#include "format/enum_names.h"
#include "replayer/experiment/experiment_text.h"

namespace iotape {
namespace {

using Json = nlohmann::ordered_json;

Json histogram_json(const SignedLog2Histogram& histogram) {
  Json bins = Json::array();
  const auto used = histogram.used();
  for (int bin = used.lowest; bin <= used.highest; ++bin)
    bins.push_back(
        {{"bin", bin}, {"least_distance", SignedLog2Histogram::lower_edge(bin)}, {"count", histogram.count(bin)}});
  return bins;
}

Json figures_json(const PhaseFigures& figures) {
  Json json = {{"time_ns", figures.time.value},
               {"settled_ns", figures.settled.value},
               {"calls", figures.calls},
               {"mismatches", figures.mismatches}};
  if (!figures.has_requests) return json;
  json["reads"] = figures.reads;
  json["writes"] = figures.writes;
  json["read_bytes"] = figures.read_bytes;
  json["written_bytes"] = figures.written_bytes;
  json["jumps"] = figures.jumps;
  json["seeks"] = figures.seeks;
  json["seek_distance"] = figures.distance;
  json["median_distance"] = figures.median_distance;
  json["sequential_share"] = figures.sequential_share;
  json["histogram"] = histogram_json(figures.histogram);
  Json causes = Json::array();
  for (const CauseFigures& cause : figures.causes)
    causes.push_back({{"cause", cause.cause},
                      {"requests", cause.requests},
                      {"seeks", cause.seeks},
                      {"seek_distance", cause.distance}});
  json["causes"] = std::move(causes);
  return json;
}

Json target_json(const ExperimentResult& result, std::size_t index) {
  const TargetResult& target = result.targets[index];
  Json rows = Json::array();
  for (std::size_t row = 0; row < result.plan.rows.size(); ++row) {
    Json runs = Json::array();
    for (std::size_t run = 0; run < target.runs.size(); ++run)
      runs.push_back(figures_json(result.figures(index, row, run)));
    rows.push_back({{"step", result.plan.rows[row].label}, {"runs", std::move(runs)}});
  }
  Json json = {
      {"label", result.plan.targets[index].label}, {"target", target.description}, {"filesystem", target.filesystem},
      {"clock", enum_name(target.clock)},          {"notes", target.notes},        {"steps", std::move(rows)}};
  if (target.identical) json["runs_identical"] = *target.identical;
  return json;
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json claims_json(const ExperimentResult& result) {
  Json claims = Json::array();
  for (const ClaimResult& each : result.claims())
    claims.push_back({{"claim", claim_name(*each.claim)},
                      {"metric", each.claim->metric},
                      {"ratio", each.claim->is_ratio()},
                      {"published", optional_json(each.claim->published)},
                      {"ours", optional_json(each.ours)},
                      {"low", optional_json(each.claim->low)},
                      {"high", optional_json(each.claim->high)},
                      {"inside", each.verdict == Verdict::kInside    ? Json(true)
                                 : each.verdict == Verdict::kOutside ? Json(false)
                                                                     : Json(nullptr)},
                      {"says", each.claim->says}});
  return claims;
}

}  // namespace

std::string experiment_json(const ExperimentResult& result) {
  Json targets = Json::array();
  for (std::size_t target = 0; target < result.targets.size(); ++target) targets.push_back(target_json(result, target));
  const Json document = {{"schema", "iotape.experiment/1"},
                         {"title", result.plan.spec.title},
                         {"source", result.plan.spec.source},
                         {"notes", result.plan.spec.notes},
                         {"conditions", result.conditions()},
                         {"warnings", result.warnings()},
                         {"targets", std::move(targets)},
                         {"claims", claims_json(result)},
                         {"specification", experiment_text(result.plan.spec)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace iotape
