// ResultTrace: a replay written down as a trace, so that it is analysed and compared with the tools made for
// recordings. Each call carries what it repeats (source event, due time, expected outcome, why it was skipped); the
// requests of the target's device come from a SelfRecorder where there is one.
//
// Facts a reader of the figures must know travel as Markers that begin with kReplayNote: the mapping, serialised
// latencies or the order of calls, mismatches, losses of the source.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/trace_writer.h"
#include "replayer/engine/replay_engine.h"
#include "replayer/engine/self_recorder.h"

namespace iotape {

inline constexpr std::string_view kReplayNote = "replay: ";

struct ResultOptions {
  std::string file_name = "the result";  // what errors call it
  std::string command;                   // for the history, file names without their directories
  bool cold = false;
  bool calls_overlap = false;  // they are told of a little out of the order in which they ended
  std::vector<std::string> notes;
};

class ResultTrace final : public ReplayObserver {
 public:
  // recorder may be null. Starts it, so the device must exist.
  static Result<std::unique_ptr<ResultTrace>> create(FileDescriptor file, const TraceHeader& source, Target& target,
                                                     const ResultOptions& options,
                                                     std::unique_ptr<SelfRecorder> recorder);

  Result<void> call(Syscall& call) override;
  Result<void> other(EventBody& event, Nanoseconds now) override;
  Result<void> note(const std::string& text);
  // After Target::finish, so that the requests of the last sync are in. source_losses: of the trace that was replayed.
  Result<void> finish(const ReplayReport& report, const LossCounts& source_losses);

  // Instead of finish() when the replay ends early: writes all that happened, without the closing block, so that the
  // trace reads as interrupted.
  Result<void> break_off();

  [[nodiscard]] std::uint64_t bytes_written() const { return writer_->bytes_written(); }

 private:
  ResultTrace(std::unique_ptr<TraceWriter> writer, Target& target, std::unique_ptr<SelfRecorder> recorder);
  Result<void> keep_up(Nanoseconds now);

  std::unique_ptr<TraceWriter> writer_;
  Target& target_;
  std::unique_ptr<SelfRecorder> recorder_;
  std::uint64_t calls_ = 0;
  std::optional<std::uint64_t> space_before_;
  Nanoseconds last_drain_;
  Nanoseconds last_flush_;
};

}  // namespace iotape
