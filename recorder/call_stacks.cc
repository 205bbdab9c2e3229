#include "recorder/call_stacks.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "recorder/stack_wire.h"

namespace iotape {

Result<std::optional<StackId>> CallStacks::store(std::vector<std::string> frames, EventSink& sink) {
  if (frames.empty()) return std::nullopt;
  std::string text;
  for (const std::string& frame : frames) text.append(frame).push_back('\n');
  const auto [known, fresh] = by_text_.try_emplace(std::move(text), StackId(next_id_));
  if (fresh) {
    ++next_id_;
    IOTAPE_TRY(sink.append(Stack{known->second, std::move(frames)}));
  }
  return known->second;
}

// A raw id names one stack for as long as the map lives: nothing is ever taken out of it.
Result<std::optional<StackId>> CallStacks::user(std::int32_t id, ProcessId process, EventSink& sink) {
  if (id < 0) return std::nullopt;
  if (const auto known = user_ids_.find(id); known != user_ids_.end()) return known->second;
  IOTAPE_ASSIGN(const auto stored, store(symbols_.user_frames(process, source_.user(id)), sink));
  return user_ids_[id] = stored;
}

Result<std::optional<StackId>> CallStacks::kernel(std::int32_t id, EventSink& sink) {
  if (id < 0) return std::nullopt;
  if (const auto known = kernel_ids_.find(id); known != kernel_ids_.end()) return known->second;
  IOTAPE_ASSIGN(const auto stored, store(symbols_.kernel_frames(source_.kernel(id)), sink));
  return kernel_ids_[id] = stored;
}

namespace {

std::vector<UserFrame> read_user(int map, std::int32_t id) {
  std::array<bpf_stack_build_id, WIRE_STACK_FRAMES> raw{};
  std::vector<UserFrame> frames;
  if (bpf_map_lookup_elem(map, &id, raw.data()) != 0) return frames;
  for (const bpf_stack_build_id& entry : raw) {
    if (entry.status != BPF_STACK_BUILD_ID_VALID && entry.status != BPF_STACK_BUILD_ID_IP) break;
    UserFrame frame;
    frame.has_build_id = entry.status == BPF_STACK_BUILD_ID_VALID;
    frame.offset = frame.has_build_id ? entry.offset : entry.ip;
    std::copy(std::begin(entry.build_id), std::end(entry.build_id), frame.build_id.begin());
    frames.push_back(frame);
  }
  return frames;
}

std::vector<std::uint64_t> read_kernel(int map, std::int32_t id) {
  std::array<std::uint64_t, WIRE_STACK_FRAMES> raw{};
  if (bpf_map_lookup_elem(map, &id, raw.data()) != 0) return {};
  return {raw.begin(), std::find(raw.begin(), raw.end(), 0)};
}

}  // namespace

CallStacks::Source stacks_of_maps(int user_map, int kernel_map) {
  return {[user_map](std::int32_t id) { return read_user(user_map, id); },
          [kernel_map](std::int32_t id) { return read_kernel(kernel_map, id); }};
}

}  // namespace iotape
