// Selection: which events of a trace a command looks at. The same options mean the same for dump, seeks, compare, plot,
// report, cut, convert and replay; format/command/selection_options.h puts them on a command line.
//
// Rules. Every kind of option given must agree; within one kind any value will do.
//  - Times are counted from the trace's own beginning (TraceHeader::anchor_time) and an event belongs to the moment at
//    which it ended (event_time), so that neighbouring ranges never count one event twice: from <= t < to.
//  - --device and --op speak of requests, --syscall of calls. Naming only one layer leaves the other one out.
//  - --process is a process id or a command name; a request belongs to the processes that submitted or dirtied a part.
//  - --path: a pattern with a slash is matched against the path as passed and as resolved, by the names of working
//    directories and descriptors seen so far, and takes in all below it; one without a slash is matched against the
//    last component. * ? [ ] as in the shell, * also matches slashes. Calls by descriptor and the parts of requests
//    belong to a path through the identity of a file that an earlier event showed under it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "format/event.h"
#include "format/name_tracker.h"

namespace iotape {

struct SelectionOptions {
  std::optional<Nanoseconds> from;  // since the beginning of the trace
  std::optional<Nanoseconds> to;
  std::vector<std::string> devices;  // "loop0", "/dev/loop0", "7:0"
  std::vector<BlockOperation> operations;
  std::vector<std::string> processes;
  std::vector<std::string> paths;
  std::vector<std::uint32_t> syscalls;  // numbers

  [[nodiscard]] bool empty() const;
};

enum class Selected : std::uint8_t {
  kYes,      // a call, request, marker or loss the user asked for
  kContext,  // what other events need to be understood: processes, file states, devices, mounts, stacks
  kNo,
};

// Judges events in the order of the trace, learning names on the way. Show it every event, also those not wanted.
class Selector {
 public:
  Selector(SelectionOptions options, Nanoseconds trace_beginning);

  [[nodiscard]] Selected judge(const EventBody& body);
  [[nodiscard]] const SelectionOptions& options() const { return options_; }
  // After the last event: the values that nothing of the trace agreed with, as typed ("--path /srv").
  [[nodiscard]] std::vector<std::string> unmatched() const;

  // False only when the whole layer is left out, so a reader need not decode it. Names are learned from calls, so a
  // selection by path needs both.
  [[nodiscard]] bool wants_syscalls() const { return wants_calls_ || !options_.paths.empty(); }
  [[nodiscard]] bool wants_requests() const { return wants_requests_; }

 private:
  struct Judge;

  [[nodiscard]] bool in_time(const EventBody& body) const;
  [[nodiscard]] bool wants_call(const Syscall& call);
  [[nodiscard]] bool wants_request(const BlockRequest& request);
  [[nodiscard]] bool wants_process(ProcessId process);
  [[nodiscard]] bool wants_device(DeviceId device);
  [[nodiscard]] bool path_matches(std::string_view path);
  [[nodiscard]] bool argument_matches(const PathArgument& path);
  [[nodiscard]] bool call_touches_path(const Syscall& call);
  void learn_file(const FileReference& file);
  template <typename Matches>
  bool matches_any(const std::vector<std::string>& values, Matches matches);

  SelectionOptions options_;
  std::set<std::string> matched_;  // of the values of options_
  Nanoseconds beginning_;
  bool wants_calls_;
  bool wants_requests_;
  std::unordered_map<DeviceId, std::string> device_names_;
  std::unordered_map<ProcessId, std::string> commands_;
  NameTracker names_;                       // fed only where there are paths to select by
  std::unordered_set<FileIdentity> files_;  // seen under a wanted path; at most kMaximumFiles
  static constexpr std::size_t kMaximumFiles = 4'000'000;
};

}  // namespace iotape
