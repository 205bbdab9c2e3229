// Elevator: which of the requests that wait goes to the disk next.
//
// noop: the oldest. clook: the next one in the direction of rising sectors, beginning again at the lowest when none is
// left (circular look). deadline: reads and writes each in rising order and in batches, reads before writes, but none
// waits much longer than its time: Linux 2.6's deadline-iosched, with the values it has by default
// (Documentation/block/deadline-iosched.txt).
// Pure: no clock and no I/O of its own. What it is given it holds by pointer until it gives it back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "format/base/result.h"
#include "replayer/machine/disk_request.h"

namespace iotape::machine {

enum class ElevatorKind : std::uint8_t { kNoop, kClook, kDeadline };

inline constexpr std::string_view kElevatorWords = "clook, noop or deadline";
// nullopt: it is none of them.
std::optional<ElevatorKind> elevator_kind(std::string_view word);

// Requests in order of their first sector. A request's key is the sector it had when it came in; whoever makes it begin
// elsewhere (a merge in front) takes it out first and puts it in again.
using SortedRequests = std::multimap<std::int64_t, QueuedRequest*>;

class Elevator {
 public:
  Elevator() = default;
  Elevator(const Elevator&) = delete;
  Elevator& operator=(const Elevator&) = delete;
  virtual ~Elevator() = default;

  // head: the sector after the last one served. nullptr: nothing waits. The request stays until remove().
  [[nodiscard]] virtual QueuedRequest* choose(std::int64_t head, Nanoseconds now) = 0;

  void add(QueuedRequest& request);
  void remove(QueuedRequest& request);
  [[nodiscard]] const SortedRequests& sorted(bool write) const { return sorted_[write ? 1 : 0]; }

 protected:
  using Arrivals = std::map<std::uint64_t, QueuedRequest*>;
  [[nodiscard]] const Arrivals& arrivals(bool write) const { return arrivals_[write ? 1 : 0]; }

 private:
  SortedRequests sorted_[2];  // reads, writes
  Arrivals arrivals_[2];      // by QueuedRequest::sequence
};

std::unique_ptr<Elevator> make_elevator(ElevatorKind kind);

}  // namespace iotape::machine
