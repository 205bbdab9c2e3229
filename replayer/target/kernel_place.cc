#include "replayer/target/kernel_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <optional>

#include "format/base/command.h"
#include "replayer/target/child_process.h"
#include "replayer/target/loop_device.h"
#include "replayer/target/run_tool.h"

namespace iotape {
namespace {

// How each filesystem is made: quietly, over whatever was there, all at once (nothing left to initialise in the
// background while a replay is timed), and without discarding, since a new image holds nothing.
struct FilesystemKind {
  std::string_view name;
  std::string_view package;  // Debian's
  std::string_view words;
};
constexpr std::array kFilesystems{
    FilesystemKind{"ext2", "e2fsprogs", "-q -F -E nodiscard,lazy_itable_init=0"},
    FilesystemKind{"ext3", "e2fsprogs", "-q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0"},
    FilesystemKind{"ext4", "e2fsprogs", "-q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0"},
    FilesystemKind{"xfs", "xfsprogs", "-q -f -K"},
    FilesystemKind{"btrfs", "btrfs-progs", "-q -f -K"},
};

Result<FilesystemKind> find_filesystem(const std::string& name) {
  const auto* found = std::ranges::find(kFilesystems, name, &FilesystemKind::name);
  if (found != kFilesystems.end()) return *found;
  std::vector<std::string> names;
  names.reserve(kFilesystems.size());
  for (const FilesystemKind& kind : kFilesystems) names.emplace_back(kind.name);
  const std::string nearest = nearest_word(name, names);
  return failure(ErrorCode::kUsage, fmt::format("kernel: cannot make '{}'{} (it makes {})", name,
                                                nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
                                                fmt::join(names, " ")));
}

void append_words(std::vector<std::string>& words, std::string_view text) {
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    if (space > 0) words.emplace_back(text.substr(0, space));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
}

Result<void> make_filesystem(const FilesystemKind& kind, const std::string& more, const std::string& device) {
  const std::string name = fmt::format("mkfs.{}", kind.name);
  const auto tool = find_tool(name);
  if (!tool)
    return failure(ErrorCode::kNotFound,
                   fmt::format("{} is not installed; it is in the package {}", name, kind.package));
  std::vector<std::string> words{*tool};
  append_words(words, kind.words);
  append_words(words, more);
  words.push_back(device);
  IOTAPE_ASSIGN(const ToolOutput output, run_tool(words));
  if (output.wait_status == 0) return {};
  const std::string said = complaint_of(output.text);
  return failure(ErrorCode::kIo,
                 fmt::format("{} {}: {}; size= (or dev=) and mkfs= of the target decide what it is asked to make",
                             fmt::join(words, " "), describe_wait_status(output.wait_status),
                             said.empty() ? "it did not say why" : said));
}

// Opens a device nobody may be using; needs the user's explicit word since everything on it is lost.
Result<FileDescriptor> open_named_device(const std::string& path, const TargetOptions& options) {
  struct stat state {};
  if (::stat(path.c_str(), &state) != 0) return system_failure(path, errno);
  if (!S_ISBLK(state.st_mode)) return failure(ErrorCode::kUsage, path + " is not a block device");
  const bool allowed = std::ranges::any_of(options.allow_writes, [&](const std::string& name) {
    struct stat other {};
    return ::stat(name.c_str(), &other) == 0 && S_ISBLK(other.st_mode) && other.st_rdev == state.st_rdev;
  });
  if (!allowed)
    return failure(ErrorCode::kUsage,
                   fmt::format("all data on {} would be lost; say --allow-writes {} if that is meant", path, path));
  FileDescriptor device(::open(path.c_str(), O_RDWR | O_EXCL | O_CLOEXEC));
  if (!device) return system_failure(path + (errno == EBUSY ? " is mounted or in use" : ""), errno);
  // Held without the exclusive claim, which would keep the mount out.
  device.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!device) return system_failure(path, errno);
  return device;
}

void forget_cached_blocks(int device) {
  ::fsync(device);
  ::ioctl(device, BLKFLSBUF, 0);
}

class KernelPlace final : public TargetPlace {
 public:
  KernelPlace(TargetSpec spec, KeepPolicy keep, SpaceGuard space, std::string scratch)
      : spec_(std::move(spec)), keep_(keep), space_(std::move(space)), scratch_(std::move(scratch)) {}
  ~KernelPlace() override {
    // The worker is gone by now; waiting for its mount means that nothing is left when the target is.
    if (device_descriptor() >= 0) static_cast<void>(settle());
  }

  Result<void> use_image(std::uint64_t bytes, bool direct) {
    IOTAPE_ASSIGN(loop_, LoopDevice::make(scratch_, bytes, direct));
    path_ = loop_->path();
    id_ = loop_->id();
    if (direct && !loop_->direct())
      notes_.emplace_back("the image's own filesystem caches too: it cannot do direct I/O");
    return {};
  }
  Result<void> use_device(const std::string& path, FileDescriptor device) {
    struct stat state {};
    if (::fstat(device.get(), &state) != 0) return system_failure(path, errno);
    path_ = path;
    id_ = DeviceId::of(major(state.st_rdev), minor(state.st_rdev));
    device_ = std::move(device);
    return {};
  }
  Result<void> make_fresh(const FilesystemKind& kind) {
    IOTAPE_TRY(make_filesystem(kind, spec_.value("mkfs"), path_));
    forget_cached_blocks(device_descriptor());
    return {};
  }

  [[nodiscard]] TargetFacts facts() const override {
    TargetFacts facts;
    facts.description = spec_.text();
    facts.filesystem = spec_.place;
    facts.device = id_;
    facts.notes = notes_;
    return facts;
  }
  [[nodiscard]] SandboxPlan sandbox() const override {
    const MountOptions options = parse_mount_options(spec_.value("mount"));
    SandboxPlan plan;
    plan.directory = scratch_;
    plan.device = path_;
    plan.filesystem = spec_.place;
    plan.mount_flags = options.flags;
    plan.mount_data = options.data;
    plan.keep = keep_;
    return plan;
  }
  [[nodiscard]] SpaceGuard& space() override { return space_; }

  Result<void> make_cold() override {
    IOTAPE_TRY(settle());
    forget_cached_blocks(device_descriptor());
    if (loop_) loop_->drop_image_cache();
    return {};
  }

  // The kernel unmounts after the process has been reaped. A mounted device cannot be claimed.
  Result<void> settle() override {
    constexpr int kAttempts = 3'000;
    constexpr timespec kPause{0, 10'000'000};
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (FileDescriptor(::open(path_.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC))) return {};
      if (errno != EBUSY) return system_failure(path_, errno);
      ::nanosleep(&kPause, nullptr);
    }
    return failure(ErrorCode::kIo, path_ + " is still in use 30 s after the replay ended");
  }

 private:
  [[nodiscard]] int device_descriptor() const { return loop_ ? loop_->descriptor() : device_.get(); }

  TargetSpec spec_;
  KeepPolicy keep_;
  SpaceGuard space_;
  std::string scratch_;
  std::optional<LoopDevice> loop_;
  FileDescriptor device_;
  std::string path_;
  DeviceId id_;
  std::vector<std::string> notes_;
};

Result<void> check_can_make(const TargetSpec& spec, const TargetOptions& options) {
  if (::geteuid() != 0)
    return failure(ErrorCode::kUnsupported,
                   "kernel: targets make and mount a filesystem, which takes root; try sudo, or a dir: target");
  if (options.tree == TreePolicy::kExisting && !spec.given("dev"))
    return failure(
        ErrorCode::kUsage,
        "--tree existing makes no sense on a filesystem that is made for the run; give dev= or a dir: target");
  if (spec.given("dev") && spec.given("size"))
    return failure(ErrorCode::kUsage, "kernel: dev= has its own size; size= is for images");
  return {};
}

}  // namespace

MountOptions parse_mount_options(std::string_view text) {
  struct Flag {
    std::string_view name;
    unsigned long flag;
  };
  static constexpr std::array<Flag, 11> kFlags{{{"ro", MS_RDONLY},
                                                {"noatime", MS_NOATIME},
                                                {"nodiratime", MS_NODIRATIME},
                                                {"relatime", MS_RELATIME},
                                                {"strictatime", MS_STRICTATIME},
                                                {"lazytime", MS_LAZYTIME},
                                                {"sync", MS_SYNCHRONOUS},
                                                {"dirsync", MS_DIRSYNC},
                                                {"nodev", MS_NODEV},
                                                {"nosuid", MS_NOSUID},
                                                {"noexec", MS_NOEXEC}}};
  MountOptions options;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const auto* flag = std::ranges::find(kFlags, word, &Flag::name);
    if (flag != kFlags.end()) {
      options.flags |= flag->flag;
    } else if (!word.empty()) {
      options.data += (options.data.empty() ? "" : ",") + std::string(word);
    }
  }
  return options;
}

Result<std::unique_ptr<TargetPlace>> make_kernel_place(const TargetSpec& given, const TargetOptions& options) {
  IOTAPE_ASSIGN(const FilesystemKind kind, find_filesystem(given.place));
  IOTAPE_TRY(check_can_make(given, options));
  IOTAPE_ASSIGN(const std::uint64_t reserve, given.size_value("reserve"));
  IOTAPE_ASSIGN(const std::uint64_t size, given.size_value("size"));
  IOTAPE_ASSIGN(const bool direct, given.switch_value("direct"));
  TargetSpec spec = given;
  const std::string device = spec.value("dev");
  if (device.empty()) spec.set("size", spec.value("size"));
  const std::string scratch = spec.value("scratch");
  FileDescriptor directory(::open(scratch.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return system_failure(scratch, errno);
  // What a device takes is its own; an image grows on the filesystem below it.
  SpaceGuard space = device.empty() ? SpaceGuard(std::move(directory), reserve) : SpaceGuard::unlimited();
  auto place = std::make_unique<KernelPlace>(spec, options.keep, std::move(space), scratch);
  if (device.empty()) {
    IOTAPE_TRY(place->use_image(size, direct));
  } else {
    IOTAPE_ASSIGN(FileDescriptor opened, open_named_device(device, options));
    IOTAPE_TRY(place->use_device(device, std::move(opened)));
  }
  if (options.tree != TreePolicy::kExisting) IOTAPE_TRY(place->make_fresh(kind));
  return place;
}

}  // namespace iotape
