// CPU time per operation of the built-in ext3 in memory, through the path layer: N empty files in one directory,
// half-MD4, 256-byte inodes, 64 MB journal. Creation and removal include an unmount each, so every journal block and
// every checkpoint is really written.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "replayer/ext3/device/memory_device.h"
#include "replayer/ext3/make_filesystem.h"
#include "replayer/ext3/mount.h"
#include "replayer/ext3/operations/namespace_operations.h"
#include "replayer/ext3/path/path_walk.h"
#include "replayer/ext3/thread_host.h"

namespace iotape::ext3 {
namespace {

constexpr std::uint64_t kDeviceBytes = std::uint64_t{8} << 30U;

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class Disk {
 public:
  explicit Disk(std::uint32_t journal_blocks) : device_(kDeviceBytes) {
    FilesystemOptions options;
    options.journal_blocks = journal_blocks;
    options.bytes_per_inode = 4096;
    options.seed = 1;
    good_ = make_filesystem(device_, options).has_value();
  }
  [[nodiscard]] bool good() const { return good_; }

  void mount() {
    MountOptions options;
    options.cache_bytes = std::size_t{1} << 30U;
    auto mounted = mount_volume(host_, device_, options);
    good_ = mounted.has_value();
    if (good_) volume_ = std::move(*mounted);
    const HostEntry inside(host_);
    auto root = volume_->inodes->get(kRootInode);
    good_ = good_ && root;
    if (good_) start_ = {*root, *root};
  }
  void unmount() {
    {
      const HostEntry inside(host_);
      start_ = {};
    }
    good_ = good_ && unmount_volume(*volume_);
    const HostEntry inside(host_);
    volume_.reset();
  }
  void create(const std::string& path, std::uint32_t mode) {
    const HostEntry inside(host_);
    const auto end = walk_path(*volume_, start_, path, LastSymlink::kKeep, credentials_);
    good_ = good_ && end && create_node(*volume_, *end->directory, end->name, {mode, 0, {}}, {});
  }
  void unlink(const std::string& path) {
    const HostEntry inside(host_);
    const auto end = walk_path(*volume_, start_, path, LastSymlink::kKeep, credentials_);
    good_ = good_ && end && unlink_name(*volume_, *end->directory, end->name);
  }
  void stat(const std::string& path) {
    const HostEntry inside(host_);
    const auto inode = find_path(*volume_, start_, path, LastSymlink::kFollow, credentials_);
    good_ = good_ && inode;
    if (inode) benchmark::DoNotOptimize((*inode)->size);
  }
  void tend() {
    const HostEntry inside(host_);
    good_ = good_ && tend_volume(*volume_);
  }

 private:
  ThreadHost host_;
  MemoryDevice device_;
  std::unique_ptr<Volume> volume_;
  WalkStart start_;
  Credentials credentials_;
  bool good_ = false;
};

void files_in_one_directory(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < count; ++i) paths.push_back(fmt::format("/d/{:08x}", i * 2654435761U & 0xFFFFFFFFU));
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
