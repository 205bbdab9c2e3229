// TraceReader: a trace file in, events out, in the order of the file, one block in memory at a time.
//
// Damage is data, not an error: a block whose checksum fails is skipped and listed in ReadReport with its offset; a
// file that ends inside a block, or without its closing block, is `interrupted`. Only a file that cannot be opened or
// holds no readable header block is an Error. Lengths in the file are never trusted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/base/file_descriptor.h"
#include "format/base/result.h"
#include "format/event.h"
#include "format/trace_header.h"

namespace iotape {

struct Damage {
  std::uint64_t offset = 0;  // where in the file
  std::uint64_t bytes = 0;   // how much was skipped
  LossCause cause = LossCause::kDamagedBlock;
  std::string what;
};

struct ReadReport {
  std::optional<TraceTotals> totals;  // from the closing block
  bool interrupted = false;           // known once next() returned nullptr
  std::vector<Damage> damage;         // at most kMaximumDamageEntries; damage_count counts all
  std::uint64_t damage_count = 0;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t seen = 0;  // from the last readable block header
  std::uint64_t lost = 0;
  LossCounts losses{};  // by cause: the closing block's, or the Loss events seen so far; plus damage found here
  [[nodiscard]] bool whole() const { return !interrupted && damage_count == 0; }
};
inline constexpr std::size_t kMaximumDamageEntries = 1000;

struct ReaderOptions {
  bool syscalls = true;  // false: syscalls are not decoded, only counted past
  bool requests = true;
};

class TraceReader {
 public:
  static Result<std::unique_ptr<TraceReader>> open(const std::string& path, ReaderOptions options = {});
  // name is used in messages. The descriptor may be a pipe.
  static Result<std::unique_ptr<TraceReader>> open(FileDescriptor file, std::string name, ReaderOptions options = {});
  ~TraceReader();
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  [[nodiscard]] const TraceHeader& header() const;
  // The next event, or nullptr at the end. The event is the reader's and valid until the next call.
  // The caller may move out of it.
  Result<Event*> next();
  [[nodiscard]] const ReadReport& report() const;
  [[nodiscard]] const std::string& name() const;

 private:
  struct State;
  explicit TraceReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace iotape
