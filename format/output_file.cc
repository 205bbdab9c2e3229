#include "format/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "format/base/write_all.h"

namespace iotape {
namespace {

constexpr int kAttempts = 100;

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// NAME.partial-1f3a...: recognisable beside the file it is to be, however long that one's name is.
std::string temporary_name(const std::string& path) {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) < 0) random = static_cast<std::uint64_t>(::getpid());
  const std::string ending = fmt::format(".partial-{:016x}", random);
  const std::size_t name = path.rfind('/') + 1;  // npos + 1 == 0
  return path.substr(0, name) + path.substr(name, NAME_MAX - ending.size()) + ending;
}

// A link is followed: what it leads to is replaced, not the link.
std::string followed(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path, bool force, mode_t mode) {
  OutputFile output(path);
  output.force_ = force;
  if (path == "-") {
    output.file_.reset(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!output.file_) return system_failure("writing to standard output", errno);
    return output;
  }
  struct stat there {};
  const bool exists = ::lstat(path.c_str(), &there) == 0;
  if (exists && !force)
    return failure(ErrorCode::kUsage, fmt::format("{} exists already; --force overwrites it", path));
  if (exists && ::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    output.file_.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!output.file_) return system_failure("opening " + path, errno);
    return output;
  }
  output.final_ = exists ? followed(path) : path;
  IOTAPE_TRY(output.open_beside(mode));
  return output;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      final_(std::exchange(other.final_, {})),
      temporary_(std::exchange(other.temporary_, {})),
      force_(other.force_),
      file_(std::move(other.file_)) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<void> OutputFile::open_beside(mode_t mode) {
  // A file without a name gets one through /proc.
  if (::access("/proc/self/fd", F_OK) == 0)
    file_.reset(::open(directory_of(final_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
  if (file_) return {};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string name = temporary_name(final_);
    file_.reset(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (file_) {
      temporary_ = name;
      return {};
    }
    if (errno != EEXIST) break;
  }
  return system_failure("creating " + path_, errno);
}

Result<FileDescriptor> OutputFile::descriptor() const {
  FileDescriptor copy(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 3));
  if (!copy) return system_failure("writing " + path_, errno);
  return copy;
}

Result<void> OutputFile::write(std::string_view bytes) const {
  return write_all(file_.get(), bytes, "writing " + path_);
}

Result<void> OutputFile::give_temporary_name() {
  const std::string self = fmt::format("/proc/self/fd/{}", file_.get());
  for (int attempt = 0; attempt < kAttempts && temporary_.empty(); ++attempt) {
    const std::string name = temporary_name(final_);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
      temporary_ = name;
    else if (errno != EEXIST)
      break;
  }
  return temporary_.empty() ? Result<void>(system_failure("creating " + path_, errno)) : Result<void>{};
}

Result<void> OutputFile::commit() {
  if (final_.empty()) return {};
  if (temporary_.empty()) IOTAPE_TRY(give_temporary_name());
  // Filesystems that tell late (NFS, quotas) tell it when the file is closed.
  if (const int file = file_.release(); ::close(file) != 0) return system_failure("writing " + path_, errno);
  // Somebody else's file that came meanwhile is not overwritten; where the kernel cannot promise that, the look at the
  // beginning has to do.
  int done = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, final_.c_str(), force_ ? 0 : RENAME_NOREPLACE);
  if (done != 0 && errno == EINVAL) done = ::rename(temporary_.c_str(), final_.c_str());
  if (done != 0) return system_failure("creating " + path_, errno);
  temporary_.clear();
  return {};
}

}  // namespace iotape
