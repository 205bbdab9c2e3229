#include "tests/ext3/support/side_by_side/side_by_side.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tests/ext3/support/side_by_side/difference_rules.h"
#include "tests/ext3/support/side_by_side/kernel_side.h"
#include "tests/ext3/support/side_by_side/our_side.h"
#include "tests/ext3/support/volume_image.h"

namespace iotape::ext3::test {
namespace {

constexpr std::size_t kMostDifferencesTold = 8;
constexpr std::ptrdiff_t kMostStepsTold = 40;

MountOptions mount_options(const Scene& scene) {
  MountOptions options;
  options.data = scene.data;
  options.cache_bytes = std::size_t{8} << 20U;
  return options;
}

std::string kernel_options(const Scene& scene) {
  static constexpr const char* kModes[] = {"ordered", "writeback", "journal"};
  return fmt::format("errors=remount-ro,data={}", kModes[static_cast<std::size_t>(scene.data)]);
}

// Where a run stopped.
struct Fault {
  std::size_t step = 0;  // how many had been done, the failing one among them
  bool certain = false;  // the last step showed it; else it came between two comparisons of trees
  std::string kind;      // what differs: sequences that show the same fault have the same one
  std::string text;
};

class Run {
 public:
  Run(const Scene& scene, const SideBySideOptions& options, SideBySideResult& result)
      : scene_(scene),
        options_(options),
        result_(result),
        image_(scene.bytes, scene.filesystem),
        kernels_image_(scratch_ / "kernel") {
    image_.save(kernels_image_);
    std::filesystem::create_directory(scratch_ / "mount");
    mount();
  }

  // By step, after go().
  [[nodiscard]] const std::vector<bool>& succeeded() const { return succeeded_; }

  // Draws steps, or repeats those given. steps: receives what was done.
  std::optional<Fault> go(StepGenerator* generator, std::vector<Step>& steps) {
    const std::size_t count = generator != nullptr ? options_.steps : steps.size();
    for (done_ = 0; done_ < count;) {
      if (generator != nullptr) steps.push_back(generator->next());
      if (auto fault = one(steps[done_], generator)) return fault;
      if (done_ % options_.remount_every == 0) {
        if (auto fault = remount(generator)) return fault;
      } else if (done_ % options_.compare_every == 0) {
        if (auto fault = compare("", ours_->picture(), kernels_->picture())) return fault;
      }
    }
    return finish();
  }

 private:
  void mount() {
    ours_ = std::make_unique<OurSide>(image_.device(), mount_options(scene_));
    kernels_ = std::make_unique<KernelSide>(kernels_image_, scratch_ / "mount", kernel_options(scene_));
  }
  std::optional<Fault> one(const Step& step, StepGenerator* generator) {
    const StepOutcome ours = ours_->issue(step);
    const StepOutcome kernels = kernels_->issue(step);
    ++done_;
    ++result_.steps;
    succeeded_.push_back(ours.ok() || kernels.ok());
    const bool same = ours.value == kernels.value && ours.error == kernels.error && ours.seen == kernels.seen &&
                      ours.names == kernels.names;
    if (same) {
      result_.succeeded += ours.ok() ? 1U : 0U;
      if (generator != nullptr) generator->learn(step, kernels);
      return {};
    }
    const Rule rule = rule_for(step, ours, kernels);
    if (rule.name.empty())
      return Fault{done_, true, fmt::format("{} {} {}", step.number, ours.error, kernels.error),
                   fmt::format("{}\n  ours:   {}\n  kernel: {}\n", describe(step), describe(ours), describe(kernels))};
    ++result_.rules[rule.name];
    mend(rule, step, kernels);
    return {};
  }
  void mend(const Rule& rule, const Step& step, const StepOutcome& kernels) {
    if (rule.mend == Mend::kRewindBoth) {
      Seek seek;
      seek.descriptor = std::get<ReadDirectory>(step.operation).descriptor;
      seek.offset = 0;
      seek.whence = SEEK_SET;
      ours_->issue({SYS_lseek, seek});
      kernels_->issue({SYS_lseek, seek});
    }
    if (rule.mend != Mend::kCloseKernels) return;
    Close close;
    close.descriptor.number = static_cast<std::int32_t>(kernels.value);
    kernels_->issue({SYS_close, close});
  }
  std::optional<Fault> compare(const char* when, const TreePicture& ours, const TreePicture& kernels) {
    std::string text;
    std::string first;
    std::size_t told = 0;
    for (const TreeDifference& difference : compare_trees(ours, kernels)) {
      const Rule rule = rule_for(difference, kernels_ && kernels_->valid() && kernels_->holds_removed());
      if (!rule.name.empty())
        ++result_.rules[rule.name];
      else if (told++ == 0)
        first = difference.field;
      if (rule.name.empty() && told <= kMostDifferencesTold)
        text += fmt::format("{} of {}{}\n  ours:   {}\n  kernel: {}\n", difference.field,
                            printable_bytes(difference.path), when, difference.left, difference.right);
    }
    if (told == 0) return {};
    return Fault{done_, options_.compare_every == 1, first, text};
  }
  std::optional<Fault> remount(StepGenerator* generator) {
    ours_->unmount();
    kernels_->unmount();
    if (generator != nullptr) generator->forget_descriptors();
    const std::string problems = check_text(image_.device());
    if (!problems.empty()) return Fault{done_, false, "checker", "our checker on ours: " + problems};
    mount();
    return compare(" after a remount", ours_->picture(), kernels_->picture());
  }
  // Both checkers on both volumes, and each side reads the other's.
  std::optional<Fault> finish() {
    if (auto fault = compare(" at the end", ours_->picture(), kernels_->picture())) return fault;
    ours_->unmount();
    kernels_->unmount();
    const std::string ours_saved = scratch_ / "ours";
    image_.save(ours_saved);
    auto kernels_disk = load_device(kernels_image_);
    std::string text;
    for (const std::string& path : {ours_saved, kernels_image_}) {
      const auto judged = e2fsck_file(path);
      if (judged.status != 0) text += "e2fsck on " + path + ": " + judged.out;
    }
    text += check_text(image_.device()) + check_text(*kernels_disk);
    if (!text.empty()) return Fault{done_, false, "checker", text};
    OurSide ours_on_kernels(*kernels_disk, mount_options(scene_));
    const TreePicture ours = ours_on_kernels.picture();
    KernelSide kernel_on_ours(ours_saved, scratch_ / "mount", kernel_options(scene_));
    return compare(" when each reads the other's", ours, kernel_on_ours.picture());
  }

  const Scene& scene_;
  const SideBySideOptions& options_;
  SideBySideResult& result_;
  iotape::test::ScratchDirectory scratch_;
  TestVolumeImage image_;
  std::string kernels_image_;
  std::unique_ptr<OurSide> ours_;
  std::unique_ptr<KernelSide> kernels_;
  std::size_t done_ = 0;
  std::vector<bool> succeeded_;
};

// Repeats parts of a sequence that shows a fault: first its beginning alone, then with ever smaller pieces left out.
class Shrinker {
 public:
  Shrinker(const Scene& scene, const SideBySideOptions& options) : scene_(scene), options_(options) {
    options_.remount_every = SIZE_MAX;
  }

  // succeeded: by step. What failed is tried to be left out first, all at once.
  void shrink(std::vector<Step>& steps, const std::vector<bool>& succeeded, Fault& fault) {
    if (!fault.certain) options_.compare_every = 1;
    std::vector<Step> done;
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (succeeded[i] || i + 1 == steps.size()) done.push_back(steps[i]);
    if (shows(done, fault)) steps = done;
    if (!shows(steps, fault)) return;  // a remount belongs to it, or it is a matter of time
    for (std::size_t piece = steps.size() / 2; piece > 0 && runs_ < options_.shrink_runs; piece /= 2)
      for (std::size_t at = 0; at + piece < steps.size() && runs_ < options_.shrink_runs;) {
        std::vector<Step> fewer = steps;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at),
                    fewer.begin() + static_cast<std::ptrdiff_t>(at + piece));
        if (shows(fewer, fault))
          steps = std::move(fewer);
        else
          at += piece;
      }
  }

 private:
  bool shows(std::vector<Step>& steps, Fault& fault) {
    ++runs_;
    SideBySideResult result;
    Run run(scene_, options_, result);
    const auto found = run.go(nullptr, steps);
    if (!found || (found->kind != fault.kind && fault.kind != "checker")) return false;
    fault = *found;
    steps.resize(found->step);
    return true;
  }

  const Scene& scene_;
  SideBySideOptions options_;
  std::size_t runs_ = 0;
};

}  // namespace

SideBySideResult run_side_by_side(const Scene& scene, const SideBySideOptions& options) {
  SideBySideResult result;
  StepGenerator generator(options.seed, scene.mix);
  std::vector<Step> steps;
  std::optional<Fault> fault;
  std::vector<bool> succeeded;
  {
    Run run(scene, options, result);
    fault = run.go(&generator, steps);
    succeeded = run.succeeded();
  }
  if (!fault) return result;
  result.difference =
      fmt::format("{}, seed {}, after {} steps:\n{}", scene.name, options.seed, fault->step, fault->text);
  if (options.shrink_runs == 0) return result;
  steps.resize(fault->step);
  Shrinker(scene, options).shrink(steps, succeeded, *fault);
  result.difference += fmt::format("{} steps show:\n{}", steps.size(), fault->text);
  if (std::ssize(steps) > kMostStepsTold) steps.erase(steps.begin(), steps.end() - kMostStepsTold);
  for (const Step& step : steps) result.difference += "    " + describe(step) + "\n";
  return result;
}

}  // namespace iotape::ext3::test
