// Turns the stack ids of call records into Stack events: one event per different stack, before its first use.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/base/result.h"
#include "format/event_sink.h"
#include "recorder/stack_symbols.h"

namespace iotape {

class CallStacks {
 public:
  // Where the raw stacks are read from, innermost frame first; an id that is not there gives none.
  struct Source {
    std::function<std::vector<UserFrame>(std::int32_t id)> user;
    std::function<std::vector<std::uint64_t>(std::int32_t id)> kernel;
  };
  explicit CallStacks(Source source) : source_(std::move(source)) {}

  // A file that was executed; see StackSymbols::learn_file.
  void learn_file(std::string path) { symbols_.learn_file(std::move(path)); }

  // The stack of a call of `process`, written to `sink` if it is new. Negative ids have none.
  Result<std::optional<StackId>> user(std::int32_t id, ProcessId process, EventSink& sink);
  Result<std::optional<StackId>> kernel(std::int32_t id, EventSink& sink);

 private:
  Result<std::optional<StackId>> store(std::vector<std::string> frames, EventSink& sink);

  Source source_;
  StackSymbols symbols_;
  std::unordered_map<std::int32_t, std::optional<StackId>> user_ids_;
  std::unordered_map<std::int32_t, std::optional<StackId>> kernel_ids_;
  std::unordered_map<std::string, StackId> by_text_;
  std::uint32_t next_id_ = 0;
};

// The stack maps of the kernel side, by descriptor; the descriptors stay the caller's.
[[nodiscard]] CallStacks::Source stacks_of_maps(int user_map, int kernel_map);

}  // namespace iotape
