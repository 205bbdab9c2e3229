// What system calls answer and leave, written down in lines that can be compared between filesystems.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace iotape::fuse_mount::test {

inline constexpr uid_t kSomebody = 65534;
inline constexpr uid_t kAnother = 65533;
inline constexpr gid_t kAGroup = 12345;

// Calls made in one directory, each with what it answered and what it left.
class Outcomes {
 public:
  explicit Outcomes(std::string top) : top_(std::move(top)) {}

  // As this user, for the filesystem (0: root), in these further groups.
  void as(uid_t user, gid_t group, const std::vector<gid_t>& groups = {});
  [[nodiscard]] std::string at(std::string_view name) const { return top_ + "/" + std::string(name); }
  void note(const std::string& what, int answer);
  // What is there: mode, links, owner, size, device.
  void look(const std::string& name);
  // Whether a call left these times of a file as they were: "amc" letters of those that changed.
  void changed_times(const std::string& what, const std::string& name, const std::function<void()>& call);
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::string top_;
  std::string who_ = "0";
  std::vector<std::string> lines_;
};

// The rule by which two lines differ that are not alike, or "": none is known.
using KnownDifference = std::string (*)(const std::string& ours, const std::string& kernels);

// Runs `calls` in the top directory of a mount of ours and of the kernel's, of images made with the same words, and
// expects the same lines. Prints how many there were, and how many differ by which rule.
void expect_the_kernels_answers(std::vector<std::string> (*calls)(const std::string& top), const std::string& words,
                                KnownDifference rule = nullptr);

}  // namespace iotape::fuse_mount::test
