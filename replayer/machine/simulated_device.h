// SimulatedDevice: a block device behind a queue, an elevator and a disk that takes its time.
//
// What is submitted waits in the queue, is merged with its neighbours and goes to the disk in the elevator's order; the
// disk model says how long each request takes on the virtual clock. When so many requests wait that the queue is full,
// whoever submits another waits for room. Each request is remembered with its parts, as a recorder of the block layer
// would have: queued when it was submitted, issued when the disk got it, completed when the disk was done.
// Bytes move to and from the device below when a request ends.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "analysis/disk/disk_model.h"
#include "replayer/ext3/device/request_parts.h"
#include "replayer/ext3/fiber_host.h"
#include "replayer/machine/request_queue.h"

namespace iotape::machine {

struct SimulatedDeviceOptions {
  DiskProfile disk;
  ElevatorKind elevator = ElevatorKind::kClook;
  Sectors position;               // of the device on the disk: its partition's first sector
  DeviceId whole_disk;            // what requests are said to be of
  DeviceId partition;             // ... and where they were queued
  std::size_t queue_limit = 128;  // requests that may wait, as Linux's nr_requests
};

class SimulatedDevice final : public ext3::BlockDevice {
 public:
  // REQUIRES: below and host outlive this.
  SimulatedDevice(ext3::BlockDevice& below, ext3::FiberHost& host, SimulatedDeviceOptions options,
                  ext3::RequestContext context);
  ~SimulatedDevice() override;

  // Until start(), and after the disk has ended, everything is done at once, costs no time and is not remembered: to
  // make and mount a filesystem outside any fiber. run_disk() is the disk itself, to be given a daemon fiber of its
  // own.
  void start() {
    timed_ = true;
    ends_ = false;
  }
  // Returns once end_disk() was called and nothing waits any more.
  void run_disk();
  void end_disk();
  [[nodiscard]] bool ended() const { return !timed_; }
  // The disk has nothing cached and its arm is at rest, as after it was switched on.
  void power_cycle();

  // What has ended since the last time, in that order.
  std::vector<BlockRequest> take() { return std::exchange(ended_, {}); }
  // How long the disk was at work.
  [[nodiscard]] Nanoseconds busy() const { return busy_; }
  [[nodiscard]] const DiskProfile& disk() const { return model_.profile(); }

  [[nodiscard]] std::uint64_t size() const override { return below_.size(); }
  [[nodiscard]] bool read_only() const override { return below_.read_only(); }
  ext3::Answer<void> read(std::uint64_t offset, std::span<const ext3::IoPart> parts, ext3::IoReason reason) override;
  ext3::Answer<void> write(std::uint64_t offset, std::span<const ext3::IoPart> parts, ext3::IoReason reason) override;
  void submit(std::unique_ptr<ext3::IoRequest> request) override;
  ext3::Answer<void> flush() override;

 private:
  class Waited;
  ext3::Answer<void> transfer_and_wait(bool write, std::uint64_t offset, std::span<const ext3::IoPart> parts,
                                       ext3::IoReason reason);
  void enqueue(const std::shared_ptr<SubmittedIo>& io);
  // What the disk holds: handed over, not yet served.
  struct Held {
    std::unique_ptr<QueuedRequest> request;
    Nanoseconds issue;
  };
  void fill_disk();
  Held choose();
  void serve(const Held& held);
  void serve_flush();
  Nanoseconds spend(const DiskRequest& request);
  void remember(const QueuedRequest& request, Nanoseconds issue);
  void end(SubmittedIo& io);
  void carry_out(std::unique_ptr<ext3::IoRequest> request);

  ext3::BlockDevice& below_;
  ext3::FiberHost& host_;
  SimulatedDeviceOptions options_;
  ext3::RequestContext context_;
  DiskModel model_;
  DiskState state_;
  Nanoseconds epoch_;  // the disk's time 0
  RequestQueue queue_;
  struct Flush;
  std::deque<Flush*> flushes_;        // of fibers that wait for it
  std::vector<Held> held_;            // as many as the disk's own queue takes
  std::size_t waiting_for_room_ = 0;  // fibers
  std::int64_t head_ = 0;             // the sector after the last one served
  bool timed_ = false;
  bool ends_ = false;
  Nanoseconds busy_;
  std::vector<BlockRequest> ended_;
};

}  // namespace iotape::machine
