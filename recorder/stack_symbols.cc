#include "recorder/stack_symbols.h"

#include <bcc/bcc_elf.h>
#include <bcc/bcc_proc.h>
#include <bcc/bcc_syms.h>
#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace iotape {
namespace {

namespace fs = std::filesystem;

constexpr int kKernel = -1;  // bcc's number for it
// Libraries that are looked at for an unknown build-id at the very last.
constexpr const char* kLibraryFolders[] = {"/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/lib"};
constexpr std::size_t kLibrariesLimit = 4096;

bcc_symbol_option symbol_options() {
  bcc_symbol_option options{};
  options.use_debug_file = 1;
  options.check_debug_file_crc = 0;  // reading whole debug files for a checksum took a gigabyte on large programs
  options.lazy_symbolize = 1;
  options.use_symbol_type = (1U << 2U) | (1U << 10U);  // STT_FUNC, STT_GNU_IFUNC
  return options;
}

struct FreeKernelCache {
  void operator()(void* cache) const { bcc_free_symcache(cache, kKernel); }
};
struct FreeBuildCache {
  void operator()(void* cache) const { bcc_free_buildsymcache(cache); }
};

std::optional<BuildId> build_id_of(const std::string& path) {
  char text[64] = {};  // 40 hexadecimal digits
  if (bcc_elf_get_buildid(path.c_str(), text) != 0) return std::nullopt;
  BuildId id{};
  for (std::size_t index = 0; index < id.size() && std::isxdigit(static_cast<unsigned char>(text[2 * index])); ++index)
    std::from_chars(text + 2 * index, text + 2 * index + 2, id[index], 16);
  return id;
}

struct Segment {
  std::uint64_t address;
  std::uint64_t size;
  std::uint64_t offset;
};

// Executable segments: symbols have addresses, frames have offsets in the file.
std::vector<Segment> segments_of(const std::string& path) {
  std::vector<Segment> found;
  bcc_elf_foreach_load_section(
      path.c_str(),
      [](std::uint64_t address, std::uint64_t size, std::uint64_t offset, void* to) {
        static_cast<std::vector<Segment>*>(to)->push_back({address, size, offset});
        return 0;
      },
      &found);
  return found;
}

std::uint64_t address_of(const std::vector<Segment>& segments, std::uint64_t offset) {
  for (const Segment& segment : segments)
    if (offset >= segment.offset && offset - segment.offset < segment.size)
      return segment.address + (offset - segment.offset);
  return offset;
}

std::string frame_text(const char* name, std::uint64_t offset, const std::string& module) {
  return fmt::format("{}+{:#x} ({})", name, offset, module);
}
std::string nameless(std::uint64_t address, const std::string& module) {
  return fmt::format("{:#x} ({})", address, module);
}

// bcc leaves the names of its build-id cache as the linker sees them.
std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                             &std::free);
  return status == 0 && readable ? readable.get() : name;
}

std::string hexadecimal(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

struct StackSymbols::State {
  struct Module {
    std::string path;
    std::vector<Segment> segments;
    bool loaded = false;  // its symbols are in the cache
  };

  std::unique_ptr<void, FreeKernelCache> kernel;
  std::unique_ptr<void, FreeBuildCache> user{bcc_buildsymcache_new()};
  std::map<BuildId, Module> modules;
  std::set<std::string> known_files;
  std::vector<std::string> waiting_files;  // learned, not looked at yet
  std::set<std::int32_t> known_processes;
  std::set<BuildId> hopeless;
  bool libraries_done = false;

  void add(const std::string& path) {
    if (!known_files.insert(path).second) return;
    if (const auto id = build_id_of(path)) modules.try_emplace(*id, Module{path, {}, false});
  }
  void add_waiting() {
    for (const std::string& path : std::exchange(waiting_files, {})) add(path);
  }
  void add_process(std::int32_t process);
  void add_debug_file(const BuildId& id);
  void add_libraries();
  Module* find(const BuildId& id, std::int32_t process);
  std::string text_of(const UserFrame& frame, std::int32_t process);
};

void StackSymbols::State::add_process(std::int32_t process) {
  if (!known_processes.insert(process).second) return;
  // Seen through /proc/PID/root, for processes with a root of their own.
  const auto each = [](mod_info* module, int, void* to) {
    auto* found = static_cast<std::vector<std::string>*>(to);
    found->emplace_back(module->name);
    return 0;
  };
  std::vector<std::string> found;
  if (bcc_procutils_each_module(process, each, &found) != 0) return;
  for (const std::string& path : found) {
    const std::string inside = fmt::format("/proc/{}/root{}", process, path);
    std::error_code ignored;
    // The plain name outlives the process.
    add(fs::equivalent(inside, path, ignored) ? path : inside);
  }
}

void StackSymbols::State::add_debug_file(const BuildId& id) {
  const std::string text = hexadecimal(id);
  const std::string path = "/usr/lib/debug/.build-id/" + text.substr(0, 2) + "/" + text.substr(2) + ".debug";
  std::error_code ignored;
  if (fs::exists(path, ignored)) add(path);
}

void StackSymbols::State::add_libraries() {
  if (std::exchange(libraries_done, true)) return;
  std::size_t looked_at = 0;
  for (const char* folder : kLibraryFolders) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (entry.path().string().find(".so") == std::string::npos || !entry.is_regular_file(ignored)) continue;
      if (++looked_at > kLibrariesLimit) return;
      add(entry.path());
    }
  }
}

StackSymbols::State::Module* StackSymbols::State::find(const BuildId& id, std::int32_t process) {
  if (hopeless.contains(id)) return nullptr;
  const auto look = [&]() -> Module* {
    const auto found = modules.find(id);
    return found == modules.end() ? nullptr : &found->second;
  };
  if (Module* module = look()) return module;
  if (add_process(process); Module* module = look()) return module;
  if (add_waiting(); Module* module = look()) return module;
  if (add_libraries(); Module* module = look()) return module;
  if (add_debug_file(id); Module* module = look()) return module;
  hopeless.insert(id);
  return nullptr;
}

std::string StackSymbols::State::text_of(const UserFrame& frame, std::int32_t process) {
  if (!frame.has_build_id) return nameless(frame.offset, "unknown");
  Module* module = find(frame.build_id, process);
  if (module == nullptr) return nameless(frame.offset, "unknown");
  if (!std::exchange(module->loaded, true)) {
    module->segments = segments_of(module->path);
    bcc_buildsymcache_add_module(user.get(), module->path.c_str());
  }
  bpf_stack_build_id raw{};
  raw.status = BPF_STACK_BUILD_ID_VALID;
  std::copy(frame.build_id.begin(), frame.build_id.end(), raw.build_id);
  raw.offset = address_of(module->segments, frame.offset);
  const std::string name = fs::path(module->path).filename();
  bcc_symbol symbol{};
  if (bcc_buildsymcache_resolve(user.get(), &raw, &symbol) != 0 || symbol.name == nullptr)
    return nameless(frame.offset, name);
  std::string text = frame_text(demangled(symbol.name).c_str(), symbol.offset, name);
  bcc_symbol_free_demangle_name(&symbol);
  return text;
}

StackSymbols::StackSymbols() : state_(std::make_unique<State>()) {}
StackSymbols::~StackSymbols() = default;

void StackSymbols::learn_file(std::string path) { state_->waiting_files.push_back(std::move(path)); }

std::vector<std::string> StackSymbols::user_frames(ProcessId process, std::span<const UserFrame> frames) {
  std::vector<std::string> texts;
  for (const UserFrame& frame : frames) texts.push_back(state_->text_of(frame, process.value));
  return texts;
}

std::vector<std::string> StackSymbols::kernel_frames(std::span<const std::uint64_t> addresses) {
  if (!state_->kernel) {
    bcc_symbol_option options = symbol_options();
    state_->kernel.reset(bcc_symcache_new(kKernel, &options));
  }
  std::vector<std::string> texts;
  for (const std::uint64_t address : addresses) {
    bcc_symbol symbol{};
    const bool known = state_->kernel && bcc_symcache_resolve_no_demangle(state_->kernel.get(), address, &symbol) == 0;
    texts.push_back(known && symbol.name != nullptr
                        ? frame_text(symbol.name, symbol.offset, symbol.module != nullptr ? symbol.module : "kernel")
                        : nameless(address, "kernel"));
  }
  return texts;
}

}  // namespace iotape
