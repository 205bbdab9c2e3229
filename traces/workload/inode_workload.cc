// P3 of October 2014: many directories of empty files, a part of them deleted as it goes. The published run is
// --top 1000 --directories 1000 --files 20 --delete 100, once and as three processes at the same time.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <numeric>

#include "format/base/random.h"
#include "traces/workload/processes.h"
#include "traces/workload/workload.h"

namespace iotape::workload {
namespace {

class InodeWorkload : public Workload {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--top", top_, "Top directories")->capture_default_str();
    app.add_option("--directories", directories_, "Directories in each of them")->capture_default_str();
    app.add_option("--files", files_, "Empty files in each directory")->capture_default_str();
    app.add_option("--delete", delete_, "Directories of each top directory that lose their files once it is full")
        ->capture_default_str();
    app.add_option("--processes", processes_, "Processes doing this at once, each in a directory of its own")
        ->capture_default_str()
        ->check(CLI::Range(1, 1024));
    app.add_option("--seed", seed_, "Which directories lose their files")->capture_default_str();
  }

  Result<std::vector<Phase>> run(const std::string& directory) override {
    if (delete_ > directories_)
      return failure(ErrorCode::kUsage,
                     fmt::format("--delete {} is more than the {} directories there are", delete_, directories_));
    IOTAPE_ASSIGN(Phase made, timed_phase("make", directory, [&](Worksite& site) { return make(site, directory); }));
    return std::vector<Phase>{std::move(made)};
  }

 private:
  Result<void> make(Worksite& site, const std::string& directory) {
    if (processes_ == 1) return fill(site, seed_);
    const auto one_process = [&](unsigned index) -> Result<Totals> {
      IOTAPE_ASSIGN(Worksite own, Worksite::open(fmt::format("{}/process{}", directory, index)));
      IOTAPE_TRY(fill(own, seed_ + index));
      return own.totals();
    };
    IOTAPE_ASSIGN(const Totals totals, run_in_processes(processes_, one_process));
    site.add(totals);
    return {};
  }

  Result<void> fill(Worksite& site, std::uint64_t seed) const {
    Random random(seed);
    for (std::uint64_t top = 0; top < top_; ++top) {
      const std::string name = fmt::format("top{}", top);
      IOTAPE_TRY(site.make_directory(name));
      for (std::uint64_t i = 0; i < directories_; ++i)
        IOTAPE_TRY(fill_directory(site, fmt::format("{}/dir{}", name, i)));
      IOTAPE_TRY(empty_some(site, name, random));
    }
    return {};
  }
  Result<void> fill_directory(Worksite& site, const std::string& name) const {
    IOTAPE_TRY(site.make_directory(name));
    for (std::uint64_t i = 0; i < files_; ++i) IOTAPE_TRY(site.make_empty_file(fmt::format("{}/file{}", name, i)));
    return {};
  }
  Result<void> empty_some(Worksite& site, const std::string& name, Random& random) const {
    std::vector<std::uint64_t> order(directories_);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    random.shuffle(order);
    for (std::uint64_t i = 0; i < delete_; ++i)
      for (std::uint64_t file = 0; file < files_; ++file)
        IOTAPE_TRY(site.unlink(fmt::format("{}/dir{}/file{}", name, order[i], file)));
    return {};
  }

  std::uint64_t top_ = 20;
  std::uint64_t directories_ = 100;
  std::uint64_t files_ = 20;
  std::uint64_t delete_ = 10;
  unsigned processes_ = 1;
  std::uint64_t seed_ = 2014;
};

}  // namespace

std::unique_ptr<Workload> make_inode_workload() { return std::make_unique<InodeWorkload>(); }

}  // namespace iotape::workload
