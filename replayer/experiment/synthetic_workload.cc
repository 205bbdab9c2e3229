#include "replayer/experiment/synthetic_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>

#include "format/base/command.h"
#include "format/base/random.h"
#include "format/base/units.h"
#include "replayer/experiment/call_writer.h"

namespace iotape {
namespace {

constexpr std::uint64_t kMostFiles = 100'000'000;

enum class KeyKind : std::uint8_t { kWord, kCount, kSize };
struct WorkloadKey {
  std::string_view name;
  KeyKind kind;
  std::string_view default_value;
  std::string_view words;  // of kWord, separated by |
};

constexpr std::array<WorkloadKey, 7> kManyFilesKeys{{
    {"count", KeyKind::kCount, "300000", ""},
    {"bytes", KeyKind::kSize, "0", ""},
    {"do", KeyKind::kWord, "both", "both|create|read|delete"},
    {"create", KeyKind::kWord, "creation", "creation|random"},
    {"order", KeyKind::kWord, "creation", "creation|readdir|random"},
    {"rename", KeyKind::kWord, "off", "off|on"},
    {"seed", KeyKind::kCount, "2002", ""},
}};
constexpr std::array<WorkloadKey, 5> kInodeTestKeys{{
    {"top", KeyKind::kCount, "20", ""},
    {"directories", KeyKind::kCount, "100", ""},
    {"files", KeyKind::kCount, "20", ""},
    {"delete", KeyKind::kCount, "10", ""},
    {"seed", KeyKind::kCount, "2014", ""},
}};
constexpr std::array<WorkloadKey, 4> kDdKeys{{
    {"bytes", KeyKind::kSize, "500M", ""},
    {"block", KeyKind::kSize, "1M", ""},
    {"do", KeyKind::kWord, "write", "write|read|remove"},
    {"sync", KeyKind::kWord, "on", "on|off"},
}};
constexpr std::array<WorkloadKey, 5> kTreeKeys{{
    {"files", KeyKind::kCount, "13035", ""},
    {"bytes", KeyKind::kSize, "192M", ""},
    {"do", KeyKind::kWord, "make", "make|read|list|archive|remove"},
    {"sync", KeyKind::kWord, "off", "on|off"},
    {"seed", KeyKind::kCount, "2002", ""},
}};

using Words = std::map<std::string, std::string, std::less<>>;
using Numbers = std::map<std::string, std::uint64_t, std::less<>>;

// A workload cut into units of a few calls each, so that a source holds no more than one unit's events.
class CallPlan {
 public:
  CallPlan() = default;
  CallPlan(const CallPlan&) = delete;
  CallPlan& operator=(const CallPlan&) = delete;
  virtual ~CallPlan() = default;
  [[nodiscard]] virtual std::uint64_t units() const = 0;
  virtual void write(std::uint64_t unit, CallWriter& out) = 0;
};

std::vector<std::uint32_t> in_order(std::uint64_t count) {
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}
std::vector<std::uint32_t> shuffled(std::uint64_t count, std::uint64_t seed) {
  auto all = in_order(count);
  Random(seed).shuffle(all);
  return all;
}

// P2: files named %08X in one directory, all of one size, mostly none; and their removal, or their reading.
class ManyFiles final : public CallPlan {
 public:
  ManyFiles(const Words& words, const Numbers& numbers, std::vector<std::string> listing)
      : count_(numbers.at("count")),
        bytes_(numbers.at("bytes")),
        renames_(words.at("rename") == "on"),
        listing_(std::move(listing)) {
    const std::uint64_t seed = numbers.at("seed");
    const std::string& part = words.at("do");
    creates_ = part == "both" || part == "create";
    visits_ = part != "create";
    reads_ = part == "read";
    created_ = words.at("create") == "random" ? shuffled(count_, seed) : in_order(count_);
    lists_ = words.at("order") == "readdir";
    if (visits_ && !lists_) visited_ = words.at("order") == "random" ? shuffled(count_, seed + 1) : created_;
    visits_to_make_ = lists_ ? listing_.size() : visited_.size();
  }

  std::uint64_t units() const override { return 1 + (creates_ ? count_ : 0) + 1 + (visits_ ? visits_to_make_ : 0); }
  void write(std::uint64_t unit, CallWriter& out) override {
    if (unit == 0) {
      if (creates_ && renames_) out.make_directory("incoming");
      return;
    }
    --unit;
    if (creates_ && unit < count_) return create(created_[unit], out);
    unit -= creates_ ? count_ : 0;
    if (unit == 0) return between(out);
    --unit;
    const std::string name = lists_ ? listing_[unit] : name_of(visited_[unit]);
    if (reads_) return out.read_file(name, lists_ ? unit : visited_[unit], bytes_, kPiece);
    out.unlink(name);
  }

 private:
  static constexpr std::uint64_t kPiece = 131'072;
  static std::string name_of(std::uint32_t number) { return fmt::format("{:08X}", number); }
  void create(std::uint32_t number, CallWriter& out) const {
    const std::string name = name_of(number);
    out.write_file(renames_ ? "incoming/" + name : name, number, bytes_, kPiece);
    if (renames_) out.rename("incoming/" + name, name);
  }
  void between(CallWriter& out) const {
    if (creates_ && renames_) out.remove_directory("incoming");
    if (visits_ && lists_) out.list(".", 0, listing_.size());
  }

  std::uint64_t count_;
  std::uint64_t bytes_;
  bool renames_;
  bool creates_ = true;
  bool visits_ = true;  // reads or removes
  bool reads_ = false;
  bool lists_ = false;
  std::vector<std::string> listing_;
  std::vector<std::uint32_t> created_;
  std::vector<std::uint32_t> visited_;
  std::uint64_t visits_to_make_ = 0;
};

// P3: directories of empty files; whenever a top directory is full, some of its directories lose theirs.
class InodeTest final : public CallPlan {
 public:
  explicit InodeTest(const Numbers& numbers)
      : top_(numbers.at("top")),
        directories_(numbers.at("directories")),
        files_(numbers.at("files")),
        deleted_(std::min(numbers.at("delete"), directories_)),
        random_(numbers.at("seed")) {}

  std::uint64_t units() const override { return top_ * (directories_ + deleted_); }
  void write(std::uint64_t unit, CallWriter& out) override {
    const std::uint64_t top = unit / (directories_ + deleted_);
    const std::uint64_t within = unit % (directories_ + deleted_);
    if (within == 0) {
      out.make_directory(fmt::format("top{}", top));
      order_ = in_order(directories_);
      random_.shuffle(order_);
    }
    if (within < directories_) return fill(top, within, out);
    for (std::uint64_t file = 0; file < files_; ++file)
      out.unlink(fmt::format("top{}/dir{}/file{}", top, order_[within - directories_], file));
  }

 private:
  void fill(std::uint64_t top, std::uint64_t directory, CallWriter& out) const {
    const std::string path = fmt::format("top{}/dir{}", top, directory);
    out.make_directory(path);
    for (std::uint64_t file = 0; file < files_; ++file)
      out.make_empty_file(fmt::format("{}/file{}", path, file), (top * directories_ + directory) * files_ + file);
  }

  std::uint64_t top_;
  std::uint64_t directories_;
  std::uint64_t files_;
  std::uint64_t deleted_;
  Random random_;
  std::vector<std::uint32_t> order_;
};

// One large file written, read or removed.
class Dd final : public CallPlan {
 public:
  Dd(const Words& words, const Numbers& numbers)
      : bytes_(numbers.at("bytes")),
        block_(numbers.at("block")),
        what_(words.at("do")),
        syncs_(words.at("sync") == "on") {}
  std::uint64_t units() const override { return what_ == "write" ? pieces() + 2 : 1; }
  void write(std::uint64_t unit, CallWriter& out) override {
    if (what_ == "remove") return out.unlink("big");
    if (what_ == "read") return out.read_file("big", 0, bytes_, block_);
    if (unit == 0) return out.open_to_write("big", 0);
    if (unit <= pieces()) return out.append(0, (unit - 1) * block_, std::min(block_, bytes_ - (unit - 1) * block_));
    out.close_file(0);
    if (syncs_) out.sync_filesystem();
  }

 private:
  [[nodiscard]] std::uint64_t pieces() const { return (bytes_ + block_ - 1) / block_; }
  std::uint64_t bytes_;
  std::uint64_t block_;
  std::string what_;
  bool syncs_;
};

// A tree with the shape of a source tree: sixteen files to a directory, sixteen directories to a top directory, sizes
// log-normal about their mean. Read, listed (ls -lR), packed into one file and removed in the order of making.
class Tree final : public CallPlan {
 public:
  Tree(const Words& words, const Numbers& numbers)
      : files_(numbers.at("files")), what_(words.at("do")), syncs_(words.at("sync") == "on") {
    Random random(numbers.at("seed"));
    std::vector<double> weights(files_);
    constexpr double kSigma = 1.3;  // of the logarithm; kernel sources of 2002 are near it
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(kSigma * random.normal());
    for (const double weight : weights)
      sizes_.push_back(static_cast<std::uint64_t>(weight / sum * static_cast<double>(numbers.at("bytes"))));
  }

  // A directory at a time; the last unit is what comes after all of them.
  std::uint64_t units() const override { return directories() + 1; }
  void write(std::uint64_t unit, CallWriter& out) override {
    const bool end = unit == directories();
    if (what_ == "make") return end ? finish(out) : make(unit, out);
    if (what_ == "read") return end ? void() : read(unit, out);
    if (what_ == "list") return end ? void() : list(unit, out);
    if (what_ == "archive") return archive(unit, out);
    end ? finish(out) : remove(unit, out);
  }

 private:
  static constexpr std::uint64_t kPerDirectory = 16;
  static constexpr std::uint64_t kPiece = 10'240;       // as tar writes
  static constexpr std::uint64_t kReadPiece = 131'072;  // as cat reads

  [[nodiscard]] std::uint64_t directories() const { return (files_ + kPerDirectory - 1) / kPerDirectory; }
  [[nodiscard]] std::uint64_t first(std::uint64_t unit) const { return unit * kPerDirectory; }
  [[nodiscard]] std::uint64_t last(std::uint64_t unit) const { return std::min(files_, first(unit) + kPerDirectory); }
  static std::string top_of(std::uint64_t unit) { return fmt::format("part{}", unit / kPerDirectory); }
  static std::string directory_of(std::uint64_t unit) { return fmt::format("{}/dir{}", top_of(unit), unit); }
  static std::string name_of(std::uint64_t unit, std::uint64_t file) {
    return fmt::format("{}/file{}.c", directory_of(unit), file);
  }

  void make(std::uint64_t unit, CallWriter& out) const {
    if (unit % kPerDirectory == 0) out.make_directory(top_of(unit));
    out.make_directory(directory_of(unit));
    for (std::uint64_t file = first(unit); file < last(unit); ++file)
      out.write_file(name_of(unit, file), file, sizes_[file], kPiece);
  }
  // Each directory is listed, then its files are read in the order of their making.
  void read(std::uint64_t unit, CallWriter& out) const {
    out.list(directory_of(unit), files_ + unit, last(unit) - first(unit));
    for (std::uint64_t file = first(unit); file < last(unit); ++file)
      out.read_file(name_of(unit, file), file, sizes_[file], kReadPiece);
  }
  void list(std::uint64_t unit, CallWriter& out) const {
    out.list(directory_of(unit), files_ + unit, last(unit) - first(unit));
    for (std::uint64_t file = first(unit); file < last(unit); ++file) out.stat(name_of(unit, file));
  }
  void archive(std::uint64_t unit, CallWriter& out) {
    if (unit == 0) out.open_to_write("archive.tar", 2 * files_);
    if (unit == directories()) {
      out.close_file(2 * files_);
      return finish(out);
    }
    for (std::uint64_t file = first(unit); file < last(unit); ++file) {
      out.read_file(name_of(unit, file), file, sizes_[file], kPiece);
      for (std::uint64_t left = 512 + (sizes_[file] + 511) / 512 * 512; left > 0;) {
        const std::uint64_t piece = std::min(left, kPiece);
        out.append(2 * files_, archived_, piece);
        archived_ += piece, left -= piece;
      }
    }
  }
  void remove(std::uint64_t unit, CallWriter& out) const {
    out.list(directory_of(unit), files_ + unit, last(unit) - first(unit));
    for (std::uint64_t file = first(unit); file < last(unit); ++file) out.unlink(name_of(unit, file));
    out.remove_directory(directory_of(unit));
    if (unit % kPerDirectory == kPerDirectory - 1 || unit + 1 == directories()) out.remove_directory(top_of(unit));
  }
  void finish(CallWriter& out) const {
    if (syncs_) out.sync_filesystem();
  }

  std::uint64_t files_;
  std::string what_;
  bool syncs_;
  std::vector<std::uint64_t> sizes_;
  std::uint64_t archived_ = 0;
};

using MakePlan = std::unique_ptr<CallPlan> (*)(const Words&, const Numbers&, const std::vector<std::string>&);
struct WorkloadKind {
  std::string_view name;
  std::string_view summary;
  std::span<const WorkloadKey> keys;
  MakePlan make;
};

constexpr std::array<WorkloadKind, 4> kKinds{{
    {"manyfiles", "files of one size in one directory, made, read and removed", kManyFilesKeys,
     [](const Words& words, const Numbers& numbers, const std::vector<std::string>& listing)
         -> std::unique_ptr<CallPlan> { return std::make_unique<ManyFiles>(words, numbers, listing); }},
    {"inodetest", "many directories of empty files, a part of them removed on the way", kInodeTestKeys,
     [](const Words&, const Numbers& numbers, const std::vector<std::string>&) -> std::unique_ptr<CallPlan> {
       return std::make_unique<InodeTest>(numbers);
     }},
    {"dd", "one large file", kDdKeys,
     [](const Words& words, const Numbers& numbers, const std::vector<std::string>&) -> std::unique_ptr<CallPlan> {
       return std::make_unique<Dd>(words, numbers);
     }},
    {"tree", "a source tree made, read, listed, packed or removed", kTreeKeys,
     [](const Words& words, const Numbers& numbers, const std::vector<std::string>&) -> std::unique_ptr<CallPlan> {
       return std::make_unique<Tree>(words, numbers);
     }},
}};

class PlannedSource final : public EventSource {
 public:
  PlannedSource(const std::string& text, std::unique_ptr<CallPlan> plan)
      : header_(generated_header(text)), plan_(std::move(plan)), units_(plan_->units()) {
    writer_.begin();
  }
  const TraceHeader& header() const override { return header_; }
  Result<Event*> next() override {
    while (writer_.empty() && unit_ < units_) plan_->write(unit_++, writer_);
    if (writer_.empty()) return nullptr;
    current_ = Event{EventId(number_++), 0, writer_.take()};
    return &current_;
  }
  const ReadReport& report() const override { return report_; }

 private:
  TraceHeader header_;
  std::unique_ptr<CallPlan> plan_;
  std::uint64_t units_;
  std::uint64_t unit_ = 0;
  std::uint64_t number_ = 0;
  CallWriter writer_;
  Event current_;
  ReadReport report_;
};

const WorkloadKind* find_kind(std::string_view name) {
  const auto* found = std::ranges::find(kKinds, name, &WorkloadKind::name);
  return found == kKinds.end() ? nullptr : found;
}

template <typename Entries>
std::string nearest_of(std::string_view typed, const Entries& entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const auto& entry : entries) names.emplace_back(entry.name);
  const std::string nearest = nearest_word(typed, names);
  return nearest.empty() ? fmt::format("there are {}", fmt::join(names, " "))
                         : fmt::format("did you mean {}?", nearest);
}

bool is_word_of(std::string_view word, std::string_view words) {
  while (!words.empty()) {
    const std::size_t bar = std::min(words.find('|'), words.size());
    if (words.substr(0, bar) == word) return true;
    words.remove_prefix(std::min(bar + 1, words.size()));
  }
  return false;
}

Result<std::uint64_t> number_of(const WorkloadKey& key, const std::string& value) {
  if (key.kind == KeyKind::kSize) {
    IOTAPE_ASSIGN(const std::uint64_t size, parse_size(value));
    const bool each = key.default_value == "0";  // of one file among many, whose calls are made together
    const std::uint64_t largest = each ? std::uint64_t{1} << 30U : std::uint64_t{1} << 44U;
    const std::uint64_t least = each ? 0 : 1;
    if (size >= least && size <= largest) return size;
    return failure(ErrorCode::kUsage,
                   fmt::format("{}= takes {} to {}, not {}", key.name, least, each ? "1G" : "16T", value));
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool seed = key.name == "seed";
  const std::uint64_t least = key.name == "delete" ? 0 : 1;
  if (error == std::errc{} && end == value.data() + value.size() && (seed || (number >= least && number <= kMostFiles)))
    return number;
  return failure(ErrorCode::kUsage, fmt::format("{}= takes a whole number{}, not '{}'", key.name,
                                                seed ? "" : fmt::format(" from {} to {}", least, kMostFiles), value));
}

}  // namespace

Result<SyntheticWorkload> SyntheticWorkload::parse(std::string_view text) {
  SyntheticWorkload made;
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    if (space > at) words.emplace_back(text.substr(at, space - at));
    at = space + 1;
  }
  if (words.empty()) return failure(ErrorCode::kUsage, "no workload is named; " + nearest_of("", kKinds));
  const WorkloadKind* kind = find_kind(words.front());
  if (kind == nullptr)
    return failure(ErrorCode::kUsage,
                   fmt::format("unknown workload '{}'; {}", words.front(), nearest_of(words.front(), kKinds)));
  made.name_ = kind->name;
  for (const WorkloadKey& key : kind->keys) made.words_[std::string(key.name)] = key.default_value;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = std::min(words[i].find('='), words[i].size());
    const std::string name = words[i].substr(0, equals);
    if (!made.words_.contains(name))
      return failure(ErrorCode::kUsage,
                     fmt::format("{} knows no key '{}'; {}", kind->name, name, nearest_of(name, kind->keys)));
    made.words_[name] = words[i].substr(std::min(equals + 1, words[i].size()));
  }
  made.text_ = kind->name;
  for (const WorkloadKey& key : kind->keys) {
    const std::string& value = made.words_.find(key.name)->second;
    made.text_ += fmt::format(" {}={}", key.name, value);
    if (key.kind == KeyKind::kWord) {
      if (is_word_of(value, key.words)) continue;
      return failure(ErrorCode::kUsage, fmt::format("{}= takes {}, not '{}'", key.name, key.words, value));
    }
    IOTAPE_ASSIGN(made.numbers_[std::string(key.name)], number_of(key, value));
  }
  if (made.text_.find(" do=both ") != std::string::npos && made.listed_directory())
    return failure(ErrorCode::kUsage,
                   "order=readdir takes do=delete or do=read, in a step after the one that makes the files: the "
                   "directory is listed before the step begins");
  return made;
}

std::optional<std::string> SyntheticWorkload::listed_directory() const {
  const auto order = words_.find("order");
  const bool visits = name_ == "manyfiles" && words_.find("do")->second != "create";
  if (!visits || order == words_.end() || order->second != "readdir") return std::nullopt;
  return "/";
}

EventSourceOpener SyntheticWorkload::open(std::vector<std::string> listing) const {
  const auto shared = std::make_shared<const std::vector<std::string>>(std::move(listing));
  return [*this, shared]() -> Result<std::unique_ptr<EventSource>> {
    return std::make_unique<PlannedSource>(text_, find_kind(name_)->make(words_, numbers_, *shared));
  };
}

std::string synthetic_workloads_help() {
  std::string text;
  for (const WorkloadKind& kind : kKinds) {
    text += fmt::format("{:<11} {}\n", kind.name, kind.summary);
    for (const WorkloadKey& key : kind.keys)
      text += fmt::format("  {}={}{}\n", key.name, key.default_value,
                          key.words.empty() ? "" : fmt::format("   {}", key.words));
  }
  return text;
}

}  // namespace iotape
