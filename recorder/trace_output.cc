#include "recorder/trace_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace iotape {
namespace {

constexpr int kMostNames = 10'000;

FileDescriptor create_new(const std::string& name) {
  return FileDescriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kTraceMode));
}

std::string directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

// Recordings that look who has a name and give it to another file do so one after the other. Where a directory cannot
// be locked (some network filesystems) the looks have to do.
class NamesOfDirectory {
 public:
  explicit NamesOfDirectory(const std::string& path)
      : directory_(::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (directory_) ::flock(directory_.get(), LOCK_EX);
  }

 private:
  FileDescriptor directory_;  // closing it releases the lock
};

Result<void> refuse_if_being_recorded(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return failure(ErrorCode::kUsage,
                   fmt::format("{} is being written by another recording; give another name with -o", path));
  return {};
}

}  // namespace

TraceOutput TraceOutput::made(FileDescriptor file, const std::string& name) {
  ::flock(file.get(), LOCK_EX);
  struct stat facts {};
  TraceOutput output(std::move(file), name);
  if (::fstat(output.file_.get(), &facts) != 0) return output;
  output.device_ = facts.st_dev;
  output.inode_ = facts.st_ino;
  return output;
}

Result<TraceOutput> TraceOutput::create_default(const std::string& command) {
  std::string stem = std::filesystem::path(command).filename().string();
  if (stem.empty()) stem = "trace";
  for (int number = 1; number < kMostNames; ++number) {
    const std::string name = number == 1 ? stem + ".iotape" : fmt::format("{}.{}.iotape", stem, number);
    if (auto file = create_new(name)) return made(std::move(file), name);
    if (errno != EEXIST) return system_failure(fmt::format("creating {} (choose another place with -o)", name), errno);
  }
  return failure(ErrorCode::kUsage, fmt::format("too many files named {}.N.iotape here; give a name with -o", stem));
}

// A new file takes the old one's place: mode and owner are not inherited, and whoever reads the old one keeps it.
Result<TraceOutput> TraceOutput::replace(const std::string& path) {
  IOTAPE_TRY(refuse_if_being_recorded(path));
  IOTAPE_ASSIGN(auto file, OutputFile::create(path, true));
  IOTAPE_ASSIGN(auto copy, file.descriptor());
  ::flock(copy.get(), LOCK_EX);
  TraceOutput output(std::move(copy), path);
  output.replacing_.emplace(std::move(file));
  return output;
}

Result<TraceOutput> TraceOutput::create_wanted(const std::string& path, bool force) {
  const NamesOfDirectory names(path);
  if (auto file = create_new(path)) return made(std::move(file), path);
  if (errno != EEXIST) return system_failure(fmt::format("creating {}", path), errno);
  if (!force) return failure(ErrorCode::kUsage, fmt::format("{} exists; choose another name or give --force", path));
  std::error_code gone;
  if (std::filesystem::is_regular_file(path, gone)) return replace(path);
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));  // a pipe or a device
  if (!file) return system_failure(fmt::format("opening {}", path), errno);
  return TraceOutput(std::move(file), path);
}

Result<TraceOutput> TraceOutput::open(const TraceOutputOptions& options) {
  if (options.wanted == "-") {
    if (options.stdout_is_terminal)
      return failure(ErrorCode::kUsage, "a trace is binary: send it to a file or a pipe, not to the terminal");
    return TraceOutput(FileDescriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)), "-");
  }
  auto output = options.wanted.empty() ? create_default(options.command) : create_wanted(options.wanted, options.force);
  if (!output || !options.owner_user) return output;
  const auto group = options.owner_group.value_or(static_cast<std::uint32_t>(-1));
  if (::fchown(output->file_.get(), *options.owner_user, group) == 0) return output;
  const int reason = errno;
  output->discard();
  return system_failure(fmt::format("giving {} to the user who called sudo", output->name_), reason);
}

Result<void> TraceOutput::publish() {
  if (!replacing_) return {};
  const NamesOfDirectory names(name_);
  IOTAPE_TRY(refuse_if_being_recorded(name_));
  IOTAPE_TRY(replacing_->commit());
  replacing_.reset();
  return {};
}

void TraceOutput::discard() {
  replacing_.reset();
  struct stat there {};
  if (inode_ == 0 || ::lstat(name_.c_str(), &there) != 0) return;
  if (there.st_dev == device_ && there.st_ino == inode_) ::unlink(name_.c_str());
  inode_ = 0;
}

}  // namespace iotape
