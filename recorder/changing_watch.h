// Passes a recording's events on and notes where its changing calls went, so that `record` can name the directory a
// replay would take as its root, and the files that were removed without anything being known of them.
//
// Paths are followed by identity: a directory is known by the path it was opened or reached under. Calls whose place
// cannot be told this cheaply are left out; the replayer resolves them all.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/changing_roots.h"
#include "recorder/recording_sink.h"
#include "recorder/removal_watch.h"

namespace iotape {

class ChangingWatch final : public RecordingSink {
 public:
  explicit ChangingWatch(RecordingSink& next) : next_(next) {}

  Result<void> append(EventBody body) override;
  Result<void> checkpoint(std::uint64_t seen, std::uint64_t lost) override { return next_.checkpoint(seen, lost); }

  // Once the recording has stopped.
  [[nodiscard]] std::vector<ChangingRoots::Root> roots() const { return roots_.roots(); }
  [[nodiscard]] const RemovalWatch& removals() const { return removals_; }

 private:
  void watch(const Syscall& call);
  void changed(const PathArgument& path);
  void changed(DeviceId device, std::string_view directory);
  void watch_open(const Open& open);
  void watch_names(const Syscall& call);
  void watch_state(const FileState& state);
  void learn(const FileReference& file, const PathArgument& path);
  [[nodiscard]] std::string place_below(const FileReference& directory, const std::string& path) const;
  [[nodiscard]] std::string place_of(const PathArgument& path) const;

  RecordingSink& next_;
  ChangingRoots roots_;
  RemovalWatch removals_;
  std::unordered_map<FileIdentity, std::string> directories_;
};

}  // namespace iotape
