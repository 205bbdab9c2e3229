// NullJournal: the journal of a filesystem without one (ext2). A changed block is a dirty block; what is freed may be
// used again at once; commit writes everything.
#pragma once

#include "replayer/ext3/cache/buffer_cache.h"
#include "replayer/ext3/journal/journal.h"

namespace iotape::ext3 {

class NullJournal final : public Journal {
 public:
  explicit NullJournal(BufferCache& cache) : cache_(cache) {}

  Answer<Handle> start(std::uint32_t credits) override { return Handle(this, nullptr, credits); }
  bool extend(Handle& handle, std::uint32_t credits) override {
    handle.credits_ += credits;
    return true;
  }
  Answer<void> restart(Handle& handle, std::uint32_t credits) override {
    handle.credits_ = credits;
    return {};
  }
  Answer<void> get_write_access(Handle&, Buffer& buffer) override {
    cache_.wait_idle(buffer);
    return {};
  }
  Answer<void> get_undo_access(Handle& handle, Buffer& buffer) override { return get_write_access(handle, buffer); }
  Answer<void> get_create_access(Handle& handle, Buffer& buffer) override { return get_write_access(handle, buffer); }
  void release_access(Handle&, Buffer&) override {}
  void dirty_metadata(Handle&, Buffer& buffer) override { cache_.mark_dirty(buffer); }
  Answer<void> dirty_data(Handle&, Buffer& buffer) override {
    cache_.mark_dirty(buffer);
    return {};
  }
  Answer<void> forget(Handle& handle, BlockNumber block, bool metadata) override;

  [[nodiscard]] const std::byte* committed_bits(const Buffer&) const override { return nullptr; }
  [[nodiscard]] TransactionId current() const override { return {}; }
  Answer<void> commit(TransactionId id) override;
  Answer<bool> commit_running() override { return false; }
  Answer<void> commit_if_due() override { return {}; }
  Answer<void> empty() override { return commit({}); }
  void abort(int error_number) override { aborted_ = error_number; }
  [[nodiscard]] int aborted() const override { return aborted_; }

  [[nodiscard]] DataMode data_mode() const override { return DataMode::kWriteback; }
  [[nodiscard]] std::uint32_t max_credits() const override { return 1U << 20U; }
  [[nodiscard]] JournalFigures figures() const override { return {}; }

 private:
  Answer<void> stop(Handle& handle) override;
  BufferCache& cache_;
  int aborted_ = 0;
};

}  // namespace iotape::ext3
