#include "traces/workload/worksite.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

namespace iotape::workload {
namespace {

constexpr mode_t kFileMode = 0644;
constexpr mode_t kDirectoryMode = 0755;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using DirectoryStream = std::unique_ptr<DIR, CloseDirectory>;

// ENOSPC has two causes with two remedies; the filesystem's own counts tell them apart.
std::string full_filesystem_remedy(int directory) {
  struct statvfs facts {};
  if (::fstatvfs(directory, &facts) != 0) return "the filesystem is full";
  if (facts.f_files > 0 && facts.f_ffree == 0)
    return fmt::format("no inodes left (all {} in use); make the filesystem with more, e.g. mke2fs -N", facts.f_files);
  return "no space left; a larger filesystem or smaller --bytes is needed";
}

}  // namespace

void Totals::add(const Totals& other) {
  files_created += other.files_created;
  directories_created += other.directories_created;
  files_deleted += other.files_deleted;
  files_renamed += other.files_renamed;
  entries_listed += other.entries_listed;
  bytes_written += other.bytes_written;
  bytes_read += other.bytes_read;
}

Result<Worksite> Worksite::open(const std::string& path) {
  if (::mkdir(path.c_str(), kDirectoryMode) != 0 && errno != EEXIST)
    return system_failure(fmt::format("cannot make the directory {}", path), errno);
  FileDescriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return system_failure(fmt::format("cannot open the directory {}", path), errno);
  return Worksite(path, std::move(directory));
}

tl::unexpected<Error> Worksite::refused(std::string_view doing, std::string_view name, int os_errno) const {
  const std::string what = fmt::format("cannot {} {}/{}", doing, path_, name);
  if (os_errno == ENOSPC || os_errno == EDQUOT)
    return tl::make_unexpected(
        Error{ErrorCode::kIo, fmt::format("{}: {}", what, full_filesystem_remedy(directory_.get())), os_errno});
  if (os_errno == EEXIST)
    return tl::make_unexpected(
        Error{ErrorCode::kIo, fmt::format("{}: it exists already; give an empty or a new directory", what), os_errno});
  return system_failure(what, os_errno);
}

Result<void> Worksite::make_directory(const std::string& name) {
  if (::mkdirat(directory_.get(), name.c_str(), kDirectoryMode) != 0) return refused("make directory", name, errno);
  ++totals_.directories_created;
  return {};
}

Result<void> Worksite::make_empty_file(const std::string& name) { return make_file(name, {}, 1); }

Result<void> Worksite::make_file(const std::string& name, std::string_view content, std::size_t block) {
  const FileDescriptor file(
      ::openat(directory_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
  if (!file) return refused("create", name, errno);
  ++totals_.files_created;
  for (std::size_t done = 0; done < content.size(); done += block)
    IOTAPE_TRY(write_all(file, name, content.substr(done, block)));
  return {};
}

Result<void> Worksite::set_modification_time(const std::string& name, std::int64_t seconds_since_1970) {
  const std::array<timespec, 2> times{timespec{0, UTIME_OMIT}, timespec{seconds_since_1970, 0}};
  if (::utimensat(directory_.get(), name.c_str(), times.data(), 0) != 0) return refused("set the time of", name, errno);
  return {};
}

Result<void> Worksite::unlink(const std::string& name) {
  if (::unlinkat(directory_.get(), name.c_str(), 0) != 0) return refused("delete", name, errno);
  ++totals_.files_deleted;
  return {};
}

Result<void> Worksite::remove_directory(const std::string& name) {
  if (::unlinkat(directory_.get(), name.c_str(), AT_REMOVEDIR) != 0) return refused("remove directory", name, errno);
  return {};
}

Result<void> Worksite::rename(const std::string& from, const std::string& to) {
  if (::renameat(directory_.get(), from.c_str(), directory_.get(), to.c_str()) != 0)
    return refused("rename", from, errno);
  ++totals_.files_renamed;
  return {};
}

Result<FileDescriptor> Worksite::open_for_writing(const std::string& name, int flags) {
  FileDescriptor file(
      ::openat(directory_.get(), name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | flags, kFileMode));
  if (!file) return refused("open", name, errno);
  ++totals_.files_created;
  return file;
}

Result<void> Worksite::write_all(const FileDescriptor& file, const std::string& name, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return refused("write", name, errno);
    totals_.bytes_written += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> Worksite::read_file(const std::string& name, std::size_t block) {
  const FileDescriptor file(::openat(directory_.get(), name.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return refused("open", name, errno);
  std::string buffer(block, '\0');
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused("read", name, errno);
    if (got == 0) return {};
    totals_.bytes_read += static_cast<std::uint64_t>(got);
  }
}

Result<std::vector<std::string>> Worksite::list(const std::string& name) {
  const int fd = ::openat(directory_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return refused("list", name, errno);
  const DirectoryStream stream(::fdopendir(fd));
  if (!stream) return refused("list", name, errno);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view entry_name = static_cast<const char*>(entry->d_name);
    if (entry_name != "." && entry_name != "..") names.emplace_back(entry_name);
    errno = 0;
  }
  if (errno != 0) return refused("list", name, errno);
  totals_.entries_listed += names.size();
  return names;
}

Result<void> Worksite::list_recursively(const std::string& name) {
  std::vector<std::string> waiting{name};
  while (!waiting.empty()) {
    const std::string directory = std::move(waiting.back());
    waiting.pop_back();
    IOTAPE_ASSIGN(const std::vector<std::string> names, list(directory));
    for (const std::string& entry : names) {
      std::string path = fmt::format("{}/{}", directory, entry);
      struct stat facts {};
      if (::fstatat(directory_.get(), path.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return refused("stat", path, errno);
      if (S_ISDIR(facts.st_mode)) waiting.push_back(std::move(path));
    }
  }
  return {};
}

}  // namespace iotape::workload
