// The distance and histogram loop (target: 20 M requests/s), the disk model, the whole analysis from BlockRequests in
// memory, and from a compressed trace file to the report (target: 5 M requests/s).
#include <benchmark/benchmark.h>
#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "analysis/disk/profile_parser.h"
#include "analysis/disk_estimate.h"
#include "analysis/seek_run.h"
#include "format/trace_writer.h"

namespace {

using namespace iotape;

std::vector<HeadAccess> accesses(std::size_t count) {
  std::mt19937_64 random(1);
  std::vector<HeadAccess> made(count);
  std::int64_t sector = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (random() % 3 == 0) sector = static_cast<std::int64_t>(random() % (1ULL << 33U)) & ~7LL;
    made[i] = {Nanoseconds(static_cast<std::int64_t>(i) * 1000),
               Sectors(sector),
               4096,
               DeviceId::of(8, 0),
               random() % 2 == 0 ? AccessClass::kRead : AccessClass::kWrite,
               0};
    sector += 8;
  }
  return made;
}

BlockRequest request_of(const HeadAccess& access) {
  BlockRequest request;
  request.device = request.partition = access.device;
  request.operation = access.kind == AccessClass::kRead ? BlockOperation::kRead : BlockOperation::kWrite;
  request.sector = access.start;
  request.bytes = access.bytes;
  request.issue = access.time;
  request.complete = access.time + Nanoseconds(90'000 + access.start.value % 50'000);
  return request;
}

void distance_and_histogram(benchmark::State& state) {
  const auto input = accesses(1'000'000);
  for (auto _ : state) {
    SeekDistance head;
    SeekStatistics statistics;
    for (const HeadAccess& access : input)
      statistics.add(access, head.advance(access.start.value, access.bytes / kSectorBytes), kDefaultThresholdSectors);
    benchmark::DoNotOptimize(statistics.total_distance);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(input.size()));
}
BENCHMARK(distance_and_histogram)->Unit(benchmark::kMillisecond);

// The disk model alone (target: 10 M requests/s).
void disk_estimate(benchmark::State& state) {
  const auto input = accesses(1'000'000);
  const char* names[] = {"laptop-2002", "desktop-7200", "scsi-10k", "hdd-8tb", "ssd"};
  const DiskModel disk(*load_disk_profile(names[state.range(0)]));
  state.SetLabel(names[state.range(0)]);
  for (auto _ : state) {
    DiskEstimate estimate(disk);
    for (const HeadAccess& access : input) estimate.add(access);
    estimate.finish();
    benchmark::DoNotOptimize(estimate.all().total());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(input.size()));
}
BENCHMARK(disk_estimate)->DenseRange(0, 4)->Unit(benchmark::kMillisecond);

void requests_to_report(benchmark::State& state) {
  std::vector<EventBody> events;
  for (const HeadAccess& access : accesses(1'000'000)) events.emplace_back(request_of(access));
  for (auto _ : state) {
    SeekAnalysis analysis({});
    for (const EventBody& event : events) analysis.add(event);
    benchmark::DoNotOptimize(analysis.finish("bench"));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(events.size()));
}
BENCHMARK(requests_to_report)->Unit(benchmark::kMillisecond);

void trace_file_to_report(benchmark::State& state) {
  std::string path = "/tmp/iotape-seek-bench-XXXXXX";
  const int fd = ::mkstemp(path.data());
  TraceHeader header;
  header.has_block = true;
  auto writer = TraceWriter::create(FileDescriptor(fd), header, {});
  const auto input = accesses(2'000'000);
  for (const HeadAccess& access : input)
    if (!writer || !(*writer)->append(request_of(access))) return state.SkipWithError("cannot write the trace");
  if (!(*writer)->finish({})) return state.SkipWithError("cannot finish the trace");
  for (auto _ : state) {
    const auto report = analyse_seeks(path, {}, {});
    if (!report || report->total.requests != input.size()) state.SkipWithError("wrong answer");
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(input.size()));
  std::remove(path.c_str());
}
BENCHMARK(trace_file_to_report)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
