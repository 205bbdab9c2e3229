// CPU time per operation of the built-in ext3 in memory, through the path layer: N empty files in one directory,
// half-MD4, 256-byte inodes, 64 MB journal. Creation and removal include an unmount each, so every journal block and
// every checkpoint is really written.
#include <benchmark/benchmark.h>

#include <ctime>

#include "tests/bench/ext3_disk.h"

namespace iotape::ext3 {
namespace {

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void files_in_one_directory(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto paths = names_in_one_directory(count);
  double creating = 0;
  double looking = 0;
  double removing = 0;
  for (auto _ : state) {
    Disk disk(static_cast<std::uint32_t>(state.range(1)));
    disk.mount();
    disk.create("/d", 0040755);
    double start = cpu_seconds();
    for (const std::string& path : paths) disk.create(path, 0100644);
    disk.unmount();
    creating += cpu_seconds() - start;
    disk.mount();
    for (const std::string& path : paths) disk.stat(path);
    start = cpu_seconds();
    for (const std::string& path : paths) disk.stat(path);
    looking += cpu_seconds() - start;
    start = cpu_seconds();
    for (const std::string& path : paths) disk.unlink(path);
    disk.unmount();
    removing += cpu_seconds() - start;
    if (!disk.good()) state.SkipWithError("the filesystem refused");
  }
  const double operations = static_cast<double>(count) * static_cast<double>(state.iterations());
  state.counters["create_us"] = creating / operations * 1e6;
  state.counters["stat_us"] = looking / operations * 1e6;
  state.counters["unlink_us"] = removing / operations * 1e6;
}
BENCHMARK(files_in_one_directory)
    ->Args({10'000, 16384})
    ->Args({100'000, 16384})
    ->Args({300'000, 16384})
    ->Args({1'000'000, 16384})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Repetitions(3)
    ->ReportAggregatesOnly();

}  // namespace
}  // namespace iotape::ext3

BENCHMARK_MAIN();
