// The shared memory between the engine and the sandboxed worker process: one slot per replayed thread.
//
// No descriptor is involved, so nothing a replayed call can name leads back to the engine. The engine fills a slot's
// request and changes its request word; the thread answers in the slot and puts the slot's number into the completion
// ring. Both sides spin before they sleep, but never more threads than there are processors to spare.
// Memory is mapped without reservation: 4,096 slots take address space, only used ones take pages.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "format/base/result.h"
#include "format/event.h"
#include "replayer/target/futex.h"

namespace iotape {

enum class SlotCommand : std::uint8_t { kCall, kStartChild, kEnd };
enum class ThreadLife : std::uint32_t { kFree, kStarting, kRunning, kFailed };
enum class WardenCommand : std::uint8_t { kStartThread, kSync, kSpace, kExit };
enum class WorkerState : std::uint32_t { kStarting, kReady, kFailed };

// How a replayed thread begins, as the slot's owner is told before it starts.
struct SlotStart {
  bool has_parent = false;
  bool share_descriptors = false;
  bool share_filesystem = false;
  bool privileged = true;
  std::uint32_t umask = 022;
};

struct alignas(64) ThreadSlot {
  WaitWord request;   // changed by the engine for every command
  WaitWord life;      // ThreadLife
  WaitWord answered;  // changed by the thread when it has carried out kStartChild
  std::atomic<std::int32_t> system_thread{0};
  // When a call that may wait for ever began, 0 outside of one; the warden interrupts it after the limit.
  std::atomic<std::int64_t> waiting_since{0};
  std::atomic<bool> interrupted{false};

  SlotCommand command = SlotCommand::kCall;
  std::uint32_t child = 0;  // kStartChild
  SlotStart start;
  std::uint32_t number = 0;
  std::uint32_t request_bytes = 0;
  Nanoseconds not_before;

  std::int64_t raw = 0;
  std::int32_t failure = 0;  // errno of a thread that could not start
  std::uint32_t response_bytes = 0;
  Nanoseconds begun;
  Nanoseconds ended;
  Nanoseconds blocked;
  FileReference opened;
};

inline constexpr std::size_t kThreadSlots = 4096;
inline constexpr std::size_t kRequestBytes = std::size_t{128} << 10U;  // a 64 KiB attribute and two paths fit
inline constexpr std::size_t kResponseBytes = std::size_t{1} << 20U;   // a directory read as large as any program asks
inline constexpr std::size_t kErrorBytes = 1024;

class Channel {
 public:
  static Result<Channel> make();

  // ---- both sides ----
  ThreadSlot& slot(std::size_t index) { return shared_->slots.at(index); }
  std::span<std::byte> request_area(std::size_t index) { return {areas_ + index * kAreaBytes, kRequestBytes}; }
  std::span<std::byte> response_area(std::size_t index) {
    return {areas_ + index * kAreaBytes + kRequestBytes, kResponseBytes};
  }
  // How long to spin now: nothing when all spare processors are spinning already. Pair with end_spin.
  Nanoseconds begin_spin();
  void end_spin();

  // ---- the engine ----
  // The number of the next slot whose call has completed, or nullopt after the timeout or a signal.
  bool next_completed(std::uint32_t& index, bool spin, Nanoseconds timeout);
  [[nodiscard]] bool has_completed() const;
  void post(std::size_t index) { bump(slot(index).request); }

  // ---- the worker ----
  void complete(std::size_t index);

  // ---- the warden, the worker's first thread ----
  struct Warden {
    WaitWord request;
    WaitWord done;
    WardenCommand command = WardenCommand::kExit;
    std::uint32_t slot = 0;
    std::int32_t result = 0;  // errno
    std::uint64_t space = 0;  // of kSpace: bytes in use
  };
  Warden& warden() { return shared_->warden; }
  WaitWord& state() { return shared_->state; }
  std::atomic<std::uint32_t>& highest_slot() { return shared_->highest_slot; }
  std::atomic<std::uint64_t>& progress() { return shared_->progress; }
  // The message of an Error met on the other side; survives its process.
  void set_error(const Error& error);
  [[nodiscard]] Error error() const;

  static void bump(WaitWord& word) { word.set(word.value.load(std::memory_order_relaxed) + 1); }

 private:
  struct Shared {
    WaitWord state;
    Warden warden;
    std::atomic<std::uint64_t> progress{0};
    std::atomic<std::uint32_t> highest_slot{0};
    std::atomic<std::int32_t> spare_spinners{0};
    ErrorCode error_code = ErrorCode::kIo;
    std::int32_t error_number = 0;
    std::array<char, kErrorBytes> error_text{};
    alignas(64) WaitWord published;
    alignas(64) std::atomic<std::uint32_t> ring_tail{0};
    std::array<std::atomic<std::uint32_t>, kThreadSlots> ring{};  // slot + 1; 0 = empty
    std::array<ThreadSlot, kThreadSlots> slots{};
  };
  static constexpr std::size_t kAreaBytes = kRequestBytes + kResponseBytes;
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(Shared* shared) const;
  };

  explicit Channel(std::unique_ptr<Shared, Unmap> shared, std::byte* areas)
      : shared_(std::move(shared)), areas_(areas) {}

  std::unique_ptr<Shared, Unmap> shared_;
  std::byte* areas_ = nullptr;
  std::uint32_t ring_head_ = 0;
};

}  // namespace iotape
