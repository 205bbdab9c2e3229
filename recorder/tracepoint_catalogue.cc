#include <bpf/btf.h>

#include <filesystem>
#include <utility>

#include "recorder/probe.h"

namespace iotape {
namespace {

struct FreeBtf {
  void operator()(btf* loaded) const { btf__free(loaded); }
};
using Btf = std::unique_ptr<btf, FreeBtf>;

int prototype_arity(const btf* loaded, int typedef_id) {
  const btf_type* alias = btf__type_by_id(loaded, static_cast<__u32>(typedef_id));
  const btf_type* pointer = btf__type_by_id(loaded, alias->type);
  if (pointer == nullptr || !btf_is_ptr(pointer)) return -1;
  const btf_type* prototype = btf__type_by_id(loaded, pointer->type);
  if (prototype == nullptr || !btf_is_func_proto(prototype)) return -1;
  return static_cast<int>(btf_vlen(prototype)) - 1;  // the first parameter is the tracepoint's private data
}

}  // namespace

// vmlinux first, then every module that brings types of its own, loaded when first needed.
struct TracepointCatalogue::State {
  Btf kernel;
  mutable std::vector<Btf> modules;
  mutable bool modules_loaded = false;

  void load_modules() const {
    if (std::exchange(modules_loaded, true)) return;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/kernel/btf", ignored)) {
      const std::string name = entry.path().filename();
      if (name == "vmlinux") continue;
      if (btf* loaded = btf__load_module_btf(name.c_str(), kernel.get()); loaded != nullptr)
        modules.emplace_back(loaded);
    }
  }
  [[nodiscard]] std::pair<const btf*, int> find(const std::string& name, __u32 kind) const {
    if (const int id = btf__find_by_name_kind(kernel.get(), name.c_str(), kind); id > 0) return {kernel.get(), id};
    load_modules();
    for (const Btf& loaded : modules)
      if (const int id = btf__find_by_name_kind(loaded.get(), name.c_str(), kind); id > 0) return {loaded.get(), id};
    return {nullptr, -1};
  }
};

TracepointCatalogue::TracepointCatalogue(std::unique_ptr<State> state) : state_(std::move(state)) {}
TracepointCatalogue::~TracepointCatalogue() = default;

Result<std::unique_ptr<TracepointCatalogue>> TracepointCatalogue::open() {
  auto state = std::make_unique<State>();
  state->kernel.reset(btf__load_vmlinux_btf());
  if (!state->kernel)
    return failure(ErrorCode::kUnsupported,
                   "the kernel offers no type information in /sys/kernel/btf/vmlinux; use a kernel built with "
                   "CONFIG_DEBUG_INFO_BTF=y");
  return std::unique_ptr<TracepointCatalogue>(new TracepointCatalogue(std::move(state)));
}

int TracepointCatalogue::arity(const std::string& tracepoint) const {
  const auto [loaded, id] = state_->find("btf_trace_" + tracepoint, BTF_KIND_TYPEDEF);
  return loaded == nullptr ? -1 : prototype_arity(loaded, id);
}

bool TracepointCatalogue::has_function(const std::string& name) const {
  return btf__find_by_name_kind(state_->kernel.get(), name.c_str(), BTF_KIND_FUNC) > 0;
}

bool TracepointCatalogue::has_member(const std::string& type, const std::string& member) const {
  const auto [loaded, id] = state_->find(type, BTF_KIND_STRUCT);
  if (loaded == nullptr) return false;
  const btf_type* found = btf__type_by_id(loaded, static_cast<__u32>(id));
  const btf_member* members = btf_members(found);
  for (int index = 0; index < btf_vlen(found); ++index)
    if (member == btf__name_by_offset(loaded, members[index].name_off)) return true;
  return false;
}

std::optional<std::uint64_t> TracepointCatalogue::enumerator(const std::string& type, const std::string& name) const {
  const btf* loaded = state_->kernel.get();
  const int id = btf__find_by_name_kind(loaded, type.c_str(), BTF_KIND_ENUM);
  if (id < 0) return std::nullopt;
  const btf_type* found = btf__type_by_id(loaded, static_cast<__u32>(id));
  const struct btf_enum* values = btf_enum(found);
  for (int index = 0; index < btf_vlen(found); ++index)
    if (name == btf__name_by_offset(loaded, values[index].name_off))
      return static_cast<std::uint64_t>(values[index].val);
  return std::nullopt;
}

}  // namespace iotape
