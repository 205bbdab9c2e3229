#include "format/trace_summary.h"

#include <algorithm>
#include <filesystem>
#include <limits>

namespace iotape {
namespace {

bool moves_bytes(const Operation& operation) {
  return std::holds_alternative<Read>(operation) || std::holds_alternative<Write>(operation) ||
         std::holds_alternative<Transfer>(operation);
}

// By whole components: /srv/tree is not below /srv/t.
bool lies_below(std::string_view path, std::string_view directory) {
  if (directory.ends_with('/')) directory.remove_suffix(1);
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

}  // namespace

struct TraceSummary::Adder {
  TraceSummary& to;

  ProcessSummary& process(ProcessId id) const {
    const bool room = to.processes.size() < kMaximumProcesses || to.processes.contains(id.value);
    return to.processes[room ? id.value : -1];
  }

  DeviceSummary& device(DeviceId id) const {
    const bool room = to.devices.size() < kMaximumDevices || to.devices.contains(id);
    return to.devices[room ? id : DeviceId()];
  }
  CallSummary& call_number(std::uint32_t number) const {
    const bool room = to.calls.size() < kMaximumCallNumbers || to.calls.contains(number);
    return to.calls[room ? number : std::numeric_limits<std::uint32_t>::max()];
  }

  void operator()(const Syscall& call) const {
    ++to.syscalls;
    to.cover(call.start, call.start + call.duration);
    CallSummary& summary = call_number(call.number);
    ++summary.calls;
    summary.time += call.duration;
    if (call.unfinished)
      ++summary.unfinished;
    else if (!call.outcome.ok())
      ++summary.errors;
    else if (moves_bytes(call.operation))
      summary.bytes += static_cast<std::uint64_t>(call.outcome.value);
    ProcessSummary& owner = process(call.thread.process);
    ++owner.calls;
    owner.time += call.duration;
    if (owner.command.empty()) owner.command = to.names_.command(call.thread);
    if (call.outcome.ok() && !call.unfinished)
      for_each_changed_path(call.operation, [&](const PathArgument& path) { to.add_change(path); });
    if (!call.replay) return;
    ++to.skipped[call.replay->skipped];
    if (call.replay->skipped == SkipReason::kIssued && call.replay->expected.error_number != call.outcome.error_number)
      ++to.mismatches;
  }

  void operator()(const BlockRequest& request) const {
    ++to.requests;
    to.parts += request.parts.size();
    if (request.issue) to.cover(*request.issue, *request.issue);
    if (request.complete) to.cover(*request.complete, *request.complete);
    DeviceSummary& summary = device(request.device);
    ++summary.requests;
    summary.parts += request.parts.size();
    if (request.operation == BlockOperation::kRead)
      ++summary.reads, summary.read_bytes += static_cast<std::uint64_t>(request.bytes);
    else if (request.operation == BlockOperation::kWrite)
      ++summary.writes, summary.written_bytes += static_cast<std::uint64_t>(request.bytes);
    else if (request.operation == BlockOperation::kFlush)
      ++summary.flushes;
    else
      ++summary.others;
    if (request.parts.empty()) return;
    ProcessSummary& owner = process(request.parts.front().submitter.process);
    ++owner.requests;
    if (owner.command.empty()) owner.command = to.names_.command(request.parts.front().submitter);
  }

  void operator()(const ProcessStart& start) const {
    ProcessSummary& owner = process(start.thread.process);
    if (owner.command.empty() || start.thread.thread.value == start.thread.process.value)
      owner.command = to.names_.command(start.thread);
  }
  void operator()(const ProcessExec& exec) const { process(exec.thread.process).command = exec.command; }
  void operator()(const ProcessExit&) const {}
  void operator()(const ProcessContext&) const {}
  void operator()(const InheritedDescriptor&) const {}
  void operator()(const FileState&) const { ++to.states; }
  void operator()(const DeviceInfo& info) const { device(info.device).name = info.name; }
  void operator()(const MountInfo& mount) const {
    if (to.mounts.size() >= kMaximumMounts) return;
    if (std::find(to.mounts.begin(), to.mounts.end(), mount) == to.mounts.end()) to.mounts.push_back(mount);
  }
  void operator()(const Marker&) const { ++to.markers; }
  void operator()(const Loss& loss) const {
    if (to.losses.size() < kMaximumLosses) to.losses.push_back(loss);
  }
  void operator()(const Stack&) const { ++to.stacks; }
};

void TraceSummary::add(const EventBody& body, std::uint32_t recorder) {
  names_.observe(body);
  recorders = std::max(recorders, recorder + 1);
  std::visit(Adder{*this}, body);
}

void TraceSummary::cover(Nanoseconds from, Nanoseconds to) {
  first = any_time ? std::min(first, from) : from;
  last = any_time ? std::max(last, to) : to;
  any_time = true;
}

std::vector<ChangingRoots::Root> TraceSummary::roots() const {
  std::vector<ChangingRoots::Root> roots = roots_.roots();
  std::erase_if(roots, [this](const ChangingRoots::Root& root) {
    return std::any_of(mounts.begin(), mounts.end(), [&](const MountInfo& mount) {
      return mount.device == root.device && is_pseudo_filesystem(mount.filesystem);
    });
  });
  return roots;
}

void TraceSummary::add_change(const PathArgument& path) {
  if (path.state != TextState::kPresent || !path.directory.file.known()) return;
  const std::filesystem::path whole = names_.absolute(path);
  if (whole.is_relative()) return;
  // The path may lead through a mount point, away from the directory it is relative to.
  const std::string normal = whole.lexically_normal().string();
  DeviceId device = path.directory.file.identity.device;
  std::size_t longest = 0;
  for (const MountInfo& mount : mounts)
    if (mount.mount_point.size() >= longest && lies_below(normal, mount.mount_point))
      longest = mount.mount_point.size(), device = mount.device;
  // "." and a name before a slash are a directory that changes itself, as the recorder has it.
  const bool itself = path.bytes == "." || path.bytes.ends_with("/.") || path.bytes.ends_with('/');
  roots_.add(device, itself ? normal : whole.lexically_normal().parent_path().string());
}

}  // namespace iotape
