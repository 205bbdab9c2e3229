#include "replayer/engine/pace.h"

#include <fmt/format.h>

#include <algorithm>

#include "format/base/units.h"

namespace iotape {
namespace {

constexpr double kSecond = 1e9;

Nanoseconds scaled(Nanoseconds duration, double speed) {
  if (speed == 1.0) return duration;
  // A trace's span is the trace's claim: what does not fit is as long as can be waited for.
  constexpr double kLongest = 4e18;
  return Nanoseconds(static_cast<std::int64_t>(std::min(static_cast<double>(duration.value) / speed, kLongest)));
}

}  // namespace

Result<PaceOptions> parse_pace(std::string_view text) {
  PaceOptions options;
  if (text == "asap") return options;
  options.kind = PaceKind::kThink;
  if (text == "think") return options;
  options.kind = PaceKind::kRecorded;
  if (text == "recorded") return options;
  const auto speed = parse_speed(text);
  if (!speed)
    return failure(
        ErrorCode::kUsage,
        fmt::format(
            "--pace {}: give asap, think, recorded or a speed such as 2x (twice as fast; 0.000001x to 1000000x)",
            text));
  options.speed = *speed;
  return options;
}

Nanoseconds Pace::thinking(Nanoseconds recorded_start, const Previous& previous) const {
  if (options_.kind != PaceKind::kThink) return {};
  std::int64_t think = 0;
  if (__builtin_sub_overflow(recorded_start.value, previous.recorded_end.value, &think)) think = 0;
  constexpr std::int64_t kMonth = std::int64_t{31} * 24 * 3600 * 1'000'000'000;
  if (think > kMonth) think = 0;
  Nanoseconds wait(std::max<std::int64_t>(think - previous.waited.value, 0));
  if (options_.longest_gap) wait = std::min(wait, *options_.longest_gap);
  return wait;
}

Nanoseconds Pace::due(Nanoseconds recorded_start, const Previous& previous) {
  const Nanoseconds offset = timeline_.offset(recorded_start);
  switch (options_.kind) {
    case PaceKind::kAsap:
      return anchor_;
    case PaceKind::kRecorded:
      return anchor_ + scaled(offset, options_.speed);
    case PaceKind::kThink: {
      Previous as_waiting = previous;
      as_waiting.waited = {};  // a real target's thread waits as long as the recorded one did
      return std::max(anchor_, previous.end + thinking(recorded_start, as_waiting));
    }
  }
  return anchor_;
}

std::optional<Nanoseconds> expected_duration(const PaceOptions& options, Nanoseconds shortened_span) {
  if (options.kind != PaceKind::kRecorded) return std::nullopt;
  return scaled(shortened_span, options.speed);
}

std::string describe_expectation(const PaceOptions& options, Nanoseconds span, Nanoseconds shortened_span) {
  const auto seconds = [](Nanoseconds time) {
    return time.value < 100'000'000 ? format_duration(time)
                                    : fmt::format("{:.3g} s", static_cast<double>(time.value) / kSecond);
  };
  std::string text = fmt::format("trace {} -> ", seconds(span));
  if (options.kind == PaceKind::kAsap) return text + "as fast as the target answers";
  if (options.kind == PaceKind::kThink) return text + "the recorded thinking plus what the target takes";
  text += fmt::format("about {}", seconds(scaled(shortened_span, options.speed)));
  if (options.speed != 1.0)
    text += fmt::format(" ({:g}x = {})", options.speed,
                        options.speed == 2.0   ? "twice as fast"
                        : options.speed == 0.5 ? "half as fast"
                                               : fmt::format("{:g} times as fast", options.speed));
  if (shortened_span < span && options.longest_gap)
    text += fmt::format(", gaps cut to {}", format_duration(*options.longest_gap));
  return text;
}

}  // namespace iotape
