// Workloads on one large file: dd (P5, August 2004) and contest's io_load and read_load (P4, December 2002).
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>

#include "traces/workload/content.h"
#include "traces/workload/workload.h"

namespace iotape::workload {
namespace {

struct Stream {
  std::uint64_t bytes = 0;
  std::uint64_t block = 1ULL << 20U;
  std::string fill = "random";
  std::string sync = "none";
  std::uint64_t seed = 2002;
};

void add_stream_options(CLI::App& app, Stream& stream, const std::string& size_help) {
  add_size_option(app, "--bytes", stream.bytes, size_help);
  add_size_option(app, "--block", stream.block, "Bytes per call (default 1M)");
  app.add_option("--fill", stream.fill, "random or zero")
      ->capture_default_str()
      ->check(CLI::IsMember({"random", "zero"}));
  app.add_option("--seed", stream.seed, "Random bytes depend on it alone")->capture_default_str();
}

Result<void> check(const Stream& stream) {
  constexpr std::uint64_t kLargestBlock = 1ULL << 30U;
  if (stream.block == 0 || stream.block > kLargestBlock)
    return failure(ErrorCode::kUsage, "--block must be between 1 and 1G");
  return {};
}

Result<void> write_stream(Worksite& site, const std::string& name, const Stream& stream) {
  IOTAPE_ASSIGN(const FileDescriptor file, site.open_for_writing(name, stream.sync == "dsync" ? O_DSYNC : 0));
  BlockSource source(stream.fill == "zero" ? Fill::kZero : Fill::kRandom, stream.block, stream.seed);
  for (std::uint64_t done = 0; done < stream.bytes; done += stream.block)
    IOTAPE_TRY(site.write_all(file, name, source.next().substr(0, stream.bytes - done)));
  if (stream.sync == "fsync" && ::fsync(file.get()) != 0)
    return system_failure("cannot fsync " + site.path() + "/" + name, errno);
  return {};
}

class DdWorkload : public Workload {
 public:
  void add_options(CLI::App& app) override {
    add_stream_options(app, stream_, "Size of the file (default 500M)");
    app.add_option("--sync", stream_.sync, "none, fsync (once at the end) or dsync (every write)")
        ->capture_default_str()
        ->check(CLI::IsMember({"none", "fsync", "dsync"}));
  }
  Result<std::vector<Phase>> run(const std::string& directory) override {
    IOTAPE_TRY(check(stream_));
    IOTAPE_ASSIGN(Phase written, timed_phase("write", directory,
                                             [&](Worksite& site) { return write_stream(site, "dd.data", stream_); }));
    return std::vector<Phase>{std::move(written)};
  }

 private:
  Stream stream_{.bytes = 500ULL << 20U};
};

class IoLoad : public Workload {
 public:
  void add_options(CLI::App& app) override {
    add_stream_options(app, stream_, "Size of the file; contest takes the size of memory (default 256M)");
    app.add_option("--loops", loops_, "How often it is written")->capture_default_str();
  }
  Result<std::vector<Phase>> run(const std::string& directory) override {
    IOTAPE_TRY(check(stream_));
    std::vector<Phase> phases;
    for (std::uint64_t i = 0; i < loops_; ++i) {
      IOTAPE_ASSIGN(Phase written, timed_phase("write", directory,
                                               [&](Worksite& site) { return write_stream(site, "io.data", stream_); }));
      phases.push_back(std::move(written));
    }
    return phases;
  }

 private:
  Stream stream_{.bytes = 256ULL << 20U};
  std::uint64_t loops_ = 3;
};

class ReadLoad : public Workload {
 public:
  void add_options(CLI::App& app) override {
    add_stream_options(app, stream_, "Size of the file; contest takes the size of memory (default 256M)");
    app.add_option("--loops", loops_, "How often it is read")->capture_default_str();
    app.add_flag("--existing", existing_, "Read DIR/read.data as it is; do not make it");
  }
  Result<std::vector<Phase>> run(const std::string& directory) override {
    IOTAPE_TRY(check(stream_));
    std::vector<Phase> phases;
    if (!existing_) {
      IOTAPE_ASSIGN(Phase made, timed_phase("make", directory,
                                            [&](Worksite& site) { return write_stream(site, "read.data", stream_); }));
      phases.push_back(std::move(made));
    }
    for (std::uint64_t i = 0; i < loops_; ++i) {
      IOTAPE_ASSIGN(Phase read, timed_phase("read", directory, [&](Worksite& site) {
                      return site.read_file("read.data", stream_.block);
                    }));
      phases.push_back(std::move(read));
    }
    return phases;
  }

 private:
  Stream stream_{.bytes = 256ULL << 20U};
  std::uint64_t loops_ = 3;
  bool existing_ = false;
};

}  // namespace

std::unique_ptr<Workload> make_dd_workload() { return std::make_unique<DdWorkload>(); }
std::unique_ptr<Workload> make_io_load() { return std::make_unique<IoLoad>(); }
std::unique_ptr<Workload> make_read_load() { return std::make_unique<ReadLoad>(); }

}  // namespace iotape::workload
