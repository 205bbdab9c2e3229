#include "replayer/ext3/journal/null_journal.h"

namespace iotape::ext3 {

Answer<void> NullJournal::forget(Handle&, BlockNumber block, bool) {
  if (const BufferReference buffer = cache_.find(block)) cache_.forget(*buffer);
  return {};
}

Answer<void> NullJournal::commit(TransactionId) {
  EXT3_TRY(cache_.write_all());
  return cache_.flush_device();
}

Answer<void> NullJournal::stop(Handle& handle) {
  if (handle.synchronous_) return commit({});
  return {};
}

}  // namespace iotape::ext3
