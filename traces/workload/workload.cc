#include "traces/workload/workload.h"

#include <CLI/CLI.hpp>
#include <chrono>

#include "format/base/units.h"

namespace iotape::workload {

const std::vector<WorkloadEntry>& all_workloads() {
  static const std::vector<WorkloadEntry> kWorkloads{
      {"tree", "a source tree: 13,035 files, 192 MB, log-normal sizes", "Orlov allocator on ext3, November 2002",
       make_tree_workload},
      {"files300k", "300,000 empty files in one directory, created and deleted",
       "ext3 htree against reiserfs, October 2002", make_many_files_workload},
      {"inodetest", "directories full of empty files, a tenth deleted as it goes",
       "nilfs2 inode allocation, October 2014", make_inode_workload},
      {"io", "writes one large file over and over (contest io_load)", "contest, December 2002", make_io_load},
      {"read", "reads one large file over and over (contest read_load)", "contest, December 2002", make_read_load},
      {"list", "lists a tree over and over, as ls -lRa (contest list_load)", "contest, December 2002", make_list_load},
      {"dd", "one file written in blocks, 500 MB in 1 MB blocks", "six filesystems compared, August 2004",
       make_dd_workload},
  };
  return kWorkloads;
}

CLI::Option* add_size_option(CLI::App& app, const std::string& name, std::uint64_t& value, const std::string& help) {
  const auto assign = [&value, name](const std::string& text) {
    const Result<std::uint64_t> parsed = parse_size(text);
    if (!parsed) throw CLI::ValidationError(name, parsed.error().message);
    value = *parsed;
  };
  return app.add_option_function<std::string>(name, assign, help)->type_name("SIZE");
}

Result<Phase> timed_phase(std::string name, const std::string& directory, const Work& work) {
  IOTAPE_ASSIGN(Worksite site, Worksite::open(directory));
  const auto begin = std::chrono::steady_clock::now();
  IOTAPE_TRY(work(site));
  const auto end = std::chrono::steady_clock::now();
  return Phase{std::move(name), std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count(),
               site.totals()};
}

}  // namespace iotape::workload
