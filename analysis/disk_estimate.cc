#include "analysis/disk_estimate.h"

#include <algorithm>

namespace iotape {
namespace {

std::uint64_t unsigned_of(std::int64_t nanoseconds) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(nanoseconds, 0));
}

}  // namespace

void DiskTime::merge(const DiskTime& other) {
  requests += other.requests;
  cached += other.cached;
  overhead += other.overhead;
  seek += other.seek;
  rotation += other.rotation;
  transfer += other.transfer;
}

void DiskEstimate::add(const HeadAccess& access) {
  if (access.kind == AccessClass::kDiscard) return;
  if (!started_) first_ = access.time;
  started_ = true;
  DiskRequest request;
  request.time = access.time - first_;
  request.start = access.start;
  request.length = Sectors((access.bytes - 1) / 512 + 1);
  request.action = access.kind == AccessClass::kRead ? DiskAction::kRead : DiskAction::kWrite;
  const RequestCost cost = model_->serve(state_, request);
  DiskTime& time = times_[static_cast<std::size_t>(access.kind)];
  ++time.requests;
  time.cached += cost.cached ? 1 : 0;
  time.overhead += unsigned_of(cost.overhead);
  time.seek += unsigned_of(cost.seek);
  time.rotation += unsigned_of(cost.rotation);
  // The bus fills the cache while the platter takes what came before; its time is in the destaging.
  time.transfer += unsigned_of(cost.transfer - cost.bus);
}

void DiskEstimate::finish() {
  DiskRequest flush;
  flush.action = DiskAction::kFlush;
  // What it waits for is in `awaited`, so the difference below is what nobody has been charged with.
  const RequestCost cost = model_->serve(state_, flush);
  DiskTime& writes = times_[static_cast<std::size_t>(AccessClass::kWrite)];
  const MechanicalCost& all = state_.destaged;
  const MechanicalCost& awaited = state_.awaited;
  writes.seek += unsigned_of(cost.seek + all.seek - awaited.seek);
  writes.rotation += unsigned_of(cost.rotation + all.rotation - awaited.rotation);
  writes.transfer += unsigned_of(cost.transfer + all.transfer - awaited.transfer);
}

DiskTime DiskEstimate::all() const {
  DiskTime sum = of(AccessClass::kRead);
  sum.merge(of(AccessClass::kWrite));
  return sum;
}

}  // namespace iotape
