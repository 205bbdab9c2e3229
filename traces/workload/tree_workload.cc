#include "traces/workload/tree_workload.h"

#include <CLI/CLI.hpp>

#include "format/base/random.h"
#include "traces/workload/content.h"
#include "traces/workload/workload.h"

namespace iotape::workload {
namespace {

constexpr std::uint64_t kTarBlock = 10'240;  // tar writes what it unpacks in pieces of this size

class TreeWorkload : public Workload {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--files", shape_.files, "How many files")->capture_default_str();
    add_size_option(app, "--bytes", shape_.bytes, "Size of all files together (default 192M)");
    add_size_option(app, "--block", block_, "Bytes per write (default 10240, as tar)");
    app.add_flag("--times", times_, "Give every file a modification time of its own, between 1994 and 2002");
    app.add_option("--seed", shape_.seed, "Names and sizes depend on it alone")->capture_default_str();
  }
  Result<std::vector<Phase>> run(const std::string& directory) override {
    if (block_ == 0) return failure(ErrorCode::kUsage, "--block must be at least 1");
    IOTAPE_ASSIGN(Phase made, timed_phase("make", directory, [&](Worksite& site) { return make(site); }));
    return std::vector<Phase>{std::move(made)};
  }

 private:
  Result<void> make(Worksite& site) const {
    IOTAPE_TRY(make_tree(site, "", shape_, block_));
    return times_ ? set_times(site) : Result<void>{};
  }
  [[nodiscard]] Result<void> set_times(Worksite& site) const {
    constexpr std::int64_t kEarliest = 763'344'000;  // 1994-03-11
    constexpr std::uint64_t kSpan = 273'000'000;     // up to November 2002
    Random random(shape_.seed + 1);
    for (const TreeEntry& entry : plan_tree(shape_))
      if (!entry.is_directory)
        IOTAPE_TRY(site.set_modification_time(entry.path, kEarliest + static_cast<std::int64_t>(random.below(kSpan))));
    return {};
  }

  TreeShape shape_;
  bool times_ = false;
  std::uint64_t block_ = kTarBlock;
};

}  // namespace

Result<void> make_tree(Worksite& site, const std::string& below, const TreeShape& shape, std::uint64_t block) {
  if (!below.empty()) IOTAPE_TRY(site.make_directory(below));
  SourceText text(shape.seed);
  std::uint64_t at = 0;
  for (const TreeEntry& entry : plan_tree(shape)) {
    const std::string path = below.empty() ? entry.path : below + "/" + entry.path;
    if (entry.is_directory) {
      IOTAPE_TRY(site.make_directory(path));
      continue;
    }
    IOTAPE_TRY(site.make_file(path, text.window(at, entry.size), block));
    at += entry.size;
  }
  return {};
}

std::unique_ptr<Workload> make_tree_workload() { return std::make_unique<TreeWorkload>(); }

}  // namespace iotape::workload
