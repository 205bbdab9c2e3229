// contest's list_load (P4, December 2002): ls -lRa of a tree, over and over.
#include <CLI/CLI.hpp>

#include "traces/workload/tree_workload.h"
#include "traces/workload/workload.h"

namespace iotape::workload {
namespace {

constexpr std::uint64_t kBlock = 1ULL << 16U;

class ListLoad : public Workload {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--files", shape_.files, "Files in the tree that is listed")->capture_default_str();
    add_size_option(app, "--bytes", shape_.bytes, "Size of all files together (default 16M)");
    app.add_option("--loops", loops_, "How often it is listed")->capture_default_str();
    app.add_flag("--existing", existing_, "List DIR as it is; do not make a tree in it");
    app.add_option("--seed", shape_.seed, "Names and sizes depend on it alone")->capture_default_str();
  }
  Result<std::vector<Phase>> run(const std::string& directory) override {
    std::vector<Phase> phases;
    if (!existing_) {
      IOTAPE_ASSIGN(Phase made, timed_phase("make", directory,
                                            [&](Worksite& site) { return make_tree(site, "", shape_, kBlock); }));
      phases.push_back(std::move(made));
    }
    for (std::uint64_t i = 0; i < loops_; ++i) {
      IOTAPE_ASSIGN(Phase listed,
                    timed_phase("list", directory, [](Worksite& site) { return site.list_recursively("."); }));
      phases.push_back(std::move(listed));
    }
    return phases;
  }

 private:
  TreeShape shape_{.files = 2000, .bytes = 16ULL << 20U};
  std::uint64_t loops_ = 5;
  bool existing_ = false;
};

}  // namespace

std::unique_ptr<Workload> make_list_load() { return std::make_unique<ListLoad>(); }

}  // namespace iotape::workload
