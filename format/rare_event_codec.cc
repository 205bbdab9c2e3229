#include "format/rare_event_codec.h"

#include <algorithm>

#include "format/column.h"

namespace iotape::codec {
namespace {

std::int64_t floor_units(Nanoseconds time, std::int64_t resolution) {
  return time.value / resolution - (time.value % resolution < 0 ? 1 : 0);
}

wire::Key* set_key(wire::Key* key, const ThreadKey& thread) {
  key->set_process(thread.process.value);
  key->set_thread(thread.thread.value);
  return key;
}
ThreadKey get_key(const wire::Key& key) { return {ProcessId(key.process()), ThreadId(key.thread())}; }

struct Encoder {
  const RareTime& time;
  const FileToRow& row_of;
  wire::RareEvent& out;

  void stamp(Nanoseconds when) const {
    out.set_time(wrapping_difference(floor_units(when, time.resolution), time.base_time));
  }
  void place(const Location& location, wire::Place* to) const {
    to->set_file(row_of(location.file));
    to->set_path(location.path);
    to->set_deleted(location.deleted);
  }

  void operator()(const ProcessStart& event) const {
    stamp(event.time);
    auto* to = out.mutable_process_start();
    set_key(to->mutable_thread(), event.thread);
    set_key(to->mutable_parent(), event.parent);
    to->set_clone_flags(event.clone_flags);
    to->set_already_running(event.already_running);
    to->set_command(event.command);
  }
  void operator()(const ProcessExec& event) const {
    stamp(event.time);
    auto* to = out.mutable_process_exec();
    set_key(to->mutable_thread(), event.thread);
    to->set_command(event.command);
    to->set_file_state(static_cast<std::uint32_t>(event.file.state));
    to->set_file(event.file.bytes);
    for (const std::string& argument : event.arguments) to->add_argument(argument);
  }
  void operator()(const ProcessExit& event) const {
    stamp(event.time);
    auto* to = out.mutable_process_exit();
    set_key(to->mutable_thread(), event.thread);
    to->set_status(event.status);
    to->set_whole_process(event.whole_process);
  }
  void operator()(const ProcessContext& event) const {
    stamp(event.time);
    auto* to = out.mutable_process_context();
    set_key(to->mutable_thread(), event.thread);
    place(event.working_directory, to->mutable_working_directory());
    place(event.root, to->mutable_root());
    to->set_umask(event.umask);
    to->set_user(event.user);
    to->set_group(event.group);
  }
  void operator()(const InheritedDescriptor& event) const {
    stamp(event.time);
    auto* to = out.mutable_inherited_descriptor();
    set_key(to->mutable_thread(), event.thread);
    to->set_number(event.descriptor.number);
    to->set_file(row_of(event.descriptor.file));
    to->set_flags(event.flags);
    to->set_offset(event.offset);
    to->set_close_on_exec(event.close_on_exec);
    to->set_path(event.path);
  }
  void operator()(const FileState& event) const {
    stamp(event.time);
    auto* to = out.mutable_file_state();
    to->set_source(static_cast<std::uint32_t>(event.source));
    to->set_file(row_of(event.file));
    to->set_parent(row_of(event.parent));
    to->set_name(event.name);
    to->set_path(event.path);
    if (event.size) to->set_size(*event.size);
    if (event.mode) to->set_mode(*event.mode);
    if (event.links) to->set_links(*event.links);
    if (event.user) to->set_user(*event.user);
    if (event.group) to->set_group(*event.group);
    if (event.modification_time) to->set_modification_time(*event.modification_time);
    if (event.blocks) to->set_blocks(*event.blocks);
    if (event.special_device) to->set_special_device(*event.special_device);
    if (event.link_target) to->set_link_target(*event.link_target);
    if (event.directory_position) to->set_directory_position(*event.directory_position);
    for (const auto& [name, value] : event.xattrs) {
      auto* xattr = to->add_xattr();
      xattr->set_name(name);
      xattr->set_value(value);
    }
  }
  void operator()(const DeviceInfo& event) const {
    auto* to = out.mutable_device_info();
    to->set_device(event.device.value);
    to->set_whole_disk(event.whole_disk.value);
    to->set_name(event.name);
    to->set_start(event.start.value);
    to->set_size(event.size.value);
    to->set_rotational(event.rotational);
    if (event.backing) to->set_backing(event.backing->value);
  }
  void operator()(const MountInfo& event) const {
    auto* to = out.mutable_mount_info();
    to->set_device(event.device.value);
    to->set_block_device(event.block_device.value);
    to->set_mount_point(event.mount_point);
    to->set_filesystem(event.filesystem);
    to->set_options(event.options);
    to->set_subtree(event.subtree);
    to->set_block_size(event.block_size);
    if (event.hash_version) to->set_hash_version(*event.hash_version);
    if (event.hash_seed) to->mutable_hash_seed()->Add(event.hash_seed->begin(), event.hash_seed->end());
    to->set_read_only(event.read_only);
  }
  void operator()(const Marker& event) const {
    stamp(event.time);
    out.mutable_marker()->set_text(event.text);
  }
  void operator()(const Loss& event) const {
    stamp(event.last);
    auto* to = out.mutable_loss();
    to->set_cause(static_cast<std::uint32_t>(event.cause));
    to->set_first(
        wrapping_difference(floor_units(event.first, time.resolution), floor_units(event.last, time.resolution)));
    to->set_cpu(event.cpu);
    to->set_count(event.count);
    to->set_detail(event.detail);
  }
  void operator()(const Stack& event) const {
    auto* to = out.mutable_stack();
    to->set_id(event.id.value);
    for (const std::string& frame : event.frames) to->add_frame(frame);
  }
};

struct Decoder {
  const RareTime& rare_time;
  const RowToFile& file_of;
  std::int64_t units = 0;

  [[nodiscard]] Nanoseconds at(std::int64_t unit) const {
    return Nanoseconds(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(unit) * static_cast<std::uint64_t>(rare_time.resolution)));
  }
  [[nodiscard]] Nanoseconds time() const { return at(units); }
  [[nodiscard]] Location place(const wire::Place& from) const {
    return {file_of(from.file()), from.path(), from.deleted()};
  }
  template <typename Enum>
  static Enum bounded(std::uint32_t value, int count, Enum otherwise) {
    return value < static_cast<std::uint32_t>(count) ? static_cast<Enum>(value) : otherwise;
  }

  [[nodiscard]] ProcessStart decode(const wire::ProcessStart& from) const {
    return {time(),        get_key(from.thread()), get_key(from.parent()), from.clone_flags(), from.already_running(),
            from.command()};
  }
  [[nodiscard]] ProcessExec decode(const wire::ProcessExec& from) const {
    ProcessExec event{time(), get_key(from.thread()), from.command(), {}, {}};
    event.file = {bounded(from.file_state(), kTextStateCount, TextState::kFault), from.file()};
    event.arguments.assign(from.argument().begin(), from.argument().end());
    return event;
  }
  [[nodiscard]] ProcessExit decode(const wire::ProcessExit& from) const {
    return {time(), get_key(from.thread()), from.status(), from.whole_process()};
  }
  [[nodiscard]] ProcessContext decode(const wire::ProcessContext& from) const {
    return {time(),
            get_key(from.thread()),
            place(from.working_directory()),
            place(from.root()),
            from.umask(),
            from.user(),
            from.group()};
  }
  [[nodiscard]] InheritedDescriptor decode(const wire::InheritedDescriptor& from) const {
    return {time(),       get_key(from.thread()), {from.number(), file_of(from.file())},
            from.flags(), from.offset(),          from.close_on_exec(),
            from.path()};
  }
  [[nodiscard]] FileState decode(const wire::FileState& from) const {
    FileState event;
    event.time = time();
    event.source = bounded(from.source(), kStateSourceCount, StateSource::kInferred);
    event.file = file_of(from.file());
    event.parent = file_of(from.parent());
    event.name = from.name();
    event.path = from.path();
    if (from.has_size()) event.size = from.size();
    if (from.has_mode()) event.mode = from.mode();
    if (from.has_links()) event.links = from.links();
    if (from.has_user()) event.user = from.user();
    if (from.has_group()) event.group = from.group();
    if (from.has_modification_time()) event.modification_time = from.modification_time();
    if (from.has_blocks()) event.blocks = from.blocks();
    if (from.has_special_device()) event.special_device = from.special_device();
    if (from.has_link_target()) event.link_target = from.link_target();
    if (from.has_directory_position()) event.directory_position = from.directory_position();
    for (const auto& xattr : from.xattr()) event.xattrs.emplace_back(xattr.name(), xattr.value());
    return event;
  }
  [[nodiscard]] DeviceInfo decode(const wire::DeviceInfo& from) const {
    DeviceInfo event{DeviceId(from.device()), DeviceId(from.whole_disk()), from.name(),
                     Sectors(from.start()),   Sectors(from.size()),        from.rotational()};
    if (from.has_backing()) event.backing = DeviceId(from.backing());
    return event;
  }
  [[nodiscard]] MountInfo decode(const wire::MountInfo& from) const {
    MountInfo event;
    event.device = DeviceId(from.device());
    event.block_device = DeviceId(from.block_device());
    event.mount_point = from.mount_point();
    event.filesystem = from.filesystem();
    event.options = from.options();
    event.subtree = from.subtree();
    event.block_size = from.block_size();
    if (from.has_hash_version()) event.hash_version = from.hash_version();
    if (from.hash_seed_size() == 4) {
      event.hash_seed.emplace();
      std::copy(from.hash_seed().begin(), from.hash_seed().end(), event.hash_seed->begin());
    }
    event.read_only = from.read_only();
    return event;
  }
  [[nodiscard]] Marker decode(const wire::Marker& from) const { return {time(), from.text()}; }
  [[nodiscard]] Loss decode(const wire::Loss& from) const {
    return {bounded(from.cause(), kLossCauseCount, LossCause::kMalformedRecord),
            at(wrapping_sum(units, from.first())),
            time(),
            from.cpu(),
            from.count(),
            from.detail()};
  }
  [[nodiscard]] static Stack decode(const wire::Stack& from) {
    return {StackId(from.id()), {from.frame().begin(), from.frame().end()}};
  }
};

}  // namespace

template <typename Rare>
void encode_rare_event(const Rare& event, const RareTime& time, const FileToRow& row_of, wire::RareEvent& out) {
  Encoder{time, row_of, out}(event);
}
template void encode_rare_event(const ProcessStart&, const RareTime&, const FileToRow&, wire::RareEvent&);
template void encode_rare_event(const ProcessExec&, const RareTime&, const FileToRow&, wire::RareEvent&);
template void encode_rare_event(const ProcessExit&, const RareTime&, const FileToRow&, wire::RareEvent&);
template void encode_rare_event(const ProcessContext&, const RareTime&, const FileToRow&, wire::RareEvent&);
template void encode_rare_event(const InheritedDescriptor&, const RareTime&, const FileToRow&, wire::RareEvent&);
template void encode_rare_event(const FileState&, const RareTime&, const FileToRow&, wire::RareEvent&);
template void encode_rare_event(const DeviceInfo&, const RareTime&, const FileToRow&, wire::RareEvent&);
template void encode_rare_event(const MountInfo&, const RareTime&, const FileToRow&, wire::RareEvent&);
template void encode_rare_event(const Marker&, const RareTime&, const FileToRow&, wire::RareEvent&);
template void encode_rare_event(const Loss&, const RareTime&, const FileToRow&, wire::RareEvent&);
template void encode_rare_event(const Stack&, const RareTime&, const FileToRow&, wire::RareEvent&);

bool decode_rare_event(const wire::RareEvent& message, const RareTime& time, const RowToFile& file_of, EventBody& out) {
  const Decoder decoder{time, file_of,
                        static_cast<std::int64_t>(static_cast<std::uint64_t>(message.time()) +
                                                  static_cast<std::uint64_t>(time.base_time))};
  switch (message.event_case()) {
    case wire::RareEvent::kProcessStart:
      return out = decoder.decode(message.process_start()), true;
    case wire::RareEvent::kProcessExec:
      return out = decoder.decode(message.process_exec()), true;
    case wire::RareEvent::kProcessExit:
      return out = decoder.decode(message.process_exit()), true;
    case wire::RareEvent::kProcessContext:
      return out = decoder.decode(message.process_context()), true;
    case wire::RareEvent::kInheritedDescriptor:
      return out = decoder.decode(message.inherited_descriptor()), true;
    case wire::RareEvent::kFileState:
      return out = decoder.decode(message.file_state()), true;
    case wire::RareEvent::kDeviceInfo:
      return out = decoder.decode(message.device_info()), true;
    case wire::RareEvent::kMountInfo:
      return out = decoder.decode(message.mount_info()), true;
    case wire::RareEvent::kMarker:
      return out = decoder.decode(message.marker()), true;
    case wire::RareEvent::kLoss:
      return out = decoder.decode(message.loss()), true;
    case wire::RareEvent::kStack:
      return out = decoder.decode(message.stack()), true;
    case wire::RareEvent::EVENT_NOT_SET:
      return false;
  }
  return false;
}

}  // namespace iotape::codec
