// AccessGroups: who or what an access is charged to, for `seeks --by`. Groups are numbers while the trace is read and
// get their labels at the end, when all names are known.
//
//  process  who dirtied the part's pages, else who submitted it
//  file     whose pages they are; metadata and journal under the name of their cause
//  cause    what the blocks hold
//  stack    the call stack of the system call that submitted it, where one was recorded (record --stacks)
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analysis/file_names.h"
#include "format/event.h"

namespace iotape {

enum class GroupBy : std::uint8_t { kOperation, kProcess, kFile, kCause, kStack };

class AccessGroups {
 public:
  explicit AccessGroups(GroupBy by);

  // Every event of the trace, in order. For kStack, show all calls first (a call ends after the requests it waited
  // for).
  void learn(const EventBody& body);
  // The group of a part, or of a request without parts (null).
  std::uint32_t group_of(const RequestPart* part);
  [[nodiscard]] std::vector<std::string> labels() const;
  [[nodiscard]] GroupBy by() const { return by_; }

  static constexpr std::uint32_t kUnknownGroup = 0;
  static constexpr std::uint32_t kOtherGroup = 1;        // beyond the bound
  static constexpr std::size_t kMaximumGroups = 20'000;  // each costs some kilobytes of statistics

 private:
  using CallKey = std::tuple<std::int32_t, std::int32_t, std::int64_t>;  // process, thread, start
  using Key = std::variant<ProcessId, FileIdentity, BlockCause, StackId>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  [[nodiscard]] std::optional<Key> key_of(const RequestPart& part) const;
  [[nodiscard]] std::optional<Key> stack_of(const RequestPart& part) const;
  [[nodiscard]] std::string label_of(const Key& key) const;

  GroupBy by_;
  FileNames files_;
  std::unordered_map<ProcessId, std::string> commands_;
  std::unordered_map<StackId, std::string> stacks_;
  std::map<CallKey, StackId> calls_with_stacks_;
  std::unordered_map<Key, std::uint32_t, KeyHash> groups_;
};

}  // namespace iotape
