#include <nlohmann/json.hpp>

#include "analysis/comparison.h"

namespace iotape {
namespace {

using Json = nlohmann::ordered_json;

Json run_json(const RunGroup& group, const RunFigures& run) {
  Json json{{"group", group.label},
            {"trace", run.trace},
            {"complete", run.condition.complete()},
            {"interrupted", run.condition.interrupted},
            {"lost", run.condition.lost},
            {"damaged", run.condition.damaged},
            {"latencies_serialised", run.condition.serialised},
            {"simulated", run.condition.simulated},
            {"order", run.condition.order}};
  Json figures = Json::object();
  for (const Metric& metric : all_metrics())
    if (const auto value = run.value(metric.name)) figures[std::string(metric.name)] = *value;
  json["figures"] = std::move(figures);
  return json;
}

Json group_json(const Comparison& comparison, std::size_t i) {
  Json figures = Json::object();
  for (const Metric& metric : all_metrics())
    if (const auto cell = comparison.cell(i, metric.name))
      figures[std::string(metric.name)] = {
          {"median", cell->median}, {"min", cell->least}, {"max", cell->most}, {"n", cell->n}};
  return {{"label", comparison.groups[i].label}, {"n", comparison.groups[i].runs.size()}, {"figures", figures}};
}

Json difference_json(const Comparison& comparison, const Difference& difference) {
  Json json{{"metric", difference.metric},
            {"group", comparison.groups[difference.group].label},
            {"against", comparison.groups.front().label},
            {"n", difference.n},
            {"m", difference.m},
            {"shown", difference.shown},
            {"exact", difference.exact}};
  if (difference.change) json["change"] = *difference.change;
  if (difference.p) json["p"] = *difference.p;
  return json;
}

}  // namespace

std::string comparison_json(const Comparison& comparison) {
  Json json{{"schema", "iotape.compare/1"}};
  json["runs"] = Json::array();
  json["groups"] = Json::array();
  json["differences"] = Json::array();
  for (std::size_t i = 0; i < comparison.groups.size(); ++i) {
    for (const RunFigures& run : comparison.groups[i].runs) json["runs"].push_back(run_json(comparison.groups[i], run));
    json["groups"].push_back(group_json(comparison, i));
    if (i == 0) continue;
    for (const Metric& metric : all_metrics())
      if (const auto difference = comparison.difference(i, metric.name))
        json["differences"].push_back(difference_json(comparison, *difference));
  }
  json["conclusion"] = comparison.conclusion();
  json["notes"] = comparison.notes();
  json["warnings"] = comparison.warnings();
  json["broken_limits"] = comparison.broken_limits;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace iotape
