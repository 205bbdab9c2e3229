#include "recorder/requirements.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>

#include "recorder/probe.h"

namespace iotape {
namespace {

constexpr unsigned kCapPerfmon = 38;
constexpr unsigned kCapBpf = 39;
constexpr unsigned kCapSysAdmin = 21;

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::uint64_t effective_capabilities() {
  std::istringstream status(file_text("/proc/self/status"));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("CapEff:")) return std::strtoull(line.c_str() + std::strlen("CapEff:"), nullptr, 16);
  return 0;
}

bool has_capability(std::uint64_t set, unsigned bit) { return (set >> bit & 1U) != 0; }

Requirement privileges() {
  const std::uint64_t set = effective_capabilities();
  Requirement need{"privileges", false, false, {}, {}};
  need.met = has_capability(set, kCapSysAdmin) || (has_capability(set, kCapBpf) && has_capability(set, kCapPerfmon));
  need.found = need.met ? (::geteuid() == 0 ? "root" : "CAP_BPF and CAP_PERFMON")
                        : fmt::format("user {} without CAP_BPF and CAP_PERFMON", ::geteuid());
  if (!need.met) need.remedy = "run it with sudo; the command itself still runs as you";
  return need;
}

Requirement type_information() {
  constexpr const char* kPath = "/sys/kernel/btf/vmlinux";
  Requirement need{"kernel type information", ::access(kPath, R_OK) == 0, false, kPath, {}};
  if (need.met) return need;
  need.found = fmt::format("{}: {}", kPath, std::strerror(errno));
  need.remedy = "use a kernel built with CONFIG_DEBUG_INFO_BTF=y (every current distribution's is)";
  return need;
}

// "none [integrity] confidentiality" -> "integrity"
std::string lockdown_mode() {
  const std::string text = file_text("/sys/kernel/security/lockdown");
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']');
  return open == std::string::npos || close == std::string::npos ? "" : text.substr(open + 1, close - open - 1);
}

Requirement lockdown() {
  const std::string mode = lockdown_mode();
  Requirement need{"kernel lockdown", mode != "confidentiality", false, mode.empty() ? "not in use" : mode, {}};
  if (!need.met)
    need.remedy = "the kernel refuses to show its memory; boot with lockdown=integrity, or switch off Secure Boot";
  return need;
}

Requirement hook(const TracepointCatalogue* types, const std::string& tracepoint, bool optional, const char* without) {
  const int arity = types == nullptr ? -1 : types->arity(tracepoint);
  Requirement need{"hook " + tracepoint, arity >= 0, optional, {}, {}};
  need.found = need.met ? fmt::format("{} arguments", arity) : "not in this kernel";
  if (!need.met) need.remedy = without;
  return need;
}

Requirement control_groups() {
  constexpr long kCgroup2Magic = 0x63677270;
  struct statfs info {};
  for (const char* place : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
    if (::statfs(place, &info) == 0 && info.f_type == kCgroup2Magic) return {"cgroup2", true, true, place, {}};
  return {"cgroup2", false, true, "not mounted", "needed only to record a control group"};
}

void add_hooks(std::vector<Requirement>& needs, const TracepointCatalogue* types) {
  for (const char* name : {"sys_enter", "sys_exit", "sched_process_fork", "sched_process_exec", "sched_process_exit"})
    needs.push_back(hook(types, name, false, "nothing can be recorded without it: use a kernel of 5.11 or later"));
  needs.push_back(hook(types, "sched_switch", true, "the time calls were blocked is not recorded"));
  for (const char* name : {"block_bio_queue", "block_rq_issue", "block_rq_complete"})
    needs.push_back(hook(types, name, true, "the block layer is not recorded"));
  for (const char* name : {"ext4_unlink_enter", "xfs_iunlink", "btrfs_inode_evict"})
    needs.push_back(hook(types, name, true, "sizes of removed files there are known only if something looked at them"));
}

}  // namespace

std::vector<Requirement> survey_requirements() {
  std::vector<Requirement> needs{privileges(), type_information(), lockdown()};
  const auto catalogue = TracepointCatalogue::open();
  const TracepointCatalogue* types = catalogue ? catalogue->get() : nullptr;
  add_hooks(needs, types);
  const bool fast = types != nullptr && types->has_function("bpf_rdonly_cast");
  needs.push_back({"bpf_rdonly_cast", fast, true, fast ? "present" : "not in this kernel (before 6.2)",
                   fast ? "" : "recording costs the workload a little more"});
  needs.push_back(control_groups());
  return needs;
}

Result<void> check_requirements() {
  for (const Requirement& need : {privileges(), type_information(), lockdown()})
    if (!need.met)
      return failure(ErrorCode::kUnsupported,
                     fmt::format("cannot record: {} ({}); {}", need.name, need.found, need.remedy));
  return {};
}

Error explain_load_failure(int os_errno) {
  const std::string why = std::strerror(os_errno);
  return {ErrorCode::kUnsupported,
          fmt::format("the kernel refused the recorder's programs ({}); iotape doctor lists what is needed, and a "
                      "seccomp or container policy may forbid bpf(2)",
                      why),
          os_errno};
}

}  // namespace iotape
