#include "recorder/tree_snapshot.h"
#include "format/base/file_time.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "format/base/file_descriptor.h"
#include "recorder/device_facts.h"

namespace iotape {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

// The walk must not disturb what is about to be measured more than it has to.
class IdleInputOutput {
 public:
  IdleInputOutput() : before_(::syscall(SYS_ioprio_get, kWhoProcess, 0)) {
    ::syscall(SYS_ioprio_set, kWhoProcess, 0, kIdleClass << kClassShift);
  }
  ~IdleInputOutput() {
    if (before_ >= 0) ::syscall(SYS_ioprio_set, kWhoProcess, 0, before_);
  }
  IdleInputOutput(const IdleInputOutput&) = delete;
  IdleInputOutput& operator=(const IdleInputOutput&) = delete;

 private:
  static constexpr int kWhoProcess = 1;
  static constexpr int kIdleClass = 3;
  static constexpr int kClassShift = 13;
  long before_;
};

std::uint32_t generation_of(int file) {
  long generation = 0;
  return ::ioctl(file, FS_IOC_GETVERSION, &generation) == 0 ? static_cast<std::uint32_t>(generation) : 0;
}

void read_xattrs(int file, FileState& state) {
  constexpr std::size_t kMostBytes = 64U << 10U;
  std::vector<char> names(kMostBytes);
  std::vector<char> value(kMostBytes);
  const ssize_t length = ::flistxattr(file, names.data(), names.size());
  for (ssize_t at = 0; at < length;) {
    const std::string name(&names[static_cast<std::size_t>(at)]);
    const ssize_t size = ::fgetxattr(file, name.c_str(), value.data(), value.size());
    if (size >= 0) state.xattrs.emplace_back(name, std::string(value.data(), static_cast<std::size_t>(size)));
    at += static_cast<ssize_t>(name.size()) + 1;
  }
}

class Walk {
 public:
  Walk(EventSink& sink, const StopWalking& stop, std::uint64_t bound) : sink_(sink), stop_(stop), bound_(bound) {}
  Result<TreeWalkReport> run(const std::string& top);

 private:
  struct Level {
    Directory directory;
    FileReference file;
    std::string path;
    std::uint64_t position = 0;
  };
  Result<FileState> look_at(int parent, const std::string& name, const std::string& path);
  void identify(FileState& state, dev_t device, const FileDescriptor& file);
  Result<void> enter(Level& level, const dirent& entry);

  [[nodiscard]] bool must_stop() const;

  EventSink& sink_;
  const StopWalking& stop_;
  std::uint64_t bound_;
  DeviceId filesystem_;                           // not left
  std::map<dev_t, FilesystemPlace> filesystems_;  // by what stat(2) calls them
  TreeWalkReport report_;
  std::vector<Level> levels_;
};

// As the kernel side identifies files. A file that cannot be opened is where its directory is.
void Walk::identify(FileState& state, dev_t device, const FileDescriptor& file) {
  if (file) state.file.identity.generation = generation_of(file.get());
  auto known = filesystems_.find(device);
  if (known == filesystems_.end() && file)
    if (const auto place = filesystem_of(file.get())) known = filesystems_.emplace(device, *place).first;
  if (known == filesystems_.end()) return;
  state.file.identity.device = known->second.device;
  state.file.identity.subvolume = known->second.subvolume;
}

Result<FileState> Walk::look_at(int parent, const std::string& name, const std::string& path) {
  struct stat info {};
  if (::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return system_failure(fmt::format("looking at {}", path), errno);
  FileState state;
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  state.time = Nanoseconds(now.tv_sec * kNanosecondsPerSecond + now.tv_nsec);
  state.source = StateSource::kSnapshot;
  state.file = {{kernel_device(info.st_dev), 0, InodeNumber(info.st_ino), 0},
                file_kind_of_mode(info.st_mode, FileKind::kUnknown)};
  state.name = name;
  state.path = path;
  state.size = static_cast<std::uint64_t>(info.st_size);
  state.mode = info.st_mode;
  state.links = static_cast<std::uint32_t>(info.st_nlink);
  state.user = info.st_uid;
  state.group = info.st_gid;
  state.modification_time = file_time_nanoseconds(info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  state.blocks = static_cast<std::uint64_t>(info.st_blocks);
  if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) state.special_device = kernel_device(info.st_rdev).value;
  FileDescriptor file;
  if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))
    file.reset(::openat(parent, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOATIME));
  identify(state, info.st_dev, file);
  if (file) read_xattrs(file.get(), state);
  if (S_ISLNK(info.st_mode)) {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlinkat(parent, name.c_str(), target.data(), target.size());
    if (length >= 0) state.link_target = std::string(target.data(), static_cast<std::size_t>(length));
  }
  return state;
}

Result<void> Walk::enter(Level& level, const dirent& entry) {
  const std::string name = entry.d_name;
  const int parent = ::dirfd(level.directory.get());
  const std::string path = level.path == "/" ? "/" + name : level.path + "/" + name;
  auto state = look_at(parent, name, path);
  if (!state) return {};  // gone meanwhile: not there when the command starts
  state->parent = level.file;
  state->directory_position = level.position++;
  const FileReference file = state->file;
  const bool descend = file.kind == FileKind::kDirectory && file.identity.device == filesystem_;
  IOTAPE_TRY(sink_.append(std::move(*state)));
  ++report_.entries;
  if (!descend) return {};
  const int opened = ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOATIME);
  if (opened < 0) return {};
  levels_.push_back({Directory(::fdopendir(opened)), file, path, 0});  // invalidates `level`
  return {};
}

bool Walk::must_stop() const {
  constexpr std::uint64_t kAskEvery = 64;
  return report_.entries >= bound_ || (stop_ && report_.entries % kAskEvery == 0 && stop_());
}

Result<TreeWalkReport> Walk::run(const std::string& top) {
  std::error_code missing;
  const std::string path = std::filesystem::canonical(top, missing).string();
  struct stat info {};
  if (missing || ::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return failure(ErrorCode::kUsage, fmt::format("--snapshot tree={}: no such directory", top));
  IOTAPE_ASSIGN(FileState root, look_at(AT_FDCWD, path, path));
  root.name.clear();
  const FileReference file = root.file;
  filesystem_ = file.identity.device;
  IOTAPE_TRY(sink_.append(std::move(root)));
  levels_.push_back({Directory(::opendir(path.c_str())), file, path, 0});
  while (!levels_.empty()) {
    Level& level = levels_.back();
    const dirent* entry = level.directory ? ::readdir(level.directory.get()) : nullptr;
    if (entry == nullptr) {
      levels_.pop_back();
      continue;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (must_stop()) return report_.complete = false, report_;
    IOTAPE_TRY(enter(level, *entry));
  }
  return report_;
}

}  // namespace

Result<TreeWalkReport> snapshot_tree(const std::string& directory, EventSink& sink, const StopWalking& stop,
                                     std::uint64_t bound) {
  const IdleInputOutput quietly;
  return Walk(sink, stop, bound).run(directory);
}

}  // namespace iotape
