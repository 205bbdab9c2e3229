// Which calls of a recording its replays issued. A replay leaves out what means nothing on its target (pipes, other
// disks, fork and exec); held against the whole recording it would be compared with calls it never made.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "format/base/result.h"
#include "format/event.h"

namespace iotape {

class RepeatedCalls {
 public:
  // A call of a replay's trace.
  void add(const ReplayRecord& record);
  // Whether any of the replays issued this event of the recording.
  [[nodiscard]] bool contains(EventId source) const;
  // "511 not_a_file, 51 external": what no replay issued, by the first reason given for each.
  [[nodiscard]] std::string left_out() const;
  [[nodiscard]] std::uint64_t issued() const { return issued_; }
  [[nodiscard]] std::uint64_t calls() const;

 private:
  // 0 never met, else the reason + 1. What is beyond is taken as issued by none.
  static constexpr std::uint64_t kMaximumEvents = std::uint64_t{1} << 30U;
  std::vector<std::uint8_t> fates_;
  std::array<std::uint64_t, kSkipReasonCount> by_reason_{};
  std::uint64_t issued_ = 0;
};

// Of the recordings among the traces of which replays are among them too. Reads the headers of all and the calls of
// those replays; documents and "-" are passed over.
Result<std::map<std::string, RepeatedCalls>> find_repeated_calls(const std::vector<std::string>& traces);

}  // namespace iotape
