// Probe: the kernel side of the recorder, loaded and attached. The only place that knows the BPF skeleton and libbpf.
//
// Life: load() opens, configures, verifies; attach() hooks in (nothing is traced yet unless record_all); trace_thread()
// marks a thread, whose descendants are then followed by the kernel side; drain() is called every few milliseconds by
// one thread; detach() unhooks; drain() once more gives the rest. Destruction unloads everything.
// Records are bytes in the layout of recorder/wire.h and are valid only inside the drain callback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/base/result.h"
#include "format/base/strong_id.h"
#include "format/trace_header.h"
#include "recorder/block_wire.h"
#include "recorder/control_group.h"
#include "recorder/wire.h"

namespace iotape {

enum class ArgumentPolicy : std::uint8_t { kNone = 0, kName = 1, kAll = 2 };

struct ProbeOptions {
  bool calls = true;
  bool block = false;
  bool states = true;       // first-touch and removal states
  bool record_all = false;  // every process but this one
  bool record_user = false;
  std::uint32_t user = 0;              // with record_user: only processes of this real user id
  std::optional<ControlGroup> cgroup;  // with record_all: only processes in it or below it
  std::vector<DeviceId> devices;  // block requests of these disks only; empty: of those the recorded processes change
  std::uint64_t ring_bytes = 64ULL << 20U;  // rounded up to a power of two of pages
  ArgumentPolicy arguments = ArgumentPolicy::kName;
  bool stacks_failed = false;
  std::uint64_t stacks_slower_than = 0;   // ns; 0: none
  std::vector<std::string> absent_hooks;  // tracepoints to treat as missing, for tests
  bool avoid_rdonly_cast = false;         // take the way of kernels without the kfunc, for tests
};

class Probe {
 public:
  using Receiver = std::function<void(std::span<const std::byte> record)>;

  static Result<std::unique_ptr<Probe>> load(const ProbeOptions& options);
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  Result<void> attach();
  // Marks a thread as traced. armed = false: the tool's own code runs in it until its next exec.
  Result<void> trace_thread(std::int32_t thread, bool armed);
  // Hands every record in the ring to `receive`, at most about `limit` bytes of them. Returns the bytes taken.
  Result<std::size_t> drain(const Receiver& receive, std::size_t limit);
  // Bytes in the ring that were not taken yet.
  [[nodiscard]] std::size_t pending() const;
  // Writes a record into the ring for every marked thread's context and descriptors.
  Result<void> snapshot();
  // From now on no block request begins; those under way go on to their end. Before detach.
  void close_requests();
  [[nodiscard]] bool any_request_under_way() const;
  void detach();
  // After detach: writes a record into the ring for every call still under way.
  Result<void> emit_unfinished();

  // Sums and per-CPU values; index of the vector is the CPU.
  [[nodiscard]] std::vector<wire_counters> counters() const;
  // Starts a new interval for wire_loss::first.
  void next_loss_epoch();
  // Hook runs the kernel skipped because the same program was already running on that CPU.
  [[nodiscard]] std::uint64_t missed_runs() const;
  [[nodiscard]] const std::vector<MissingHook>& missing_hooks() const;
  [[nodiscard]] std::uint64_t ring_bytes() const;
  // Block requests under way, as the kernel side keeps them. For after detach.
  [[nodiscard]] std::vector<wire_request> requests_under_way() const;
  // File descriptor of a map of the kernel side by name, -1 if there is none. Stays the probe's.
  [[nodiscard]] int map_descriptor(const std::string& name) const;

 private:
  struct State;
  explicit Probe(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// What the running kernel's BTF knows of a tracepoint: the number of arguments its programs get, or -1 when the
// tracepoint does not exist. This, never the kernel's version, decides which shape a hook has.
class TracepointCatalogue {
 public:
  static Result<std::unique_ptr<TracepointCatalogue>> open();
  ~TracepointCatalogue();
  [[nodiscard]] int arity(const std::string& tracepoint) const;
  [[nodiscard]] bool has_function(const std::string& name) const;
  [[nodiscard]] bool has_member(const std::string& type, const std::string& member) const;
  // The value of a name of an enum of the kernel.
  [[nodiscard]] std::optional<std::uint64_t> enumerator(const std::string& type, const std::string& name) const;

 private:
  struct State;
  explicit TracepointCatalogue(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace iotape
