// From the bytes of one ring record to events. No libbpf and no kernel: records are checked against their own length
// as if they came from a stranger, so this can be tested and fuzzed anywhere. nullopt means malformed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "format/event.h"
#include "recorder/wire.h"

namespace iotape {

// The record's kind when its head is sound (size equals the span's), 0 otherwise.
[[nodiscard]] std::uint16_t record_kind(std::span<const std::byte> record);

struct DecodedCall {
  Syscall call;
  // What the call showed of a file as it was before: the inode an open found, a stat's answer. A stat by path knows no
  // generation; the identity then has 0. For a relative path, parent is the directory it starts from and name the
  // path as given.
  std::optional<FileState> found;
  bool created = false;  // an open that made its file
};
[[nodiscard]] std::optional<DecodedCall> decode_call(std::span<const std::byte> record);

[[nodiscard]] std::optional<ProcessStart> decode_fork(std::span<const std::byte> record);
[[nodiscard]] std::optional<ProcessExec> decode_exec(std::span<const std::byte> record);
[[nodiscard]] std::optional<ProcessExit> decode_exit(std::span<const std::byte> record);
// parent and name as for DecodedCall::found, where the kernel told them.
[[nodiscard]] std::optional<FileState> decode_removal(std::span<const std::byte> record);

struct DecodedContext {
  ProcessStart start;  // to be told for a thread that was found running
  ProcessContext context;
  bool found_running = true;
  bool begins_program = false;
};
[[nodiscard]] std::optional<DecodedContext> decode_context(std::span<const std::byte> record);

struct DecodedDescriptor {
  InheritedDescriptor descriptor;
  FileState state;
  bool armed = true;
};
[[nodiscard]] std::optional<DecodedDescriptor> decode_descriptor(std::span<const std::byte> record);

[[nodiscard]] FileReference file_reference(const wire_file& file);

}  // namespace iotape
