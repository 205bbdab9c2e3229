// RequestTrace: a device whose requests are written down as a trace while they are made, to be analysed like a recorded
// one. Memory is bounded: requests go to the file by the hundred, and at least once a second.
//
// The file is whole after finish(); without it (a kill) it reads as interrupted and lacks at most the last two seconds.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>

#include "format/trace_writer.h"
#include "replayer/ext3/device/tracing_device.h"

namespace iotape::ext3 {

// The device's number in such traces, from a range that is nobody's.
inline constexpr DeviceId kTracedDevice = DeviceId::of(240, 0);

struct RequestTraceOptions {
  std::string path;
  bool force = false;                                    // over an existing file
  std::string command;                                   // for the history, file names without their directories
  std::function<std::uint32_t()> submitter;              // on behalf of which thread a request is made; 0: of none
  std::function<std::uint32_t(InodeNumber)> generation;  // 0 when it is not known
};

class RequestTrace final : public BlockDevice {
 public:
  // Creates the file. The device begins with an empty cache above it, so the trace is cold. REQUIRES: below outlives
  // this.
  static Result<std::unique_ptr<RequestTrace>> create(BlockDevice& below, RequestTraceOptions options);
  ~RequestTrace() override;

  // What is on the device, as soon as it is known.
  void note_mount(MountInfo mount);
  // A thread that asks: its process and its command's name. Later notes replace earlier ones.
  void note_process(ThreadKey thread, const std::string& command);
  // The trace's end. Fails with the first thing that went wrong in writing it; requests were served all the same.
  Result<void> finish();

  [[nodiscard]] std::uint64_t size() const override { return below_.size(); }
  [[nodiscard]] bool read_only() const override { return below_.read_only(); }
  Answer<void> read(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override;
  Answer<void> write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) override;
  Answer<void> write_zeros(std::uint64_t offset, std::uint64_t bytes, const BlockTag& tag) override;
  Answer<void> flush() override;

 private:
  RequestTrace(BlockDevice& below, RequestTraceOptions options);
  Result<void> describe();
  Answer<void> served(Answer<void> answer);
  void append(EventBody event);  // REQUIRES: mutex_
  void drain();                  // REQUIRES: mutex_
  void attribute(ThreadKey& thread) const;
  void keep_up(const std::stop_token& end);

  BlockDevice& below_;
  RequestTraceOptions options_;
  TracingDevice traced_;
  std::mutex mutex_;  // of all that follows
  std::unique_ptr<TraceWriter> writer_;
  std::unordered_map<std::int32_t, std::int32_t> processes_;  // by thread
  std::uint64_t requests_ = 0;
  std::uint32_t undrained_ = 0;
  Result<void> written_;
  std::condition_variable_any pause_;
  std::jthread keeper_;  // the last: it uses the others
};

}  // namespace iotape::ext3
