#include "format/header_codec.h"

#include <fmt/format.h>

#include <algorithm>

#include "format/parsed_size.h"
#include "trace.pb.h"

namespace iotape {
namespace {

std::vector<std::uint8_t> serialised(const wire::Body& body) {
  std::vector<std::uint8_t> bytes(body.ByteSizeLong());
  body.SerializeWithCachedSizesToArray(bytes.data());
  return bytes;
}

Result<wire::Body> parsed(std::span<const std::uint8_t> bytes) {
  IOTAPE_TRY(check_parsed_size(bytes));
  wire::Body body;
  if (!body.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return failure(ErrorCode::kCorrupt, "the block's body is not a valid message");
  return body;
}

}  // namespace

std::vector<std::uint8_t> encode_header_body(const TraceHeader& header) {
  wire::Body body;
  wire::Header& out = *body.mutable_header();
  out.set_format_version(header.format_version);
  out.set_tool_version(header.tool_version);
  out.set_trace_id(header.trace_id.data(), header.trace_id.size());
  out.set_clock(static_cast<std::uint32_t>(header.clock));
  out.set_anchor_time(header.anchor_time.value);
  out.set_anchor_wall_ns(header.anchor_wall_ns);
  out.set_resolution(header.resolution.value);
  out.set_has_syscalls(header.has_syscalls);
  out.set_has_block(header.has_block);
  out.set_cache(static_cast<std::uint32_t>(header.cache));
  out.set_ring_bytes(header.ring_bytes);
  out.set_calibrated_cost(header.calibrated_cost.value);
  out.set_cpus(header.cpus);
  out.set_memory_bytes(header.memory_bytes);
  out.set_kernel(header.kernel);
  out.set_target(header.target);
  out.set_source_command(header.source_command);
  if (header.source_id) out.set_source_id(header.source_id->data(), header.source_id->size());
  for (const MissingHook& hook : header.missing_hooks) {
    auto* to = out.add_missing_hook();
    to->set_name(hook.name);
    to->set_reason(hook.reason);
  }
  for (const HistoryEntry& entry : header.history) {
    auto* to = out.add_history();
    to->set_command(entry.command);
    to->set_tool_version(entry.tool_version);
  }
  return serialised(body);
}

Result<TraceHeader> decode_header_body(std::span<const std::uint8_t> bytes) {
  IOTAPE_ASSIGN(const wire::Body body, parsed(bytes));
  const wire::Header& from = body.header();
  if (from.format_version() > kFormatVersion)
    return failure(ErrorCode::kUnsupported,
                   fmt::format("format version {} is newer than this iotape, which reads up to {}",
                               from.format_version(), kFormatVersion));
  TraceHeader header;
  header.format_version = from.format_version();
  header.tool_version = from.tool_version();
  std::copy_n(from.trace_id().begin(), std::min(from.trace_id().size(), header.trace_id.size()),
              header.trace_id.begin());
  header.clock = from.clock() <= static_cast<std::uint32_t>(ClockKind::kMonotonic)
                     ? static_cast<ClockKind>(from.clock())
                     : ClockKind::kUnknown;
  header.anchor_time = Nanoseconds(from.anchor_time());
  header.anchor_wall_ns = from.anchor_wall_ns();
  header.resolution = Nanoseconds(std::max<std::int64_t>(from.resolution(), 1));
  header.has_syscalls = from.has_syscalls();
  header.has_block = from.has_block();
  header.cache = from.cache() == 1 ? CacheCondition::kCold : CacheCondition::kAsFound;
  header.ring_bytes = from.ring_bytes();
  header.calibrated_cost = Nanoseconds(from.calibrated_cost());
  header.cpus = from.cpus();
  header.memory_bytes = from.memory_bytes();
  header.kernel = from.kernel();
  header.target = from.target();
  header.source_command = from.source_command();
  if (!from.source_id().empty()) {
    auto& id = header.source_id.emplace();
    std::copy_n(from.source_id().begin(), std::min(from.source_id().size(), id.size()), id.begin());
  }
  for (const auto& hook : from.missing_hook()) header.missing_hooks.push_back({hook.name(), hook.reason()});
  for (const auto& entry : from.history()) header.history.push_back({entry.command(), entry.tool_version()});
  return header;
}

std::vector<std::uint8_t> encode_totals_body(const TraceTotals& totals) {
  wire::Body body;
  wire::Totals& out = *body.mutable_totals();
  out.set_seen(totals.seen);
  out.set_written(totals.written);
  out.set_syscalls(totals.syscalls);
  out.set_requests(totals.requests);
  out.mutable_losses()->Add(totals.losses.begin(), totals.losses.end());
  out.set_end(totals.end.value);
  out.set_recorder_cpu(totals.recorder_cpu.value);
  out.set_workload_status(totals.workload_status);
  out.set_own_calls(totals.own_calls);
  out.set_own_requests(totals.own_requests);
  if (totals.space_before) out.set_space_before(*totals.space_before);
  if (totals.space_after) out.set_space_after(*totals.space_after);
  return serialised(body);
}

Result<TraceTotals> decode_totals_body(std::span<const std::uint8_t> bytes) {
  IOTAPE_ASSIGN(const wire::Body body, parsed(bytes));
  const wire::Totals& from = body.totals();
  TraceTotals totals;
  totals.seen = from.seen();
  totals.written = from.written();
  totals.syscalls = from.syscalls();
  totals.requests = from.requests();
  for (int cause = 0; cause < std::min(from.losses_size(), kLossCauseCount); ++cause)
    totals.losses[static_cast<std::size_t>(cause)] = from.losses(cause);
  totals.end = Nanoseconds(from.end());
  totals.recorder_cpu = Nanoseconds(from.recorder_cpu());
  totals.workload_status = from.workload_status();
  totals.own_calls = from.own_calls();
  totals.own_requests = from.own_requests();
  if (from.has_space_before()) totals.space_before = from.space_before();
  if (from.has_space_after()) totals.space_after = from.space_after();
  return totals;
}

}  // namespace iotape
