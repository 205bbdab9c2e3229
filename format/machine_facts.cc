#include "format/machine_facts.h"

#include <sys/random.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <algorithm>
#include <ctime>
#include <string>

namespace iotape {
namespace {

Nanoseconds clock_time(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return Nanoseconds(time.tv_sec * 1'000'000'000 + time.tv_nsec);
}

// "6.18.44-fc-v669" -> "6.18": enough to read a trace by, nothing of the machine.
std::string kernel_series() {
  utsname name{};
  if (::uname(&name) != 0) return {};
  const std::string release = name.release;
  const std::size_t second_dot = release.find('.', release.find('.') + 1);
  return release.substr(0, std::min(second_dot, release.find('-')));
}

}  // namespace

void describe_machine(TraceHeader& header) {
  header.cpus = static_cast<std::uint32_t>(::get_nprocs());
  struct sysinfo machine {};
  if (::sysinfo(&machine) == 0) header.memory_bytes = std::uint64_t{machine.totalram} * machine.mem_unit;
  header.kernel = kernel_series();
}

Nanoseconds boot_time() { return clock_time(CLOCK_BOOTTIME); }

TraceHeader header_of_now() {
  TraceHeader header;
  header.tool_version = IOTAPE_VERSION;
  if (::getrandom(header.trace_id.data(), header.trace_id.size(), 0) < 0) header.trace_id = {};
  header.clock = ClockKind::kBootTime;
  header.anchor_time = boot_time();
  header.anchor_wall_ns = clock_time(CLOCK_REALTIME).value;
  describe_machine(header);
  return header;
}

}  // namespace iotape
