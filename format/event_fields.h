// The fields of every struct a trace consists of, listed once under their published names: visit(name, member) for
// each. JSON output, JSON input and the text form of process, file and mount events all walk these lists, so what is
// written can be read back. The arguments of calls are listed in format/operations.h.
//
// T is the struct, const or not; the member is passed with the same constness.
#pragma once

#include <type_traits>

#include "format/event.h"
#include "format/trace_header.h"

namespace iotape {

template <typename T, typename Struct>
concept ConstOrNot = std::is_same_v<std::remove_const_t<T>, Struct>;

// BlockRequest::flags and RequestPart::flags under a type of their own, so that printers name the bits.
template <typename Number>
struct BlockFlagBits {
  Number& bits;
};
template <typename Number>
BlockFlagBits(Number&) -> BlockFlagBits<Number>;

template <ConstOrNot<FileReference> T, typename V>
void describe(T& file, V&& visit) {
  visit("kind", file.kind);
  visit("device", file.identity.device);
  visit("inode", file.identity.inode);
  visit("generation", file.identity.generation);
  visit("subvolume", file.identity.subvolume);
}

template <ConstOrNot<Descriptor> T, typename V>
void describe(T& descriptor, V&& visit) {
  visit("number", descriptor.number);
  visit("file", descriptor.file);
}

template <ConstOrNot<Text> T, typename V>
void describe(T& text, V&& visit) {
  visit("state", text.state);
  visit("bytes", text.bytes);
}

template <ConstOrNot<PathArgument> T, typename V>
void describe(T& path, V&& visit) {
  visit("state", path.state);
  visit("bytes", path.bytes);
  visit("dirfd", path.directory.number);
  visit("directory", path.directory.file);
}

template <ConstOrNot<Location> T, typename V>
void describe(T& location, V&& visit) {
  visit("file", location.file);
  visit("path", location.path);
  visit("deleted", location.deleted);
}

template <ConstOrNot<TimeArgument> T, typename V>
void describe(T& time, V&& visit) {
  visit("seconds", time.seconds);
  visit("nanoseconds", time.nanoseconds);
}

template <ConstOrNot<OpOutcome> T, typename V>
void describe(T& outcome, V&& visit) {
  visit("value", outcome.value);
  visit("errno", outcome.error_number);
}

template <ConstOrNot<ReplayRecord> T, typename V>
void describe(T& replay, V&& visit) {
  visit("source", replay.source);
  visit("due_ns", replay.due);
  visit("expected", replay.expected);
  visit("skipped", replay.skipped);
}

template <ConstOrNot<Syscall> T, typename V>
void describe(T& call, V&& visit) {
  visit("pid", call.thread.process);
  visit("tid", call.thread.thread);
  visit("start_ns", call.start);
  visit("duration_ns", call.duration);
  visit("blocked_ns", call.blocked);
  visit("interface", call.interface);
  visit("number", call.number);
  visit("arguments", call.operation);
  visit("return", call.outcome.value);
  visit("errno", call.outcome.error_number);
  visit("unfinished", call.unfinished);
  visit("user_stack", call.user_stack);
  visit("kernel_stack", call.kernel_stack);
  visit("replay", call.replay);
}

template <ConstOrNot<RequestPart> T, typename V>
void describe(T& part, V&& visit) {
  visit("queue_ns", part.queue);
  visit("sector", part.sector);
  visit("bytes", part.bytes);
  visit("flags", BlockFlagBits{part.flags});
  visit("submitter_pid", part.submitter.process);
  visit("submitter_tid", part.submitter.thread);
  visit("dirtier_pid", part.dirtier.process);
  visit("dirtier_tid", part.dirtier.thread);
  visit("file", part.file);
  visit("file_offset", part.file_offset);
  visit("cause", part.cause);
  visit("call_start_ns", part.call_start);
}

template <ConstOrNot<BlockRequest> T, typename V>
void describe(T& request, V&& visit) {
  visit("device", request.device);
  visit("partition", request.partition);
  visit("operation", request.operation);
  visit("flags", BlockFlagBits{request.flags});
  visit("sector", request.sector);
  visit("bytes", request.bytes);
  visit("issue_ns", request.issue);
  visit("complete_ns", request.complete);
  visit("error", request.error);
  visit("requeues", request.requeues);
  visit("parts", request.parts);
}

template <ConstOrNot<ProcessStart> T, typename V>
void describe(T& event, V&& visit) {
  visit("time_ns", event.time);
  visit("pid", event.thread.process);
  visit("tid", event.thread.thread);
  visit("parent_pid", event.parent.process);
  visit("parent_tid", event.parent.thread);
  visit("clone_flags", event.clone_flags);
  visit("already_running", event.already_running);
  visit("command", event.command);
}

template <ConstOrNot<ProcessExec> T, typename V>
void describe(T& event, V&& visit) {
  visit("time_ns", event.time);
  visit("pid", event.thread.process);
  visit("tid", event.thread.thread);
  visit("command", event.command);
  visit("file", event.file);
  visit("arguments", event.arguments);
}

template <ConstOrNot<ProcessExit> T, typename V>
void describe(T& event, V&& visit) {
  visit("time_ns", event.time);
  visit("pid", event.thread.process);
  visit("tid", event.thread.thread);
  visit("status", event.status);
  visit("whole_process", event.whole_process);
}

template <ConstOrNot<ProcessContext> T, typename V>
void describe(T& event, V&& visit) {
  visit("time_ns", event.time);
  visit("pid", event.thread.process);
  visit("tid", event.thread.thread);
  visit("working_directory", event.working_directory);
  visit("root", event.root);
  visit("umask", event.umask);
  visit("user", event.user);
  visit("group", event.group);
}

template <ConstOrNot<InheritedDescriptor> T, typename V>
void describe(T& event, V&& visit) {
  visit("time_ns", event.time);
  visit("pid", event.thread.process);
  visit("tid", event.thread.thread);
  visit("fd", event.descriptor);
  visit("flags", event.flags);
  visit("offset", event.offset);
  visit("close_on_exec", event.close_on_exec);
  visit("path", event.path);
}

template <ConstOrNot<FileState> T, typename V>
void describe(T& event, V&& visit) {
  visit("time_ns", event.time);
  visit("source", event.source);
  visit("file", event.file);
  visit("parent", event.parent);
  visit("name", event.name);
  visit("path", event.path);
  visit("size", event.size);
  visit("mode", event.mode);
  visit("links", event.links);
  visit("user", event.user);
  visit("group", event.group);
  visit("modification_time_ns", event.modification_time);
  visit("blocks", event.blocks);
  visit("special_device", event.special_device);
  visit("link_target", event.link_target);
  visit("directory_position", event.directory_position);
  visit("xattrs", event.xattrs);
}

template <ConstOrNot<DeviceInfo> T, typename V>
void describe(T& event, V&& visit) {
  visit("device", event.device);
  visit("whole_disk", event.whole_disk);
  visit("name", event.name);
  visit("start_sector", event.start);
  visit("sectors", event.size);
  visit("rotational", event.rotational);
  visit("backing", event.backing);
}

template <ConstOrNot<MountInfo> T, typename V>
void describe(T& event, V&& visit) {
  visit("device", event.device);
  visit("block_device", event.block_device);
  visit("mount_point", event.mount_point);
  visit("filesystem", event.filesystem);
  visit("options", event.options);
  visit("subtree", event.subtree);
  visit("block_size", event.block_size);
  visit("hash_version", event.hash_version);
  visit("hash_seed", event.hash_seed);
  visit("read_only", event.read_only);
}

template <ConstOrNot<Marker> T, typename V>
void describe(T& event, V&& visit) {
  visit("time_ns", event.time);
  visit("text", event.text);
}

template <ConstOrNot<Loss> T, typename V>
void describe(T& event, V&& visit) {
  visit("cause", event.cause);
  visit("first_ns", event.first);
  visit("last_ns", event.last);
  visit("cpu", event.cpu);
  visit("count", event.count);
  visit("detail", event.detail);
}

template <ConstOrNot<Stack> T, typename V>
void describe(T& event, V&& visit) {
  visit("stack", event.id);
  visit("frames", event.frames);
}

template <ConstOrNot<HistoryEntry> T, typename V>
void describe(T& entry, V&& visit) {
  visit("command", entry.command);
  visit("tool_version", entry.tool_version);
}

template <ConstOrNot<MissingHook> T, typename V>
void describe(T& hook, V&& visit) {
  visit("name", hook.name);
  visit("reason", hook.reason);
}

template <ConstOrNot<TraceHeader> T, typename V>
void describe(T& header, V&& visit) {
  visit("format_version", header.format_version);
  visit("tool_version", header.tool_version);
  visit("trace_id", header.trace_id);
  visit("clock", header.clock);
  visit("anchor_time_ns", header.anchor_time);
  visit("anchor_wall_ns", header.anchor_wall_ns);
  visit("resolution_ns", header.resolution);
  visit("has_syscalls", header.has_syscalls);
  visit("has_block", header.has_block);
  visit("cache", header.cache);
  visit("ring_bytes", header.ring_bytes);
  visit("calibrated_cost_ns", header.calibrated_cost);
  visit("cpus", header.cpus);
  visit("memory_bytes", header.memory_bytes);
  visit("kernel", header.kernel);
  visit("target", header.target);
  visit("source_id", header.source_id);
  visit("source_command", header.source_command);
  visit("missing_hooks", header.missing_hooks);
  visit("history", header.history);
}

// losses by cause stand beside these: see JsonFieldWriter in format/json_printer.h.
template <ConstOrNot<TraceTotals> T, typename V>
void describe(T& totals, V&& visit) {
  visit("seen", totals.seen);
  visit("written", totals.written);
  visit("syscalls", totals.syscalls);
  visit("requests", totals.requests);
  visit("losses", totals.losses);
  visit("end_ns", totals.end);
  visit("recorder_cpu_ns", totals.recorder_cpu);
  visit("workload_status", totals.workload_status);
  visit("own_calls", totals.own_calls);
  visit("own_requests", totals.own_requests);
  visit("space_before", totals.space_before);
  visit("space_after", totals.space_after);
}

}  // namespace iotape
