// A whole tree as it can be compared with another one's, whatever filesystem it lies on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace iotape::ext3::test {

struct TimePicture {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;
  bool operator==(const TimePicture&) const = default;
};

struct FilePicture {
  std::uint32_t mode = 0;
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::uint64_t links = 0;
  std::uint64_t size = 0;
  std::uint64_t sectors = 0;
  std::uint64_t device = 0;          // major << 20 | minor
  std::string first_name;            // the first path of this very file: equal for hard links
  std::string contents;              // regular: where data lies, and a hash of it; symbolic link: the target
  std::vector<std::string> entries;  // directory: in the order in which it is read
  std::map<std::string, std::string> attributes;
  TimePicture access;
  TimePicture modification;
};

struct TreePicture {
  std::map<std::string, FilePicture> files;  // by path, the root's is empty
  std::uint64_t free_blocks = 0;
  std::uint64_t free_inodes = 0;
};

struct TreeDifference {
  std::string path;
  std::string field;  // "there", "mode", "size", ..., "free blocks": what a rule goes by
  std::string left;
  std::string right;
};

// Times are compared where either of them was told by somebody rather than taken from a clock: such a test sets times
// that are long past or far ahead.
std::vector<TreeDifference> compare_trees(const TreePicture& left, const TreePicture& right);

// Files of one tree that are the same are told by their first path, in the order of paths.
class FirstNames {
 public:
  const std::string& of(std::uint64_t file, const std::string& path) {
    return names_.try_emplace(file, path).first->second;
  }

 private:
  std::map<std::uint64_t, std::string> names_;
};

// Contents as FilePicture has them: call data() for each stretch that is not a hole.
class ContentsPicture {
 public:
  void data(std::uint64_t offset, const char* bytes, std::size_t length);
  [[nodiscard]] std::string text() const;

 private:
  std::string stretches_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t hash_ = 14695981039346656037ULL;
  bool any_ = false;
};

}  // namespace iotape::ext3::test
