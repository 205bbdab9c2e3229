// Disk profiles as text: `key = value` lines, # starts a comment. The keys are described in profiles/PROFILES.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "analysis/disk/disk_profile.h"

namespace iotape {

// Gives the text of a file that a profile names (a measured curve); the parser itself opens nothing.
class ProfileFiles {
 public:
  virtual ~ProfileFiles() = default;
  virtual Result<std::string> read(const std::string& name) = 0;
};

inline constexpr std::size_t kLargestProfile = std::size_t{4} << 20U;

// file is how messages call the text; name is the profile's own. Errors: kUsage, as "file:line: key: what is wrong".
[[nodiscard]] Result<DiskProfile> parse_disk_profile(std::string_view text, const std::string& file,
                                                     const std::string& name, ProfileFiles& files);

// The profiles that are built in, by name: laptop-2002, desktop-7200, scsi-10k, hdd-8tb, ssd.
struct BuiltInProfile {
  std::string_view name;
  std::string_view text;
};
[[nodiscard]] std::span<const BuiltInProfile> built_in_profiles();

// A built-in profile by its name, or the profile in a file when the word has a slash or ends in .disk, or names a file
// that is there.
[[nodiscard]] Result<DiskProfile> load_disk_profile(const std::string& word);

}  // namespace iotape
