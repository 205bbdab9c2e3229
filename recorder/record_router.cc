#include "recorder/record_router.h"

#include <fcntl.h>

#include <cstring>
#include <utility>

namespace iotape {
namespace {

// For the calls that make a name without opening what is behind it.
const PathArgument* made_name(const Operation& operation) {
  if (const auto* op = std::get_if<MakeDirectory>(&operation)) return &op->path;
  if (const auto* op = std::get_if<MakeNode>(&operation)) return &op->path;
  if (const auto* op = std::get_if<SymbolicLink>(&operation)) return &op->created;
  if (const auto* op = std::get_if<HardLink>(&operation)) return &op->created;
  if (const auto* op = std::get_if<Rename>(&operation)) return &op->to;
  return nullptr;
}

}  // namespace

Result<void> RecordRouter::append_state(FileState state) {
  if (!state.file.known() || state.file.kind == FileKind::kAnonymous || !first_touch_.take(state)) return {};
  return sink_.append(std::move(state));
}

Result<void> RecordRouter::tell_of_device(DeviceId device) {
  for (MountInfo& mount : read_mounts()) {
    if (mount.device != device) continue;
    const DeviceId block = mount.block_device;
    IOTAPE_TRY(sink_.append(std::move(mount)));
    if (block.value != 0) IOTAPE_TRY(tell_of_block_device(block));
  }
  return {};
}

// Of a partition its disk too, of a loop device the disk below it.
Result<void> RecordRouter::tell_of_block_device(DeviceId device) {
  std::vector<DeviceId> waiting{device};
  while (!waiting.empty()) {
    const DeviceId next = waiting.back();
    waiting.pop_back();
    if (!block_devices_.insert(next).second) continue;
    auto facts = read_device(next);
    if (!facts) continue;
    waiting.push_back(facts->whole_disk);
    if (facts->backing) waiting.push_back(*facts->backing);
    IOTAPE_TRY(sink_.append(std::move(*facts)));
  }
  return {};
}

Result<void> RecordRouter::DisksFirst::append(EventBody body) {
  if (const auto* request = std::get_if<BlockRequest>(&body); request != nullptr && request->device != last_) {
    last_ = request->device;
    IOTAPE_TRY(router_.tell_of_block_device(last_));
  }
  return router_.sink_.append(std::move(body));
}

Result<void> RecordRouter::note_device(const FileReference& file) {
  const DeviceId device = file.identity.device;
  if (!file.known() || device == last_device_) return {};
  last_device_ = device;
  if (!devices_.insert(device).second) return {};
  return tell_of_device(device);
}

void RecordRouter::note_made(const DecodedCall& decoded) {
  if (!decoded.call.outcome.ok()) return;
  if (decoded.created) {
    first_touch_.made(std::get<Open>(decoded.call.operation).opened);
    return;
  }
  if (const PathArgument* path = made_name(decoded.call.operation)) first_touch_.made_name(*path);
}

// stat(2) has a device of its own for each subvolume of btrfs. A device that is neither a filesystem's nor a known
// subvolume's is looked for among the mounts, once.
void RecordRouter::identify_as_the_kernel_does(FileState& state) {
  constexpr std::size_t kMostStrangers = 4096;
  FileIdentity& identity = state.file.identity;
  if (state.source != StateSource::kStatCall || devices_.contains(identity.device)) return;
  auto known = subvolumes_.find(identity.device);
  if (known == subvolumes_.end()) {
    if (subvolumes_.size() >= kMostStrangers) return;
    subvolumes_.merge(read_subvolumes());
    known = subvolumes_.try_emplace(identity.device, FilesystemPlace{identity.device, 0}).first;
  }
  identity.device = known->second.device;
  identity.subvolume = known->second.subvolume;
}

Result<void> RecordRouter::route_call(std::span<const std::byte> record) {
  auto decoded = decode_call(record);
  if (!decoded) return ++malformed_, Result<void>{};
  wire_file file;
  std::memcpy(&file, record.data() + offsetof(wire_call, file), sizeof file);
  IOTAPE_TRY(note_device(file_reference(file)));
  if (const auto* open = std::get_if<Open>(&decoded->call.operation)) IOTAPE_TRY(note_device(open->opened));
  note_made(*decoded);
  if (decoded->found) {
    identify_as_the_kernel_does(*decoded->found);
    IOTAPE_TRY(append_state(std::move(*decoded->found)));
  }
  IOTAPE_TRY(name_stacks(decoded->call));
  IOTAPE_TRY(sink_.append(std::move(decoded->call)));
  ++calls_;
  return {};
}

// The kernel side's numbers of stacks into the trace's.
Result<void> RecordRouter::name_stacks(Syscall& call) {
  const auto raw = [](const std::optional<StackId>& id) { return id ? static_cast<std::int32_t>(id->value) : -1; };
  const std::int32_t user = raw(std::exchange(call.user_stack, std::nullopt));
  const std::int32_t kernel = raw(std::exchange(call.kernel_stack, std::nullopt));
  if (stacks_ == nullptr) return {};
  IOTAPE_ASSIGN(call.user_stack, stacks_->user(user, call.thread.process, sink_));
  IOTAPE_ASSIGN(call.kernel_stack, stacks_->kernel(kernel, sink_));
  return {};
}

Result<void> RecordRouter::route_exec(std::span<const std::byte> record) {
  auto decoded = decode_exec(record);
  if (!decoded) return ++malformed_, Result<void>{};
  if (stacks_ != nullptr && decoded->file.state == TextState::kPresent) stacks_->learn_file(decoded->file.bytes);
  return sink_.append(std::move(*decoded));
}

Result<void> RecordRouter::route_context(std::span<const std::byte> record) {
  auto decoded = decode_context(record);
  if (!decoded) return ++malformed_, Result<void>{};
  ProcessContext& context = decoded->context;
  if (!contexts_.tell(context) && decoded->begins_program) return {};
  IOTAPE_TRY(note_device(context.working_directory.file));
  IOTAPE_TRY(note_device(context.root.file));
  if (decoded->found_running) IOTAPE_TRY(sink_.append(std::move(decoded->start)));
  return sink_.append(std::move(context));
}

Result<void> RecordRouter::route_fork(std::span<const std::byte> record) {
  auto decoded = decode_fork(record);
  if (!decoded) return ++malformed_, Result<void>{};
  contexts_.started(*decoded);
  return sink_.append(std::move(*decoded));
}

Result<void> RecordRouter::route_exit(std::span<const std::byte> record) {
  auto decoded = decode_exit(record);
  if (!decoded) return ++malformed_, Result<void>{};
  contexts_.ended(*decoded);
  return sink_.append(std::move(*decoded));
}

Result<void> RecordRouter::route_descriptor(std::span<const std::byte> record) {
  auto decoded = decode_descriptor(record);
  if (!decoded) return ++malformed_, Result<void>{};
  // Before its exec the command is still a copy of this program: what closes then was never the command's.
  if (!decoded->armed && decoded->descriptor.close_on_exec) return {};
  IOTAPE_TRY(note_device(decoded->descriptor.descriptor.file));
  IOTAPE_TRY(append_state(std::move(decoded->state)));
  return sink_.append(std::move(decoded->descriptor));
}

Result<void> RecordRouter::route(std::span<const std::byte> record) {
  const std::uint16_t kind = record_kind(record);
  switch (kind) {
    case WIRE_CALL:
      return route_call(record);
    case WIRE_FORK:
      return route_fork(record);
    case WIRE_EXEC:
      return route_exec(record);
    case WIRE_EXIT:
      return route_exit(record);
    case WIRE_CONTEXT:
      return route_context(record);
    case WIRE_DESCRIPTOR:
      return route_descriptor(record);
    case WIRE_FILE_STATE: {
      auto state = decode_removal(record);
      if (!state) return ++malformed_, Result<void>{};
      return append_state(std::move(*state));
    }
    default:
      if (kind >= WIRE_FIRST_BLOCK_KIND && handler_ != nullptr) return handler_->handle(record, disks_first_);
      return ++malformed_, Result<void>{};
  }
}

Result<void> RecordRouter::finish() { return handler_ == nullptr ? Result<void>{} : handler_->finish(disks_first_); }

}  // namespace iotape
