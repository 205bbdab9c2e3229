#include "traces/workload/tree_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <unordered_set>

#include "format/base/random.h"

namespace iotape::workload {
namespace {

enum class Language : std::uint8_t { kMixed, kHeaders, kText, kAssembly };

struct TopDirectory {
  std::string_view name;
  std::uint64_t share;  // of a thousand files
  Language language;
};
constexpr std::array<TopDirectory, 16> kTopDirectories{{{"Documentation", 52, Language::kText},
                                                        {"arch", 226, Language::kAssembly},
                                                        {"crypto", 3, Language::kMixed},
                                                        {"drivers", 298, Language::kMixed},
                                                        {"fs", 72, Language::kMixed},
                                                        {"include", 228, Language::kHeaders},
                                                        {"init", 2, Language::kMixed},
                                                        {"ipc", 2, Language::kMixed},
                                                        {"kernel", 5, Language::kMixed},
                                                        {"lib", 4, Language::kMixed},
                                                        {"mm", 4, Language::kMixed},
                                                        {"net", 56, Language::kMixed},
                                                        {"scripts", 6, Language::kMixed},
                                                        {"security", 2, Language::kMixed},
                                                        {"sound", 39, Language::kMixed},
                                                        {"usr", 1, Language::kMixed}}};

constexpr std::uint64_t kFilesPerDirectory = 16;
constexpr int kDeepest = 6;
// Of a log-normal distribution: the mean is about 2.3 times the median, as in source trees.
constexpr double kSizeDeviation = 1.3;

constexpr std::array<std::string_view, 24> kHeads{"ac", "bl",  "char", "dev", "eth", "fb",  "gen", "hw",
                                                  "io", "isa", "kb",   "lp",  "mem", "net", "old", "pci",
                                                  "qu", "rt",  "scsi", "tty", "usb", "vid", "xd",  "zor"};
constexpr std::array<std::string_view, 24> kTails{"core", "ctl",   "dma",  "ent",  "flow", "gate", "host", "info",
                                                  "join", "key",   "link", "map",  "node", "ops",  "port", "queue",
                                                  "reg",  "setup", "time", "util", "vec",  "wait", "xfer", "zone"};

struct Ending {
  std::string_view text;
  std::uint64_t share;  // of a hundred
};
constexpr std::array<Ending, 4> kMixedEndings{{{".c", 62}, {".h", 33}, {".S", 1}, {".txt", 4}}};
constexpr std::array<Ending, 4> kHeaderEndings{{{".h", 98}, {".c", 1}, {".S", 0}, {".txt", 1}}};
constexpr std::array<Ending, 4> kTextEndings{{{".txt", 70}, {"", 24}, {".tmpl", 5}, {".c", 1}}};
constexpr std::array<Ending, 4> kAssemblyEndings{{{".c", 68}, {".S", 15}, {".h", 14}, {".ld", 3}}};

std::span<const Ending> endings_of(Language language) {
  switch (language) {
    case Language::kMixed:
      return kMixedEndings;
    case Language::kHeaders:
      return kHeaderEndings;
    case Language::kText:
      return kTextEndings;
    case Language::kAssembly:
      return kAssemblyEndings;
  }
  return kMixedEndings;
}

std::string_view pick_ending(Random& random, Language language) {
  std::uint64_t at = random.below(100);
  for (const Ending& ending : endings_of(language)) {
    if (at < ending.share) return ending.text;
    at -= ending.share;
  }
  return {};
}

std::string pick_word(Random& random) {
  std::string word(kHeads[random.below(kHeads.size())]);
  if (random.below(3) == 0) word += '_';
  word += kTails[random.below(kTails.size())];
  return word;
}

class Planner {
 public:
  explicit Planner(const TreeShape& shape) : random_(shape.seed), shape_(shape) {}

  std::vector<TreeEntry> plan() {
    std::uint64_t share_before = 0;
    for (const TopDirectory& top : kTopDirectories) {
      const std::uint64_t from = shape_.files * share_before / kShares;
      share_before += top.share;
      add_top(top, shape_.files * share_before / kShares - from);
    }
    give_sizes();
    std::sort(entries_.begin(), entries_.end(), by_component);
    return std::move(entries_);
  }

 private:
  static constexpr std::uint64_t kShares = 1000;
  struct Directory {
    std::string path;
    int depth;
  };

  // '/' sorts before every other byte, so a directory is followed by what is in it.
  static bool by_component(const TreeEntry& a, const TreeEntry& b) {
    return std::lexicographical_compare(a.path.begin(), a.path.end(), b.path.begin(), b.path.end(), [](char x, char y) {
      const auto rank = [](char c) { return c == '/' ? 0 : static_cast<int>(static_cast<unsigned char>(c)) + 1; };
      return rank(x) < rank(y);
    });
  }

  void add_top(const TopDirectory& top, std::uint64_t files) {
    if (files == 0) return;
    std::vector<Directory> directories{{std::string(top.name), 1}};
    entries_.push_back({directories[0].path, true, 0});
    for (std::uint64_t i = 1; i < files / kFilesPerDirectory; ++i) {
      const Directory parent = directories[skewed(directories.size())];
      if (parent.depth >= kDeepest) continue;
      directories.push_back({unused(parent.path, {}), parent.depth + 1});
      entries_.push_back({directories.back().path, true, 0});
    }
    for (std::uint64_t i = 0; i < files; ++i) {
      const Directory& directory = directories[skewed(directories.size())];
      entries_.push_back({file_path(directory.path, top.language), false, 0});
    }
  }

  // Half the way to uniform: directories met early are larger, as real ones are.
  std::size_t skewed(std::size_t bound) {
    return random_.below(2) == 0 ? random_.below(bound) : random_.below(random_.below(bound) + 1);
  }

  std::string file_path(const std::string& directory, Language language) {
    if (std::string makefile = directory + "/Makefile"; language != Language::kText && taken_.insert(makefile).second)
      return makefile;
    return unused(directory, pick_ending(random_, language));
  }

  std::string unused(const std::string& directory, std::string_view ending) {
    const std::string stem = directory + '/' + pick_word(random_);
    std::string path = stem + std::string(ending);
    for (int i = 2; !taken_.insert(path).second; ++i) path = stem + std::to_string(i) + std::string(ending);
    return path;
  }

  void give_sizes() {
    std::vector<double> raw;
    double sum = 0;
    for (std::uint64_t i = 0; i < shape_.files; ++i) {
      raw.push_back(std::exp(kSizeDeviation * random_.normal()));
      sum += raw.back();
    }
    std::size_t next = 0;
    std::uint64_t left = shape_.bytes;
    TreeEntry* last = nullptr;
    for (TreeEntry& entry : entries_) {
      if (entry.is_directory) continue;
      entry.size = std::min(left, static_cast<std::uint64_t>(raw[next++] / sum * static_cast<double>(shape_.bytes)));
      left -= entry.size;
      last = &entry;
    }
    if (last != nullptr) last->size += left;
  }

  Random random_;
  TreeShape shape_;
  std::vector<TreeEntry> entries_;
  std::unordered_set<std::string> taken_;
};

}  // namespace

std::vector<TreeEntry> plan_tree(const TreeShape& shape) { return Planner(shape).plan(); }

}  // namespace iotape::workload
