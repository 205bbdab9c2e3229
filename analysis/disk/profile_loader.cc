#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "analysis/disk/profile_parser.h"
#include "analysis/text_table.h"
#include "format/base/command.h"
#include "format/base/file_descriptor.h"
#include "format/base/units.h"

namespace iotape {
namespace {

Result<std::string> read_text(const std::string& path) {
  // Without blocking: a pipe that nobody writes to must not hold the command.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return system_failure(printable(path), errno);
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return system_failure(printable(path), errno);
  if (!S_ISREG(status.st_mode)) return failure(ErrorCode::kUsage, printable(path) + ": not a file");
  std::string text;
  std::string piece(std::size_t{64} << 10U, '\0');
  while (text.size() <= kLargestProfile) {
    const ssize_t got = read(file.get(), piece.data(), piece.size());
    if (got < 0) return system_failure(printable(path), errno);
    if (got == 0) return text;
    text.append(piece, 0, static_cast<std::size_t>(got));
  }
  return failure(ErrorCode::kUsage, fmt::format("{}: larger than {}", printable(path), format_size(kLargestProfile)));
}

// Curve files are looked for beside the profile that names them.
class FilesBeside : public ProfileFiles {
 public:
  explicit FilesBeside(std::filesystem::path directory) : directory_(std::move(directory)) {}
  Result<std::string> read(const std::string& name) override { return read_text((directory_ / name).string()); }

 private:
  std::filesystem::path directory_;
};

class NoFiles : public ProfileFiles {
 public:
  Result<std::string> read(const std::string& name) override {
    return failure(ErrorCode::kUsage, name + ": a built-in profile names no files");
  }
};

std::string known_names() {
  std::string names;
  for (const BuiltInProfile& profile : built_in_profiles()) names += fmt::format("{}, ", profile.name);
  return names + "or a file";
}

}  // namespace

Result<DiskProfile> load_disk_profile(const std::string& word) {
  std::vector<std::string> names;
  for (const BuiltInProfile& profile : built_in_profiles()) {
    NoFiles files;
    names.emplace_back(profile.name);
    if (profile.name == word) return parse_disk_profile(profile.text, word, word, files);
  }
  const std::filesystem::path path(word);
  std::error_code ignored;
  if (word.find('/') == std::string::npos && !std::filesystem::exists(path, ignored)) {
    const std::string nearest = nearest_word(word, names);
    return failure(ErrorCode::kUsage, fmt::format("unknown disk '{}'; {}", printable(word),
                                                  nearest.empty() ? "there are " + known_names()
                                                                  : fmt::format("did you mean {}?", nearest)));
  }
  IOTAPE_ASSIGN(const std::string text, read_text(word));
  FilesBeside files(path.parent_path());
  return parse_disk_profile(text, printable(word), printable(path.stem().string()), files);
}

}  // namespace iotape
