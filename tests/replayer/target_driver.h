// Short spellings for tests that drive a Target by hand.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replayer/target/make_target.h"

namespace iotape::test {

inline PathArgument at(std::string bytes, int directory = kAtCurrentDirectory) {
  return {TextState::kPresent, std::move(bytes), {directory, {}}};
}
inline Descriptor handle(std::int64_t number) { return {static_cast<std::int32_t>(number), {}}; }

inline Open open_call(std::string path, std::int64_t flags, std::int64_t mode = 0644) {
  return {at(std::move(path)), flags, mode, 0, {}};
}
inline Write write_call(std::int64_t fd, std::int64_t length) {
  Write op;
  op.descriptor = handle(fd);
  op.length = length;
  return op;
}
inline Read read_call(std::int64_t fd, std::int64_t length) {
  Read op;
  op.descriptor = handle(fd);
  op.length = length;
  return op;
}
inline Lock lock_call(std::int64_t fd, std::int64_t command, std::int64_t type) {
  return {handle(fd), command, type, SEEK_SET, 0, 0};
}

// The block requests among what it is given.
class CollectedRequests final : public EventSink {
 public:
  Result<void> append(EventBody body) override {
    if (auto* request = std::get_if<BlockRequest>(&body)) requests.push_back(std::move(*request));
    return {};
  }
  std::vector<BlockRequest> requests;
};

// One target and its calls, one at a time.
class Driver {
 public:
  explicit Driver(const std::string& spec, const TargetOptions& options = {}) {
    auto parsed = parse_target_spec(spec);
    if (!parsed) {
      error_ = parsed.error();
      return;
    }
    auto made = make_target(*parsed, options);
    if (made) target_ = std::move(*made);
    if (!made) error_ = made.error();
  }

  [[nodiscard]] explicit operator bool() const { return target_ != nullptr; }
  [[nodiscard]] const Error& error() const { return error_; }
  Target& target() { return *target_; }

  // Starts a process of its own, or what the flags say.
  TargetThread start(ThreadStart start = {}) {
    start.thread = TargetThread(next_++);
    const auto started = target_->start_thread(start);
    EXPECT_TRUE(started.has_value()) << started.error().message;
    return start.thread;
  }
  TargetThread fork(TargetThread parent, bool descriptors = false, bool filesystem = false) {
    ThreadStart child;
    child.parent = parent;
    child.share_descriptors = descriptors;
    child.share_filesystem = filesystem;
    return start(child);
  }

  void submit(TargetThread thread, long number, Operation operation, std::uint64_t cookie = 0) {
    const auto sent = target_->submit({thread, cookie, static_cast<std::uint32_t>(number), std::move(operation), {}});
    EXPECT_TRUE(sent.has_value()) << sent.error().message;
  }
  Completion next() {
    auto completion = target_->next_completion();
    EXPECT_TRUE(completion.has_value()) << (completion ? "" : completion.error().message);
    return completion.value_or(Completion{});
  }
  Completion run(TargetThread thread, long number, Operation operation) {
    submit(thread, number, std::move(operation));
    return next();
  }
  OpOutcome call(TargetThread thread, long number, Operation operation) {
    const Completion completion = run(thread, number, std::move(operation));
    EXPECT_EQ(completion.skipped, SkipReason::kIssued) << "call " << number;
    EXPECT_LE(completion.start, completion.end);
    return completion.outcome;
  }
  // A call that must succeed; its value.
  std::int64_t must(TargetThread thread, long number, Operation operation) {
    const OpOutcome outcome = call(thread, number, std::move(operation));
    EXPECT_EQ(outcome.error_number, 0) << "call " << number;
    return outcome.value;
  }

 private:
  std::unique_ptr<Target> target_;
  Error error_;
  std::uint32_t next_ = 1;
};

inline OpOutcome failed_with(int error) { return {-1, error}; }

}  // namespace iotape::test
