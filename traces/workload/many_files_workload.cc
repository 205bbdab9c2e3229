// P2 of October 2002: N empty files named %08X in one directory, then all of them deleted.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

#include "format/base/random.h"
#include "traces/workload/workload.h"

namespace iotape::workload {
namespace {

// The directory files are made in first when they are to be renamed into place.
constexpr const char* kStaging = "incoming";

std::string name_of(std::uint64_t number) { return fmt::format("{:08X}", number); }

class ManyFilesWorkload : public Workload {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("--files", files_, "How many files")->capture_default_str();
    app.add_option("--phase", phase_, "create, delete or both")
        ->capture_default_str()
        ->check(CLI::IsMember({"create", "delete", "both"}));
    app.add_option("--create-order", create_order_, "creation (by name) or random")
        ->capture_default_str()
        ->check(CLI::IsMember({"creation", "random"}));
    app.add_option("--delete-order", delete_order_, "creation (as they were made), readdir or random")
        ->capture_default_str()
        ->check(CLI::IsMember({"creation", "readdir", "random"}));
    app.add_flag("--rename", rename_, "Make each file in a temporary directory and rename it into place");
    app.add_option("--seed", seed_, "Random orders depend on it alone")->capture_default_str();
  }

  Result<std::vector<Phase>> run(const std::string& directory) override {
    std::vector<Phase> phases;
    if (phase_ != "delete") {
      IOTAPE_ASSIGN(Phase created, timed_phase("create", directory, [&](Worksite& site) { return create(site); }));
      phases.push_back(std::move(created));
    }
    if (phase_ != "create") {
      IOTAPE_ASSIGN(Phase deleted, timed_phase("delete", directory, [&](Worksite& site) { return remove(site); }));
      phases.push_back(std::move(deleted));
    }
    return phases;
  }

 private:
  [[nodiscard]] std::vector<std::uint64_t> numbers(bool shuffled, std::uint64_t salt) const {
    std::vector<std::uint64_t> all(files_);
    std::iota(all.begin(), all.end(), std::uint64_t{0});
    if (shuffled) Random(seed_ + salt).shuffle(all);
    return all;
  }
  [[nodiscard]] std::vector<std::uint64_t> creation_order() const { return numbers(create_order_ == "random", 0); }

  Result<void> create(Worksite& site) const {
    if (rename_) IOTAPE_TRY(site.make_directory(kStaging));
    for (const std::uint64_t number : creation_order()) {
      const std::string name = name_of(number);
      if (!rename_) {
        IOTAPE_TRY(site.make_empty_file(name));
        continue;
      }
      const std::string staged = std::string(kStaging) + "/" + name;
      IOTAPE_TRY(site.make_empty_file(staged));
      IOTAPE_TRY(site.rename(staged, name));
    }
    return rename_ ? site.remove_directory(kStaging) : Result<void>{};
  }

  Result<void> remove(Worksite& site) const {
    if (delete_order_ == "readdir") return remove_as_listed(site);
    for (const std::uint64_t number : delete_order_ == "creation" ? creation_order() : numbers(true, 1))
      IOTAPE_TRY(site.unlink(name_of(number)));
    return {};
  }

  // As rm -r does: the whole directory is read first, its order kept. Names that are not ours stay.
  Result<void> remove_as_listed(Worksite& site) const {
    IOTAPE_ASSIGN(const std::vector<std::string> names, site.list("."));
    for (const std::string& name : names)
      if (is_ours(name)) IOTAPE_TRY(site.unlink(name));
    return {};
  }
  [[nodiscard]] bool is_ours(const std::string& name) const {
    return name.size() >= 8 && name.find_first_not_of("0123456789ABCDEF") == std::string::npos &&
           (name.size() < name_of(files_).size() || (name.size() == name_of(files_).size() && name < name_of(files_)));
  }

  std::uint64_t files_ = 300'000;
  std::string phase_ = "both";
  std::string create_order_ = "creation";
  std::string delete_order_ = "creation";
  bool rename_ = false;
  std::uint64_t seed_ = 2002;
};

}  // namespace

std::unique_ptr<Workload> make_many_files_workload() { return std::make_unique<ManyFilesWorkload>(); }

}  // namespace iotape::workload
