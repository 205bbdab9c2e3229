// Ext3Session: a mounted built-in ext3 with the traced threads that call it: what its targets have in common, whatever
// host and device they run it on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "format/event_sink.h"
#include "replayer/ext3/calls/call_issuer.h"
#include "replayer/ext3/mount.h"
#include "replayer/target/data_pool.h"
#include "replayer/target/ext3_settings.h"
#include "replayer/target/target.h"

namespace iotape {

// The bytes that calls write, from a pool; what they read goes to the pool's scratch.
class PoolData final : public ext3::CallData {
 public:
  explicit PoolData(DataPool pool) : pool_(std::move(pool)) {}
  std::span<const std::byte> to_write(std::size_t length) override {
    return {pool_.next_data(cursor_, length), length};
  }
  std::span<std::byte> to_read(std::size_t length) override { return {pool_.scratch(), length}; }

 private:
  DataPool pool_;
  DataPool::Cursor cursor_;
};

class Ext3Session {
 public:
  // name: the target as errors call it. volume_device: what opened files are said to lie on.
  // REQUIRES: host and device outlive the session.
  Ext3Session(std::string name, const Ext3Settings& settings, ext3::Host& host, ext3::BlockDevice& device,
              DeviceId volume_device, DataPool pool);
  Ext3Session(const Ext3Session&) = delete;
  Ext3Session& operator=(const Ext3Session&) = delete;
  // What is still open is let go of; the volume is unmounted.
  ~Ext3Session();

  // An image that this run made and that goes with it when it cannot be filled: nobody is left with half a filesystem.
  void own_image(std::string path) { made_ = std::move(path); }
  Result<void> mount();
  // REQUIRES: no thread, or an end of all of them.
  Result<void> unmount();
  // Nothing in it but lost+found; kUsage otherwise.
  Result<void> require_empty();
  Result<void> prepare(const InitialTree& tree, const PrepareProgress& progress);
  Result<void> sync();
  Result<void> tend();

  Result<void> start_thread(const ThreadStart& start);
  void end_thread(TargetThread thread) { threads_.erase(thread.value); }
  void end_threads() { threads_.clear(); }
  // Fills in what came of it; the times are the caller's.
  Result<void> carry_out(const TargetCall& call, Completion& completion);

  // What Host::thread() says while a traced thread's call is carried out, and who it was in the recording; numbers that
  // are nobody's are their own key.
  static std::uint32_t host_thread(TargetThread thread) { return thread.value + 1; }
  [[nodiscard]] ThreadKey recorded(std::uint32_t host_thread) const;

  [[nodiscard]] std::uint64_t space_used() const;
  [[nodiscard]] std::string filesystem() const;  // "ext3", or "ext2" without a journal
  [[nodiscard]] MountInfo mount_info() const;
  [[nodiscard]] std::uint32_t generation_of(ext3::InodeNumber inode) const;
  [[nodiscard]] bool mounted() const { return volume_ != nullptr; }
  [[nodiscard]] ext3::Volume& volume() { return *volume_; }

 private:
  [[nodiscard]] Result<void> told(std::string_view what, const ext3::Answer<void>& answer);
  [[nodiscard]] Result<void> give_up_image(Result<void> done);

  std::string name_;
  std::string made_;  // empty: no image to take away
  const Ext3Settings& settings_;
  ext3::Host& host_;
  ext3::BlockDevice& device_;
  DeviceId volume_device_;
  PoolData data_;
  std::unique_ptr<ext3::Volume> volume_;
  ext3::InodeReference root_;
  std::map<std::uint32_t, ext3::CallThread> threads_;
  std::unordered_map<std::uint32_t, ThreadKey> recorded_;  // ended threads, too: what they dirtied is written later
};

}  // namespace iotape
