// RecordRouter: ring records in, events out, in ring order. Decodes, decides which file states are worth writing, tells
// of every mount when its device is first met, hands foreign kinds to their handler and counts what cannot be decoded.
// Used by one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "format/event_sink.h"
#include "format/trace_header.h"
#include "recorder/call_stacks.h"
#include "recorder/decode.h"
#include "recorder/device_facts.h"
#include "recorder/first_touch.h"
#include "recorder/known_contexts.h"
#include "recorder/record_handler.h"

namespace iotape {

class RecordRouter {
 public:
  // handler takes the kinds from WIRE_FIRST_BLOCK_KIND on; may be null. Both are the caller's.
  // stacks names the stacks of calls; may be null when none are taken.
  RecordRouter(EventSink& sink, RecordHandler* handler, CallStacks* stacks = nullptr)
      : sink_(sink), handler_(handler), stacks_(stacks) {}

  Result<void> route(std::span<const std::byte> record);
  Result<void> finish();

  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

 private:
  Result<void> route_call(std::span<const std::byte> record);
  Result<void> route_context(std::span<const std::byte> record);
  Result<void> route_descriptor(std::span<const std::byte> record);
  Result<void> append_state(FileState state);
  Result<void> note_device(const FileReference& file);
  Result<void> tell_of_device(DeviceId device);
  Result<void> tell_of_block_device(DeviceId device);
  Result<void> name_stacks(Syscall& call);
  Result<void> route_exec(std::span<const std::byte> record);
  void note_made(const DecodedCall& decoded);
  void identify_as_the_kernel_does(FileState& state);
  Result<void> route_fork(std::span<const std::byte> record);
  Result<void> route_exit(std::span<const std::byte> record);

  // Requests name their disk; the trace says what it is called before the first of them.
  class DisksFirst final : public EventSink {
   public:
    explicit DisksFirst(RecordRouter& router) : router_(router) {}
    Result<void> append(EventBody body) override;

   private:
    RecordRouter& router_;
    DeviceId last_;
  };

  EventSink& sink_;
  DisksFirst disks_first_{*this};
  RecordHandler* handler_;
  CallStacks* stacks_;
  FirstTouch first_touch_;
  DeviceId last_device_;
  std::unordered_set<DeviceId> devices_;
  std::unordered_set<DeviceId> block_devices_;
  std::unordered_map<DeviceId, FilesystemPlace> subvolumes_;  // by what stat(2) calls them
  KnownContexts contexts_;
  std::uint64_t calls_ = 0;
  std::uint64_t malformed_ = 0;
};

}  // namespace iotape
