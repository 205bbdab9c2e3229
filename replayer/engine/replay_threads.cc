#include "replayer/engine/replay_threads.h"

#include <sched.h>

namespace iotape {

ReplayThread* ReplayThreads::find(ThreadKey thread) {
  const auto found = threads_.find(thread);
  return found == threads_.end() ? nullptr : &found->second;
}

ReplayThread* ReplayThreads::sibling(ThreadKey thread) {
  const auto found = threads_.lower_bound(ThreadKey{thread.process, ThreadId(INT32_MIN)});
  return found != threads_.end() && found->first.process == thread.process ? &found->second : nullptr;
}

ReplayThread& ReplayThreads::add(ThreadKey key, ReplayThread thread) {
  return threads_.insert_or_assign(key, std::move(thread)).first->second;
}

std::vector<ThreadKey> ReplayThreads::of_process(ProcessId process) const {
  std::vector<ThreadKey> found;
  for (auto at = threads_.lower_bound(ThreadKey{process, ThreadId(INT32_MIN)});
       at != threads_.end() && at->first.process == process; ++at)
    found.push_back(at->first);
  return found;
}

std::vector<ThreadKey> ReplayThreads::all() const {
  std::vector<ThreadKey> found;
  for (const auto& [key, thread] : threads_) found.push_back(key);
  return found;
}

ReplayThread cloned(const ReplayThread& parent, std::uint64_t clone_flags) {
  ReplayThread child = parent;
  child.in_flight = false;
  if ((clone_flags & CLONE_FILES) == 0) child.handles = std::make_shared<HandleTable>(*parent.handles);
  if ((clone_flags & CLONE_FS) == 0) child.directory = std::make_shared<TargetDirectory>(*parent.directory);
  if ((clone_flags & CLONE_VM) == 0) child.mappings = std::make_shared<MappingTable>(*parent.mappings);
  return child;
}

}  // namespace iotape
