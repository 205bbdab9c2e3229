#include "replayer/target/fresh_place.h"

#include <fmt/format.h>

#include <filesystem>

namespace iotape {

namespace fs = std::filesystem;

Result<FreshPlace> FreshPlace::claim(const TargetSpec& spec) {
  std::error_code ignored;
  if (spec.kind == "dir") {
    // Whether it is empty is judged by the target itself, which also knows what does not count.
    return FreshPlace(What::kDirectory, spec.place);
  }
  if (spec.kind != "ext3" || spec.place.empty()) return FreshPlace(What::kNothing, {});
  if (fs::exists(spec.place, ignored))
    return failure(
        ErrorCode::kUsage,
        fmt::format("{} exists: every run makes its own filesystem; name an image that is not there yet", spec.place));
  return FreshPlace(What::kImage, spec.place);
}

Result<void> FreshPlace::empty() const {
  if (what_ == What::kDirectory) return empty_directory(path_);
  std::error_code error;
  if (what_ == What::kImage) fs::remove(path_, error);
  if (error) return system_failure("removing " + path_, error.value());
  return {};
}

Result<void> empty_directory(const std::string& directory) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().filename() == "lost+found") continue;
    fs::remove_all(entry.path(), error);
    if (error) break;
  }
  if (error) return system_failure(fmt::format("emptying {} for the next run", directory), error.value());
  return {};
}

}  // namespace iotape
