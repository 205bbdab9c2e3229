// CallTranslator: a recorded call in, the call to give to the target out, or the reason why it is not issued.
//
// Descriptors become the target's numbers. A relative path stays as it is where its directory is the same one in the
// target; paths that start elsewhere, leave a root on their way or go through an absolute symbolic link are written
// anew as absolute paths inside the target. It also keeps the descriptor tables: settle() is told how a call went and
// enters, replaces or removes handles.
#pragma once

#include <cstdint>
#include <vector>

#include "format/event.h"
#include "replayer/engine/replay_roots.h"
#include "replayer/engine/replay_threads.h"
#include "replayer/engine/trace_model.h"

namespace iotape {

struct Translation {
  SkipReason skipped = SkipReason::kIssued;
  Operation operation;
  std::uint32_t number = 0;
  // Handles of the target to close besides: the recorded call frees their numbers, its translation does not.
  std::vector<std::int32_t> closes;
};

// Why a call of this kind is never issued wherever its arguments lie; kIssued when that depends on them.
[[nodiscard]] SkipReason skip_reason_of_kind(const Syscall& call);

class CallTranslator {
 public:
  CallTranslator(const TraceModel& model, const ReplayRoots& roots) : model_(model), roots_(roots) {}

  [[nodiscard]] Translation translate(const Syscall& call, const CallTargets& targets,
                                      const ReplayThread& thread) const;

  // After the recorded call was applied to the model. outcome is the target's answer, or nullptr for a skipped call.
  // Returns handles of the target to close (a descriptor the recorded call did not get, or one it replaced).
  [[nodiscard]] std::vector<std::int32_t> settle(const Syscall& call, const Translation& translation,
                                                 const CallTargets& targets, const OpOutcome* outcome,
                                                 ReplayThread& thread) const;

 private:
  struct Translator;
  struct Settler;
  const TraceModel& model_;
  const ReplayRoots& roots_;
};

// Kinds of descriptor that no filesystem target can stand for.
[[nodiscard]] bool is_not_a_file(FileKind kind);

}  // namespace iotape
