#include "tests/ext3/support/side_by_side/tree_picture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <cstring>

#include "tests/ext3/support/side_by_side/step.h"

namespace iotape::ext3::test {
namespace {

// Between them lie the times that clocks show.
constexpr std::int64_t kLongPast = 1'500'000'000;
constexpr std::int64_t kFarAhead = 2'100'000'000;

bool told(const TimePicture& time) { return time.seconds < kLongPast || time.seconds > kFarAhead; }

class Comparison {
 public:
  explicit Comparison(std::vector<TreeDifference>& differences) : differences_(differences) {}

  void files(const std::string& path, const FilePicture& left, const FilePicture& right) {
    path_ = path;
    number("mode", left.mode, right.mode, true);
    number("user", left.user, right.user);
    number("group", left.group, right.group);
    number("links", left.links, right.links);
    number("size", left.size, right.size);
    number("blocks", left.sectors, right.sectors);
    number("device", left.device, right.device);
    text("identity", left.first_name, right.first_name);
    text("contents", left.contents, right.contents);
    if (left.entries != right.entries) text("order", listed(left.entries), listed(right.entries));
    if (left.attributes != right.attributes) text("attributes", listed(left.attributes), listed(right.attributes));
    if ((left.mode & S_IFMT) != S_IFLNK) time("access time", left.access, right.access);  // looking at them changes it
    time("modification time", left.modification, right.modification);
  }
  void number(const char* field, std::uint64_t left, std::uint64_t right, bool octal = false) {
    if (left != right)
      differences_.push_back({path_, field, octal ? fmt::format("{:o}", left) : fmt::format("{}", left),
                              octal ? fmt::format("{:o}", right) : fmt::format("{}", right)});
  }

 private:
  void text(const char* field, const std::string& left, const std::string& right) {
    if (left != right) differences_.push_back({path_, field, printable_bytes(left), printable_bytes(right)});
  }
  void time(const char* field, const TimePicture& left, const TimePicture& right) {
    if (left != right && (told(left) || told(right)))
      differences_.push_back({path_, field, fmt::format("{}.{:09}", left.seconds, left.nanoseconds),
                              fmt::format("{}.{:09}", right.seconds, right.nanoseconds)});
  }
  static std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += fmt::format("{:.6} ", name);
    return text;
  }
  static std::string listed(const std::map<std::string, std::string>& attributes) {
    std::string text;
    for (const auto& [name, value] : attributes) text += fmt::format("{}={}b ", name, value.size());
    return text;
  }

  std::vector<TreeDifference>& differences_;
  std::string path_;
};

}  // namespace

std::vector<TreeDifference> compare_trees(const TreePicture& left, const TreePicture& right) {
  std::vector<TreeDifference> differences;
  Comparison comparison(differences);
  for (const auto& [path, file] : left.files) {
    const auto other = right.files.find(path);
    if (other == right.files.end())
      differences.push_back({path, "there", "yes", "no"});
    else
      comparison.files(path, file, other->second);
  }
  for (const auto& [path, file] : right.files)
    if (!left.files.contains(path)) differences.push_back({path, "there", "no", "yes"});
  Comparison volume(differences);
  volume.number("free blocks", left.free_blocks, right.free_blocks);
  volume.number("free inodes", left.free_inodes, right.free_inodes);
  return differences;
}

void ContentsPicture::data(std::uint64_t offset, const char* bytes, std::size_t length) {
  if (!any_ || offset != end_) {
    if (any_) stretches_ += fmt::format("{}-{} ", begin_, end_);
    begin_ = offset;
    any_ = true;
  }
  end_ = offset + length;
  constexpr std::uint64_t kPrime = 1099511628211ULL;
  std::size_t at = 0;
  for (; at + 8 <= length; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, 8);
    hash_ = (hash_ ^ word) * kPrime;
    hash_ ^= hash_ >> 29U;
  }
  for (; at < length; ++at) hash_ = (hash_ ^ static_cast<unsigned char>(bytes[at])) * kPrime;
}

std::string ContentsPicture::text() const {
  if (!any_) return "nothing";
  return fmt::format("{:016x} {}{}-{}", hash_, stretches_, begin_, end_);
}

}  // namespace iotape::ext3::test
