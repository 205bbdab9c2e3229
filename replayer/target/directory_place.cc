#include "replayer/target/directory_place.h"
#include "format/base/cold_caches.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "format/base/cold_caches.h"

namespace iotape {
namespace {

struct MountLine {
  std::string filesystem;
  std::string source;
};

// /proc/self/mountinfo: id parent major:minor root point options [tags] - filesystem source options
std::optional<MountLine> mount_of(int descriptor) {
  struct stat state {};
  if (::fstat(descriptor, &state) != 0) return std::nullopt;
  const std::string device = fmt::format("{}:{}", major(state.st_dev), minor(state.st_dev));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id;
    std::string parent;
    std::string number;
    words >> id >> parent >> number;
    const std::size_t separator = line.find(" - ");
    if (number != device || separator == std::string::npos) continue;
    std::istringstream rest(line.substr(separator + 3));
    MountLine mount;
    rest >> mount.filesystem >> mount.source;
    return mount;
  }
  return std::nullopt;
}

DeviceId device_id(dev_t device) { return DeviceId::of(major(device), minor(device)); }

Result<void> check_empty(const std::string& path) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    const std::string name = entry.path().filename();
    if (name == "lost+found") continue;
    return failure(ErrorCode::kUsage,
                   fmt::format("{} is not empty (it holds '{}'); give an empty directory, or --tree existing to replay "
                               "on what is there",
                               path, name));
  }
  if (error) return system_failure("reading " + path, error.value());
  return {};
}

class DirectoryPlace final : public TargetPlace {
 public:
  DirectoryPlace(TargetSpec spec, KeepPolicy keep, FileDescriptor directory, SpaceGuard space)
      : spec_(std::move(spec)), keep_(keep), directory_(std::move(directory)), space_(std::move(space)) {}

  [[nodiscard]] TargetFacts facts() const override {
    TargetFacts facts;
    facts.description = spec_.text();
    facts.filesystem = filesystem_name(directory_.get());
    facts.device = block_device_of(directory_.get());
    facts.notes = notes_;
    return facts;
  }
  [[nodiscard]] SandboxPlan sandbox() const override {
    SandboxPlan plan;
    plan.directory = spec_.place;
    plan.keep = keep_;
    return plan;
  }
  [[nodiscard]] SpaceGuard& space() override { return space_; }
  Result<void> make_cold() override {
    IOTAPE_ASSIGN(std::string note, drop_caches(directory_.get()));
    notes_ = {std::move(note)};
    return {};
  }

 private:
  TargetSpec spec_;
  KeepPolicy keep_;
  FileDescriptor directory_;
  SpaceGuard space_;
  std::vector<std::string> notes_;
};

}  // namespace

std::optional<DeviceId> block_device_of(int descriptor) {
  struct stat state {};
  if (::fstat(descriptor, &state) != 0) return std::nullopt;
  if (major(state.st_dev) != 0) return device_id(state.st_dev);
  const auto mount = mount_of(descriptor);
  struct stat source {};
  if (!mount || ::stat(mount->source.c_str(), &source) != 0 || !S_ISBLK(source.st_mode)) return std::nullopt;
  return device_id(source.st_rdev);
}

std::string filesystem_name(int descriptor) {
  const auto mount = mount_of(descriptor);
  return mount ? mount->filesystem : "unknown";
}

Result<std::string> drop_caches(int descriptor) {
  if (::syncfs(descriptor) != 0) return system_failure("syncing the target", errno);
  if (make_caches_cold()) return "cold: synced, and every page, inode and dentry cache of the machine dropped";
  return "not cold: synced only, since dropping caches takes root";
}

Result<std::unique_ptr<TargetPlace>> make_directory_place(const TargetSpec& spec, const TargetOptions& options) {
  IOTAPE_ASSIGN(const std::uint64_t reserve, spec.size_value("reserve"));
  if (::mkdir(spec.place.c_str(), 0755) != 0 && errno != EEXIST) return system_failure("making " + spec.place, errno);
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(spec.place.c_str(), nullptr), &std::free);
  if (!real) return system_failure(spec.place, errno);
  TargetSpec resolved = spec;
  resolved.place = real.get();
  FileDescriptor directory(::open(resolved.place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return system_failure(resolved.place, errno);
  if (options.tree != TreePolicy::kExisting) IOTAPE_TRY(check_empty(resolved.place));
  FileDescriptor guarded(::fcntl(directory.get(), F_DUPFD_CLOEXEC, 0));
  return std::make_unique<DirectoryPlace>(std::move(resolved), options.keep, std::move(directory),
                                          SpaceGuard(std::move(guarded), reserve));
}

}  // namespace iotape
