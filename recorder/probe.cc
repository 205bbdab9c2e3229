#include "recorder/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

#include "format/base/file_descriptor.h"
#include "recorder.skel.h"
#include "recorder/block_setup.h"
#include "recorder/call_table.h"
#include "recorder/requirements.h"
#include "recorder/stack_wire.h"

namespace iotape {
namespace {

constexpr std::string_view kTracepointSection = "tp_btf/";

struct DestroySkeleton {
  void operator()(recorder_bpf* skeleton) const { recorder_bpf::destroy(skeleton); }
};
struct FreeRing {
  void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
};
struct DestroyLink {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};

// Which programs a layer consists of, told by the first word of their names.
struct ProgramLayer {
  std::string_view prefix;
  bool ProbeOptions::*wanted;
  bool required;
};
constexpr ProgramLayer kLayers[] = {
    {"call_", &ProbeOptions::calls, true},      {"process_", &ProbeOptions::calls, true},
    {"switch_", &ProbeOptions::calls, false},   {"state_", &ProbeOptions::states, false},
    {"block_", &ProbeOptions::block, false},    {"finish_", &ProbeOptions::calls, false},
    {"snapshot_", &ProbeOptions::calls, false},
};

const ProgramLayer* layer_of(std::string_view program) {
  for (const ProgramLayer& layer : kLayers)
    if (program.substr(0, layer.prefix.size()) == layer.prefix) return &layer;
  return nullptr;
}

std::string tracepoint_of(const bpf_program* program) {
  const std::string_view section = bpf_program__section_name(program);
  if (section.substr(0, kTracepointSection.size()) != kTracepointSection) return {};
  return std::string(section.substr(kTracepointSection.size()));
}

std::uint64_t round_ring(std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::bit_ceil(std::max(bytes, page));
}

std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

int quiet_log(libbpf_print_level, const char*, va_list) { return 0; }

}  // namespace

struct Probe::State {
  std::unique_ptr<recorder_bpf, DestroySkeleton> skeleton;
  std::unique_ptr<ring_buffer, FreeRing> ring;
  std::vector<std::unique_ptr<bpf_link, DestroyLink>> links;
  std::vector<MissingHook> missing;
  BlockSetup block;
  std::uint64_t ring_bytes = 0;
  const Receiver* receiver = nullptr;
  std::size_t taken = 0;
  std::size_t limit = 0;
  unsigned long* consumer = nullptr;  // positions in the ring, mapped read only
  unsigned long* producer = nullptr;

  ~State() {
    unmap(consumer);
    unmap(producer);
  }
  static void unmap(unsigned long* page) {
    if (page != nullptr) ::munmap(page, page_size());
  }
  void plan_block_layer(const ProbeOptions& options, const TracepointCatalogue& catalogue);
  Result<void> list_disks(const ProbeOptions& options) const;
  Result<void> choose_programs(const ProbeOptions& options, const TracepointCatalogue& catalogue);
  Result<void> choose_program(bpf_program* program, const ProbeOptions& options, const TracepointCatalogue& catalogue);
  void configure(const ProbeOptions& options, const TracepointCatalogue& catalogue) const;
  Result<void> load_programs();
  Result<void> walk(const char* name) const;
  Result<void> map_positions();
  static int receive(void* context, void* data, std::size_t size);
};

void Probe::State::plan_block_layer(const ProbeOptions& options, const TracepointCatalogue& catalogue) {
  const auto arity = [&](const std::string& tracepoint) {
    const auto& absent = options.absent_hooks;
    const bool hidden = std::find(absent.begin(), absent.end(), tracepoint) != absent.end();
    return hidden ? -1 : catalogue.arity(tracepoint);
  };
  const auto number = [&](const std::string& type, const std::string& name) {
    return catalogue.enumerator(type, name);
  };
  block = plan_block({arity, number}, !options.devices.empty());
  if (options.block) missing.insert(missing.end(), block.missing.begin(), block.missing.end());
}

// Its own hooks: which of them fit this kernel was decided with their shapes.
bool is_left_out(const BlockSetup& block, std::string_view program) {
  return std::find(block.absent_programs.begin(), block.absent_programs.end(), program) != block.absent_programs.end();
}

Result<void> Probe::State::choose_program(bpf_program* program, const ProbeOptions& options,
                                          const TracepointCatalogue& catalogue) {
  const ProgramLayer* layer = layer_of(bpf_program__name(program));
  // Whom to follow has to be known for the block layer alone, too.
  const bool follows = layer != nullptr && layer->prefix == "process_" && options.block;
  if (layer == nullptr || !(options.*(layer->wanted) || follows) || is_left_out(block, bpf_program__name(program))) {
    bpf_program__set_autoload(program, false);
    return {};
  }
  const std::string tracepoint = tracepoint_of(program);
  const auto& absent = options.absent_hooks;
  const bool hidden = std::find(absent.begin(), absent.end(), tracepoint) != absent.end();
  if (tracepoint.empty() || (!hidden && catalogue.arity(tracepoint) >= 0)) return {};
  if (layer->required)
    return failure(ErrorCode::kUnsupported,
                   fmt::format("this kernel has no tracepoint {}, without which nothing can be recorded; iotape doctor "
                               "lists what is needed",
                               tracepoint));
  bpf_program__set_autoload(program, false);
  missing.push_back({tracepoint, "this kernel does not have it"});
  return {};
}

Result<void> Probe::State::choose_programs(const ProbeOptions& options, const TracepointCatalogue& catalogue) {
  plan_block_layer(options, catalogue);
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton->obj) IOTAPE_TRY(choose_program(program, options, catalogue));
  return {};
}

void Probe::State::configure(const ProbeOptions& options, const TracepointCatalogue& catalogue) const {
  auto& config = const_cast<wire_config&>(skeleton->rodata->config);
  config.version = WIRE_VERSION;
  config.own_process = static_cast<__u32>(::getpid());
  config.record_calls = options.calls;
  config.record_all = options.record_all;
  config.record_states = options.states;
  config.record_arguments = static_cast<__u8>(options.arguments);
  config.have_rdonly_cast = !options.avoid_rdonly_cast && catalogue.has_function("bpf_rdonly_cast");
  config.stacks_failed = options.stacks_failed;
  config.stacks_slower_than = options.stacks_slower_than;
  config.fast_storage_test = catalogue.has_member("task_struct", "bpf_storage");
  config.record_user = options.record_user;
  config.user_id = options.user;
  if (options.cgroup) {
    config.record_cgroup = 1;
    config.cgroup = options.cgroup->id;
    config.cgroup_level = options.cgroup->level;
  }
  config.exit_has_group_dead = catalogue.arity("sched_process_exit") >= 2;
  fill_call_shapes({const_cast<wire_shape*>(skeleton->rodata->shapes), WIRE_SHAPE_SLOTS});
  const_cast<wire_block_config&>(skeleton->rodata->block_config) = block.config;
  bpf_map__set_max_entries(skeleton->maps.ring, static_cast<__u32>(ring_bytes));
  if (!options.stacks_failed && options.stacks_slower_than == 0) return;
  bpf_map__set_max_entries(skeleton->maps.user_stacks, WIRE_STACKS_KEPT);
  bpf_map__set_max_entries(skeleton->maps.kernel_stacks, WIRE_STACKS_KEPT);
}

Result<void> Probe::State::load_programs() {
  const int status = recorder_bpf::load(skeleton.get());
  if (status == 0) return {};
  if (status == -ENOMEM)
    return system_failure(
        fmt::format("no memory for a ring of {} MiB; choose a smaller one with --ring-size", ring_bytes >> 20U),
        ENOMEM);
  return tl::make_unexpected(explain_load_failure(-status));
}

Result<void> Probe::State::list_disks(const ProbeOptions& options) const {
  constexpr __u8 kWanted = 1;
  for (const DeviceId device : options.devices)
    if (bpf_map_update_elem(bpf_map__fd(skeleton->maps.disks), &device.value, &kWanted, BPF_ANY) != 0)
      return system_failure("telling the kernel side which disks to record", errno);
  return {};
}

Result<void> Probe::State::map_positions() {
  const auto map_page = [&](std::size_t page) -> unsigned long* {
    void* place = ::mmap(nullptr, page_size(), PROT_READ, MAP_SHARED, bpf_map__fd(skeleton->maps.ring),
                         static_cast<off_t>(page * page_size()));
    return place == MAP_FAILED ? nullptr : static_cast<unsigned long*>(place);
  };
  consumer = map_page(0);
  producer = map_page(1);
  if (consumer == nullptr || producer == nullptr) return system_failure("mapping the ring", errno);
  return {};
}

Probe::Probe(std::unique_ptr<State> state) : state_(std::move(state)) {}
Probe::~Probe() = default;

Result<std::unique_ptr<Probe>> Probe::load(const ProbeOptions& options) {
  IOTAPE_TRY(check_requirements());
  libbpf_set_print(quiet_log);
  IOTAPE_ASSIGN(const auto catalogue, TracepointCatalogue::open());
  auto state = std::make_unique<State>();
  state->skeleton.reset(recorder_bpf::open());
  if (!state->skeleton) return system_failure("opening the kernel side of the recorder", errno);
  state->ring_bytes = round_ring(options.ring_bytes);
  IOTAPE_TRY(state->choose_programs(options, *catalogue));
  state->configure(options, *catalogue);
  IOTAPE_TRY(state->load_programs());
  IOTAPE_TRY(state->list_disks(options));
  state->ring.reset(ring_buffer__new(bpf_map__fd(state->skeleton->maps.ring), &State::receive, state.get(), nullptr));
  if (!state->ring) return system_failure("mapping the ring", errno);
  IOTAPE_TRY(state->map_positions());
  return std::unique_ptr<Probe>(new Probe(std::move(state)));
}

Result<void> Probe::attach() {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, state_->skeleton->obj) {
    if (!bpf_program__autoload(program) || tracepoint_of(program).empty()) continue;
    bpf_link* link = bpf_program__attach(program);
    if (link != nullptr) {
      state_->links.emplace_back(link);
      continue;
    }
    const std::string tracepoint = tracepoint_of(program);
    if (layer_of(bpf_program__name(program))->required)
      return system_failure(fmt::format("hooking into the tracepoint {}", tracepoint), errno);
    state_->missing.push_back({tracepoint, std::strerror(errno)});
  }
  return {};
}

Result<void> Probe::trace_thread(std::int32_t thread, bool armed) {
  constexpr unsigned kPidfdThread = O_EXCL;
  FileDescriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, thread, 0U)));
  if (!pidfd) pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, thread, kPidfdThread)));
  if (!pidfd) return system_failure(fmt::format("naming thread {} to the kernel", thread), errno);
  std::vector<std::byte> value(bpf_map__value_size(state_->skeleton->maps.tasks));
  value[bpf_map__value_size(state_->skeleton->maps.tasks) - 1] = std::byte{0};
  reinterpret_cast<wire_task_start*>(value.data())->armed = armed ? 1 : 0;
  const int key = pidfd.get();
  if (bpf_map_update_elem(bpf_map__fd(state_->skeleton->maps.tasks), &key, value.data(), BPF_NOEXIST) != 0 &&
      errno != EEXIST)
    return system_failure(fmt::format("marking thread {} as recorded", thread), errno);
  return {};
}

int Probe::State::receive(void* context, void* data, std::size_t size) {
  auto* self = static_cast<State*>(context);
  self->taken += size;
  (*self->receiver)({static_cast<const std::byte*>(data), size});
  return self->taken >= self->limit ? -ECANCELED : 0;  // stops this drain; the record counts as consumed
}

Result<std::size_t> Probe::drain(const Receiver& receive, std::size_t limit) {
  state_->receiver = &receive;
  state_->taken = 0;
  state_->limit = limit;
  const int status = ring_buffer__consume(state_->ring.get());
  if (status < 0 && status != -ECANCELED) return system_failure("reading the ring", -status);
  return state_->taken;
}

// Last in, first out: the hooks are ordered so that what begins is hooked after what ends it.
void Probe::detach() {
  while (!state_->links.empty()) state_->links.pop_back();
}

void Probe::close_requests() { state_->skeleton->bss->closing = 1; }

bool Probe::any_request_under_way() const {
  __u64 key = 0;
  return bpf_map_get_next_key(bpf_map__fd(state_->skeleton->maps.requests), nullptr, &key) == 0;
}

std::vector<wire_request> Probe::requests_under_way() const {
  std::vector<wire_request> found;
  const int map = bpf_map__fd(state_->skeleton->maps.requests);
  __u64 key = 0;
  for (int status = bpf_map_get_next_key(map, nullptr, &key); status == 0;
       status = bpf_map_get_next_key(map, &key, &key)) {
    wire_request request{};
    if (bpf_map_lookup_elem(map, &key, &request) == 0) found.push_back(request);
  }
  return found;
}

// Runs an iterator program once over everything it iterates.
Result<void> Probe::State::walk(const char* name) const {
  bpf_program* program = bpf_object__find_program_by_name(skeleton->obj, name);
  if (program == nullptr || !bpf_program__autoload(program)) return {};
  const std::unique_ptr<bpf_link, DestroyLink> link(bpf_program__attach_iter(program, nullptr));
  if (!link) return system_failure(fmt::format("starting the walk {}", name), errno);
  const FileDescriptor file(bpf_iter_create(bpf_link__fd(link.get())));
  if (!file) return system_failure(fmt::format("starting the walk {}", name), errno);
  char nothing[64];
  while (::read(file.get(), nothing, sizeof nothing) > 0) {
  }
  return {};
}

Result<void> Probe::emit_unfinished() { return state_->walk("finish_calls"); }

Result<void> Probe::snapshot() {
  IOTAPE_TRY(state_->walk("snapshot_contexts"));
  return state_->walk("snapshot_descriptors");
}

// libbpf 1.1 has no ring__avail_data_size: the two position pages are mapped here, as the ring's layout documents.
std::size_t Probe::pending() const {
  const auto producer = std::atomic_ref(*state_->producer).load(std::memory_order_acquire);
  const auto consumer = std::atomic_ref(*state_->consumer).load(std::memory_order_acquire);
  return producer - consumer;
}

std::vector<wire_counters> Probe::counters() const {
  const int cpus = libbpf_num_possible_cpus();
  std::vector<wire_counters> values(cpus > 0 ? static_cast<std::size_t>(cpus) : 1);
  const __u32 zero = 0;
  bpf_map_lookup_elem(bpf_map__fd(state_->skeleton->maps.counters), &zero, values.data());
  return values;
}

void Probe::next_loss_epoch() { state_->skeleton->data->loss_epoch = state_->skeleton->data->loss_epoch + 1; }

std::uint64_t Probe::missed_runs() const {
  std::uint64_t missed = 0;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, state_->skeleton->obj) {
    bpf_prog_info info{};
    __u32 size = sizeof info;
    if (bpf_program__fd(program) >= 0 && bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0)
      missed += info.recursion_misses;
  }
  return missed;
}

const std::vector<MissingHook>& Probe::missing_hooks() const { return state_->missing; }
std::uint64_t Probe::ring_bytes() const { return state_->ring_bytes; }

int Probe::map_descriptor(const std::string& name) const {
  return bpf_object__find_map_fd_by_name(state_->skeleton->obj, name.c_str());
}

}  // namespace iotape
