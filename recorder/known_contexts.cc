#include "recorder/known_contexts.h"

#include <utility>

namespace iotape {
namespace {

bool says_the_same(const ProcessContext& a, const ProcessContext& b) {
  return a.working_directory == b.working_directory && a.root == b.root && a.umask == b.umask && a.user == b.user &&
         a.group == b.group;
}

}  // namespace

void KnownContexts::started(const ProcessStart& start) {
  if (start.thread.process == start.parent.process) return;
  const auto parent = known_.find(start.parent.process);
  if (parent == known_.end()) {
    known_.erase(start.thread.process);  // the number may have been another's
    return;
  }
  if (known_.size() >= kMaximumProcesses) return known_.clear();  // costs telling again, nothing else
  known_.insert_or_assign(start.thread.process, ProcessContext(parent->second));
}

void KnownContexts::ended(const ProcessExit& exit) {
  if (exit.whole_process) known_.erase(exit.thread.process);
}

bool KnownContexts::tell(const ProcessContext& context) {
  const auto known = known_.find(context.thread.process);
  if (known != known_.end() && says_the_same(known->second, context)) return false;
  if (known_.size() >= kMaximumProcesses) known_.clear();
  known_.insert_or_assign(context.thread.process, context);
  return true;
}

}  // namespace iotape
