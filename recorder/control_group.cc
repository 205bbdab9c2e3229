#include "recorder/control_group.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "recorder/device_facts.h"

namespace iotape {
namespace {

std::optional<MountInfo> hierarchy() {
  for (MountInfo& mount : read_mounts())
    if (mount.filesystem == "cgroup2") return std::move(mount);
  return std::nullopt;
}

std::size_t components_in(const std::filesystem::path& path) {
  const auto named = [](const std::filesystem::path& part) { return part != "/" && part != "." && !part.empty(); };
  return static_cast<std::size_t>(std::count_if(path.begin(), path.end(), named));
}

}  // namespace

Result<ControlGroup> find_control_group(const std::string& path) {
  const auto mount = hierarchy();
  if (!mount) return failure(ErrorCode::kUnsupported, "--cgroup: no cgroup2 hierarchy is mounted");
  const std::filesystem::path top = mount->mount_point;
  std::error_code missing;
  const std::filesystem::path within = top / std::filesystem::path(path).relative_path();
  for (const std::filesystem::path& candidate : {std::filesystem::path(path), within}) {
    const std::filesystem::path directory = std::filesystem::canonical(candidate, missing);
    struct stat facts {};
    if (missing || ::stat(directory.c_str(), &facts) != 0 || kernel_device(facts.st_dev) != mount->device) continue;
    const std::size_t level = components_in(mount->subtree) + components_in(directory.lexically_relative(top));
    constexpr std::size_t kDeepest = 255;
    if (level > kDeepest) break;
    return ControlGroup{facts.st_ino, static_cast<std::uint8_t>(level)};
  }
  return failure(ErrorCode::kUsage, fmt::format("--cgroup {}: no such control group below {}", path, top.string()));
}

}  // namespace iotape
