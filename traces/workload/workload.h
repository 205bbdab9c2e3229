// Workload: one of the classic workloads, with its options and what it does.
//
// Deterministic: the same options and seed issue the same calls with the same names and sizes on every machine. (What a
// filesystem decides itself, such as the order of a directory, is the exception and the point.)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/base/result.h"
#include "traces/workload/worksite.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace iotape::workload {

// Part of a run that has a time of its own, e.g. create and delete.
struct Phase {
  std::string name;
  std::int64_t nanoseconds = 0;
  Totals totals;
};

class Workload {
 public:
  Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  virtual ~Workload() = default;

  // Declares the workload's own options; they are kept in the object.
  virtual void add_options(CLI::App& app) = 0;
  // Does the work. Phases are told in order.
  virtual Result<std::vector<Phase>> run(const std::string& directory) = 0;
};

struct WorkloadEntry {
  std::string_view name;
  std::string_view summary;  // one line
  std::string_view origin;   // where the workload was published
  std::unique_ptr<Workload> (*make)();
};

// Every workload, in the order of --list.
[[nodiscard]] const std::vector<WorkloadEntry>& all_workloads();

std::unique_ptr<Workload> make_tree_workload();
std::unique_ptr<Workload> make_many_files_workload();
std::unique_ptr<Workload> make_inode_workload();
std::unique_ptr<Workload> make_io_load();
std::unique_ptr<Workload> make_read_load();
std::unique_ptr<Workload> make_list_load();
std::unique_ptr<Workload> make_dd_workload();

// --NAME SIZE, with K, M, G = 1024.
CLI::Option* add_size_option(CLI::App& app, const std::string& name, std::uint64_t& value, const std::string& help);

using Work = std::function<Result<void>(Worksite&)>;
// Opens the directory, does the work there, and tells what was done and how long it took.
Result<Phase> timed_phase(std::string name, const std::string& directory, const Work& work);

}  // namespace iotape::workload
