#include "analysis/access_groups.h"

#include <fmt/format.h>

#include "format/enum_names.h"

namespace iotape {
namespace {

constexpr std::uint32_t kReservedGroups = 2;
constexpr std::size_t kMaximumCallsWithStacks = 2'000'000;

std::tuple<std::int32_t, std::int32_t, std::int64_t> call_key(const ThreadKey& thread, Nanoseconds start) {
  return {thread.process.value, thread.thread.value, start.value};
}

std::string join_frames(const std::vector<std::string>& frames) {
  return frames.empty() ? "(empty stack)" : fmt::format("{}", fmt::join(frames, " < "));
}

}  // namespace

AccessGroups::AccessGroups(GroupBy by) : by_(by) {}

std::size_t AccessGroups::KeyHash::operator()(const Key& key) const {
  return std::visit(
      [](const auto& value) {
        using Value = std::remove_cvref_t<decltype(value)>;
        return std::hash<Value>{}(value);
      },
      key);
}

void AccessGroups::learn(const EventBody& body) {
  if (by_ == GroupBy::kFile) files_.learn(body);
  if (const auto* start = std::get_if<ProcessStart>(&body)) {
    if (start->thread.thread.value == start->thread.process.value) commands_[start->thread.process] = start->command;
  } else if (const auto* exec = std::get_if<ProcessExec>(&body)) {
    commands_[exec->thread.process] = exec->command;
  } else if (const auto* stack = std::get_if<Stack>(&body)) {
    if (by_ == GroupBy::kStack) stacks_[stack->id] = join_frames(stack->frames);
  } else if (const auto* call = std::get_if<Syscall>(&body)) {
    const auto& recorded = call->user_stack ? call->user_stack : call->kernel_stack;
    if (by_ == GroupBy::kStack && recorded && calls_with_stacks_.size() < kMaximumCallsWithStacks)
      calls_with_stacks_[call_key(call->thread, call->start)] = *recorded;
  }
}

std::optional<AccessGroups::Key> AccessGroups::stack_of(const RequestPart& part) const {
  if (!part.call_start) return std::nullopt;
  const auto call = calls_with_stacks_.find(call_key(part.submitter, *part.call_start));
  if (call == calls_with_stacks_.end()) return std::nullopt;
  return call->second;
}

std::optional<AccessGroups::Key> AccessGroups::key_of(const RequestPart& part) const {
  switch (by_) {
    case GroupBy::kOperation:
      return std::nullopt;
    case GroupBy::kProcess: {
      const ProcessId process = part.dirtier.process.value != 0 ? part.dirtier.process : part.submitter.process;
      if (process.value == 0) return std::nullopt;
      return process;
    }
    case GroupBy::kFile:
      if (part.file.known()) return part.file.identity;
      if (part.cause != BlockCause::kUnknown) return part.cause;
      return std::nullopt;
    case GroupBy::kCause:
      return part.cause;
    case GroupBy::kStack:
      return stack_of(part);
  }
  return std::nullopt;
}

std::uint32_t AccessGroups::group_of(const RequestPart* part) {
  const auto key = part == nullptr ? std::nullopt : key_of(*part);
  if (!key) return kUnknownGroup;
  if (const auto known = groups_.find(*key); known != groups_.end()) return known->second;
  if (groups_.size() >= kMaximumGroups) return kOtherGroup;
  const auto number = static_cast<std::uint32_t>(groups_.size()) + kReservedGroups;
  groups_.emplace(*key, number);
  return number;
}

std::string AccessGroups::label_of(const Key& key) const {
  struct Label {
    const AccessGroups& groups;
    std::string operator()(ProcessId process) const {
      const auto command = groups.commands_.find(process);
      return fmt::format("{} {}", command == groups.commands_.end() ? "?" : command->second, process.value);
    }
    std::string operator()(const FileIdentity& file) const { return groups.files_.name_of(file); }
    std::string operator()(BlockCause cause) const {
      return groups.by_ == GroupBy::kFile ? fmt::format("({})", enum_name(cause)) : std::string(enum_name(cause));
    }
    std::string operator()(StackId stack) const {
      const auto frames = groups.stacks_.find(stack);
      return frames == groups.stacks_.end() ? fmt::format("stack {}", stack.value) : frames->second;
    }
  };
  return std::visit(Label{*this}, key);
}

std::vector<std::string> AccessGroups::labels() const {
  std::vector<std::string> labels(groups_.size() + kReservedGroups);
  labels[kUnknownGroup] = by_ == GroupBy::kStack ? "(no stack recorded)" : "(not attributed)";
  labels[kOtherGroup] = "(others)";
  for (const auto& [key, number] : groups_) labels[number] = label_of(key);
  return labels;
}

}  // namespace iotape
