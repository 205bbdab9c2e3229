// Puts block requests together: the bios the block layer was given, and the requests they ended up in.
//
// The kernel side reports each bio once, when it is queued (with who and what it is for), and each request once, when
// it is over (with its issue time). Nothing says which bio went into which request: since 5.11 the merge tracepoints
// carry the bio alone. But a request covers exactly the sectors of its bios, so sectors decide: back and front merges,
// merged requests, splits and re-issued requests need no record of their own. Where two bios of the same operation
// cover one sector (two direct reads of the same block), the request's first bio and then the youngest that was queued
// before the request was issued is taken; an older one is a bio whose request was never seen.
//
// Pure: no libbpf, no clock. Memory is bounded by Limits; what does not fit is counted, oldest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "format/event.h"

namespace iotape {

// The kernel's address of a struct bio; 0 when not known. Addresses are reused.
using BioAddress = StrongId<struct BioAddressTag, std::uint64_t>;

struct QueuedBio {
  BioAddress bio;
  DeviceId device;
  DeviceId partition;
  BlockOperation operation = BlockOperation::kRead;
  bool bio_based = false;  // its device makes no requests: the bio itself completes
  bool own = false;        // made by the recorder: its request is counted and left out
  RequestPart part;        // sector is on `device`
};

// A driver pointed a queued bio at another device without queueing it again (striping).
struct MovedBio {
  BioAddress bio;
  DeviceId old_device;
  Sectors old_sector;
  DeviceId device;
  Sectors sector;
};

// A bio that ended without becoming a request, e.g. because the device refused it.
struct RefusedBio {
  BioAddress bio;
  DeviceId device;
  BlockOperation operation = BlockOperation::kRead;
};

struct FinishedRequest {
  BlockRequest request;  // without parts; complete is absent for one still under way when recording ended
  BioAddress first_bio;  // for bio-based devices, the bio
  bool bio_based = false;
};

class RequestAssembler {
 public:
  struct Limits {
    std::size_t parts = 262144;  // bios waiting for their request, about 250 bytes each
  };
  struct Counts {
    std::uint64_t own_requests = 0;        // left out, because the recorder made them
    std::uint64_t refused_requests = 0;    // impossible: ends before it begins, negative length
    std::uint64_t lost_parts = 0;          // given up for want of room, or never part of a request
    std::uint64_t bytes = 0;               // of requests with data
    std::uint64_t bytes_without_part = 0;  // of those, bytes no queued bio accounts for
  };

  RequestAssembler() : RequestAssembler(Limits{}) {}
  explicit RequestAssembler(Limits limits) : limits_(limits) {}

  void queue(const QueuedBio& bio);
  void move(const MovedBio& bio);
  void refuse(const RefusedBio& bio);
  // The request with its parts in sector order, or nothing when it is the recorder's own or impossible (see counts).
  [[nodiscard]] std::optional<BlockRequest> finish(const FinishedRequest& finished);

  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] std::size_t pending_parts() const { return by_age_.size(); }

 private:
  struct Stream {  // what can end up in one request
    DeviceId device;
    BlockOperation operation = BlockOperation::kRead;
    bool operator==(const Stream&) const = default;
  };
  struct StreamHash {
    std::size_t operator()(const Stream& stream) const noexcept {
      return std::size_t{stream.device.value} * 31 + static_cast<std::size_t>(stream.operation);
    }
  };
  using Ages = std::list<QueuedBio>;                        // oldest first
  using BySector = std::multimap<Sectors, Ages::iterator>;  // by the part's first sector

  void insert(const QueuedBio& bio);
  void erase(BySector& waiting, BySector::iterator position);
  void erase_aged(Ages::iterator aged);
  [[nodiscard]] BySector::iterator find_covering(BySector& waiting, Sectors sector, Nanoseconds latest,
                                                 BioAddress preferred);
  void take_range(const FinishedRequest& finished, std::list<QueuedBio>& taken);
  void take_flushes(const FinishedRequest& finished, std::list<QueuedBio>& taken);
  void take_bio(const FinishedRequest& finished, std::list<QueuedBio>& taken);
  [[nodiscard]] QueuedBio cut(BySector& waiting, BySector::iterator position, Sectors from, Sectors to);

  Limits limits_;
  Counts counts_;
  Ages by_age_;
  std::unordered_map<Stream, BySector, StreamHash> by_sector_;
  std::unordered_map<std::uint64_t, Ages::iterator> bio_based_;  // by address
};

}  // namespace iotape
