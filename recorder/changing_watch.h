// Passes a recording's events on and notes where its changing calls went, so that `record` can name the directory a
// replay would take as its root.
//
// Paths are followed by identity: a directory is known by the path it was opened or reached under. Calls whose place
// cannot be told this cheaply are left out; the replayer resolves them all.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "format/changing_roots.h"
#include "recorder/recording_sink.h"

namespace iotape {

class ChangingWatch final : public RecordingSink {
 public:
  explicit ChangingWatch(RecordingSink& next) : next_(next) {}

  Result<void> append(EventBody body) override;
  Result<void> checkpoint(std::uint64_t seen, std::uint64_t lost) override { return next_.checkpoint(seen, lost); }

  // Once the recording has stopped.
  [[nodiscard]] std::vector<ChangingRoots::Root> roots() const { return roots_.roots(); }

 private:
  void watch(const Syscall& call);
  void changed(const PathArgument& path);
  void learn(const FileReference& file, const PathArgument& path);
  [[nodiscard]] std::string place_of(const PathArgument& path) const;

  RecordingSink& next_;
  ChangingRoots roots_;
  std::unordered_map<FileIdentity, std::string> directories_;
};

}  // namespace iotape
