// How fast a trace is written and read. One core.
//   trace_codec_bench TRACE   encodes and decodes the events of that file (e.g. the recording of an untar), in memory
//   trace_codec_bench         the same on a made-up untar
//   trace_codec_bench --large writes and reads 100 million events with 10 million names and 1,000 processes, and prints
//                             the peak memory
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <chrono>
#include <cstring>

#include "format/trace_reader.h"
#include "format/trace_writer.h"

namespace {

using namespace iotape;  // NOLINT: a program of its own

struct Sample {
  std::vector<EventBody> events;
  std::size_t counted = 0;  // calls and requests
};

Syscall make_call(std::uint32_t number, std::int64_t time, std::uint32_t process, Operation operation) {
  Syscall call;
  call.thread = {ProcessId(static_cast<std::int32_t>(1000 + process)),
                 ThreadId(static_cast<std::int32_t>(1000 + process))};
  call.number = number;
  call.start = Nanoseconds(time);
  call.duration = Nanoseconds(500 + time % 1700);
  call.operation = std::move(operation);
  return call;
}

// Event i of an endless untar: five calls a file.
Syscall untar_call(std::uint64_t i, std::uint32_t processes, std::uint64_t names) {
  const std::uint64_t file = i / 5;
  const FileReference folder{{DeviceId::of(7, 0), 1, InodeNumber(2), 0}, FileKind::kDirectory};
  const FileReference reference{
      {DeviceId::of(7, 0), static_cast<std::uint32_t>(file * 2654435761U), InodeNumber(20 + file), 0},
      FileKind::kRegular};
  const auto process = static_cast<std::uint32_t>(file % processes);
  const auto time = static_cast<std::int64_t>(i * 4000 + (i * 7919) % 1500);
  const std::string name = fmt::format("tree/dir{:04}/file{:08x}.c", file / 100 % 1000, file % names * 2654435761U);
  switch (i % 5) {
    case 0:
      return make_call(257, time, process,
                       Open{{TextState::kPresent, name, {kAtCurrentDirectory, folder}}, 01101, 0600, 0, reference});
    case 1: {
      Syscall write =
          make_call(1, time, process, Write{{4, reference}, static_cast<std::int64_t>(file % 9000), {0}, {}, 0, 0, 0});
      write.outcome.value = static_cast<std::int64_t>(file % 9000);
      return write;
    }
    case 2:
      return make_call(280, time, process,
                       SetTimes{{TextState::kNull, "", {4, reference}}, false, {0, 0x3FFFFFFF}, {1100000000, 0}, 0});
    case 3:
      return make_call(91, time, process, ChangeModeDescriptor{{4, reference}, 0644});
    default:
      return make_call(3, time, process, Close{{4, reference}});
  }
}

Sample load(const char* path) {
  Sample sample;
  auto reader = TraceReader::open(path);
  if (!reader) throw std::runtime_error(reader.error().message);
  for (auto event = (*reader)->next(); event && *event != nullptr; event = (*reader)->next())
    sample.events.push_back(std::move((*event)->body));
  return sample;
}

Sample made_up() {
  constexpr std::uint64_t kEvents = 500'000;
  Sample sample;
  for (std::uint64_t i = 0; i < kEvents; ++i) sample.events.emplace_back(untar_call(i, 1, kEvents));
  return sample;
}

FileDescriptor memory_file() { return FileDescriptor(::memfd_create("trace", MFD_CLOEXEC)); }

std::size_t write_trace(std::vector<EventBody>& events, FileDescriptor file) {
  auto writer = TraceWriter::create(std::move(file), {}, {});
  for (EventBody& event : events)
    if (!(*writer)->append(std::move(event))) throw std::runtime_error("append");
  if (!(*writer)->finish({})) throw std::runtime_error("finish");
  return (*writer)->bytes_written();
}

void encode(benchmark::State& state, const Sample& sample) {
  std::size_t bytes = 0;
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();  // making and discarding the events is the recorder's work, not the writer's
    FileDescriptor file(::open("/dev/null", O_WRONLY));
    std::vector<EventBody> events = sample.events;
    state.ResumeTiming();
    bytes = write_trace(events, std::move(file));
    state.PauseTiming();
    events.clear();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * sample.counted));
  state.counters["bytes_per_event"] = static_cast<double>(bytes) / static_cast<double>(sample.counted);
}

void decode(benchmark::State& state, const Sample& sample) {
  FileDescriptor file = memory_file();
  std::vector<EventBody> copy = sample.events;
  write_trace(copy, FileDescriptor(::dup(file.get())));
  std::size_t events = 0;
  for ([[maybe_unused]] auto _ : state) {
    ::lseek(file.get(), 0, SEEK_SET);
    auto reader = TraceReader::open(FileDescriptor(::dup(file.get())), "memory");
    for (auto event = (*reader)->next(); event && *event != nullptr; event = (*reader)->next()) ++events;
  }
  benchmark::DoNotOptimize(events);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * sample.counted));
}

long peak_mebibytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

int large() {
  constexpr std::uint64_t kEvents = 100'000'000;
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  FileDescriptor file(::open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  auto writer = TraceWriter::create(FileDescriptor(::dup(file.get())), {}, {});
  for (std::uint64_t i = 0; i < kEvents; ++i)
    if (!(*writer)->append(untar_call(i, 1000, 10'000'000))) return 1;
  if (!(*writer)->finish({})) return 1;
  const auto written = Clock::now();
  fmt::print("written: {:.0f} s, {} MiB of file, peak memory {} MiB\n",
             std::chrono::duration<double>(written - begin).count(), (*writer)->bytes_written() >> 20U,
             peak_mebibytes());
  ::lseek(file.get(), 0, SEEK_SET);
  auto reader = TraceReader::open(FileDescriptor(::dup(file.get())), "large");
  std::uint64_t events = 0;
  for (auto event = (*reader)->next(); event && *event != nullptr; event = (*reader)->next()) ++events;
  fmt::print("read: {:.0f} s, {} events, peak memory {} MiB\n",
             std::chrono::duration<double>(Clock::now() - written).count(), events, peak_mebibytes());
  constexpr long kLimit = 200;
  return events == kEvents && peak_mebibytes() < kLimit ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--large") == 0) return large();
  Sample sample = argc > 1 && argv[1][0] != '-' ? load(argv[1]) : made_up();
  for (const EventBody& event : sample.events)
    sample.counted += std::holds_alternative<Syscall>(event) || std::holds_alternative<BlockRequest>(event) ? 1 : 0;
  fmt::print("{} calls and requests\n", sample.counted);
  benchmark::RegisterBenchmark("encode", encode, sample);
  benchmark::RegisterBenchmark("decode", decode, sample);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
