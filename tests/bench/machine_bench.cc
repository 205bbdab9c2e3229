// How fast the simulated machine carries calls out, disk model included (target: 300,000 calls/s, and growth linear in
// calls): the replay itself, without reading the trace for the first time and without making the filesystem.
//   machine_bench [--benchmark_filter=...]      from the folder of the checkout, for traces/
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "replayer/engine/replay_session.h"
#include "replayer/experiment/call_writer.h"
#include "replayer/experiment/synthetic_workload.h"
#include "replayer/target/make_target.h"

namespace {

using namespace iotape;

template <typename Value>
Value must(Result<Value> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "machine_bench: %s\n", result.error().message.c_str());
  std::exit(1);
}
void must(const Result<void>& result) {
  if (result) return;
  std::fprintf(stderr, "machine_bench: %s\n", result.error().message.c_str());
  std::exit(1);
}

void replay_on(benchmark::State& state, const EventSourceOpener& open, const RootOptions& roots,
               const std::string& spec_text) {
  ReplaySession session(open, "the trace");
  must(session.survey(std::nullopt));
  must(session.choose(roots));
  const TargetSpec spec = must(parse_target_spec(spec_text));
  std::int64_t issued = 0;
  for (auto _ : state) {
    state.PauseTiming();
    std::unique_ptr<Target> target = must(make_target(spec, {}));
    must(target->prepare(session.tree().nodes));
    must(target->watch_requests());
    state.ResumeTiming();
    const ReplayReport report = must(session.replay(*target, {}, nullptr));
    must(target->finish(true));
    issued += static_cast<std::int64_t>(report.issued);
    state.PauseTiming();
    target.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(issued);
}

void untar(benchmark::State& state) {
  replay_on(state, open_trace_file("traces/untar.iotape"), {}, "ext3:,size=13G,disk=laptop-2002,memory=192M");
}
BENCHMARK(untar)->Unit(benchmark::kMillisecond);

constexpr const char* kManyFiles =
    "ext3:,size=8G,inodes=2M,inode_size=128,journal=32M,data=writeback,barrier=off,elevator=deadline,disk=laptop-2002,"
    "memory=256M";

void files_300k(benchmark::State& state) {
  replay_on(state, open_trace_file("traces/files300k.iotape"), {}, kManyFiles);
}
BENCHMARK(files_300k)->Unit(benchmark::kMillisecond);

// Once, twice and four times the calls.
void many_files(benchmark::State& state) {
  const auto workload = must(SyntheticWorkload::parse("manyfiles count=" + std::to_string(state.range(0))));
  replay_on(state, workload.open(), {{{std::string(kGeneratedRoot), "/"}}, false}, kManyFiles);
}
BENCHMARK(many_files)->Arg(150'000)->Arg(300'000)->Arg(600'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
