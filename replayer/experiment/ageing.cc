#include "replayer/experiment/ageing.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <vector>

#include "format/base/random.h"
#include "format/base/units.h"
#include "format/syscall_numbers.h"
#include "replayer/experiment/direct_calls.h"

namespace iotape {
namespace {

// A home directory of the time: half of the files below 10 KiB, most of the bytes in a few large ones. On a large
// filesystem the files are larger rather than more: a hundred thousand calls age it as well as a million.
constexpr double kSigma = 2.0;
constexpr std::uint64_t kLeastMean = std::uint64_t{48} << 10U;
constexpr std::uint64_t kMostFiles = 60'000;
constexpr std::uint64_t kLargest = std::uint64_t{64} << 20U;
constexpr std::uint64_t kPiece = std::uint64_t{1} << 20U;
constexpr std::uint64_t kFilesPerDirectory = 40;
constexpr std::uint64_t kMostDirectories = 2'000;

Result<std::uint64_t> size_of(const TargetSpec& spec) {
  if (spec.kind == "ext3" || spec.kind == "kernel") return spec.size_value("size");
  std::error_code error;
  const auto space = std::filesystem::space(spec.place, error);
  if (spec.kind == "dir" && !error) return space.capacity;
  return failure(ErrorCode::kUsage, fmt::format("{} cannot be aged: it has no size", spec.text()));
}

class Ageing {
 public:
  Ageing(DirectCalls calls, const ExperimentAge& age, std::uint64_t size, const std::function<bool()>& stopped)
      : calls_(calls), random_(age.seed), stopped_(stopped) {
    wanted_ = size / 100 * age.fill_percent;
    mean_ = std::max(kLeastMean, wanted_ / kMostFiles);
    churn_ = age.churn;
  }

  Result<void> run() {
    IOTAPE_TRY(
        calls_.expect(call_number::mkdirat, MakeDirectory{inside_target(std::string(kAgedDirectory)), 0755}, "ageing"));
    const std::uint64_t files = std::max<std::uint64_t>(wanted_ / mean_, 1);
    const std::uint64_t directories = std::clamp<std::uint64_t>(files / kFilesPerDirectory, 1, kMostDirectories);
    for (std::uint64_t i = 0; i < directories; ++i) IOTAPE_TRY(make_directory());
    IOTAPE_TRY(fill());
    const std::uint64_t replaced = files_.size() * churn_ / 100;
    for (std::uint64_t i = 0; i < replaced && !files_.empty(); ++i) {
      IOTAPE_TRY(remove_one());
      IOTAPE_TRY(fill());
    }
    return calls_.end();
  }

 private:
  struct File {
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    std::uint32_t directory = 0;
  };

  // Most directories lie at the top, where an allocator spreads them; a third lie in others.
  Result<void> make_directory() {
    std::string path = std::string(kAgedDirectory);
    constexpr std::uint64_t kNestedOneIn = 3;
    if (!directories_.empty() && random_.below(kNestedOneIn) == 0)
      path = directories_[random_.below(directories_.size())];
    path += fmt::format("/d{}", directories_.size());
    IOTAPE_TRY(calls_.expect(call_number::mkdirat, MakeDirectory{inside_target(path), 0755}, "ageing"));
    directories_.push_back(std::move(path));
    return {};
  }

  // The whole numbers of the wanted fill are reached by what the files hold; what the filesystem itself uses comes
  // on top, as it did in the real ones.
  Result<void> fill() {
    while (held_ < wanted_ && !full_) {
      if (stopped_()) return failure(ErrorCode::kInterrupted, "interrupted");
      IOTAPE_TRY(make_one());
    }
    return {};
  }

  [[nodiscard]] std::uint64_t next_size() {
    const double factor = std::exp(kSigma * random_.normal() - kSigma * kSigma / 2);
    return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(factor * static_cast<double>(mean_)), 1, kLargest);
  }
  [[nodiscard]] std::string path_of(const File& file) const {
    return fmt::format("{}/f{}", directories_[file.directory], file.number);
  }

  Result<void> make_one() {
    File file{next_number_++, next_size(), static_cast<std::uint32_t>(random_.below(directories_.size()))};
    Open open;
    open.path = inside_target(path_of(file));
    open.flags = O_WRONLY | O_CREAT | O_EXCL;
    open.mode = 0644;
    IOTAPE_ASSIGN(const Completion opened, calls_.call(call_number::openat, std::move(open)));
    // A filesystem that has no more room is as full as it can be.
    if (opened.outcome.error_number == ENOSPC) return full_ = true, Result<void>{};
    if (!opened.outcome.ok()) return system_failure("ageing: making a file", opened.outcome.error_number);
    const auto handle = static_cast<std::int32_t>(opened.outcome.value);
    std::uint64_t done = 0;
    while (done < file.bytes && !full_) {
      const std::uint64_t piece = std::min(kPiece, file.bytes - done);
      Write write;
      write.descriptor.number = handle;
      write.length = static_cast<std::int64_t>(piece);
      IOTAPE_ASSIGN(const Completion written, calls_.call(call_number::write, std::move(write)));
      full_ = !written.outcome.ok() || written.skipped != SkipReason::kIssued;
      if (full_ && written.outcome.error_number != ENOSPC && written.outcome.error_number != 0)
        return system_failure("ageing: writing", written.outcome.error_number);
      done += full_ ? 0 : piece;
    }
    Close close;
    close.descriptor.number = handle;
    IOTAPE_TRY(calls_.expect(call_number::close, close, "ageing"));
    file.bytes = done;
    held_ += done;
    files_.push_back(file);
    return {};
  }

  Result<void> remove_one() {
    const std::size_t index = random_.below(files_.size());
    IOTAPE_TRY(calls_.expect(call_number::unlinkat, Unlink{inside_target(path_of(files_[index])), 0}, "ageing"));
    held_ -= files_[index].bytes;
    files_[index] = files_.back();
    files_.pop_back();
    full_ = false;
    return {};
  }

  DirectCalls calls_;
  Random random_;
  const std::function<bool()>& stopped_;
  std::uint64_t wanted_ = 0;
  std::uint64_t mean_ = 0;
  std::uint32_t churn_ = 0;
  std::vector<std::string> directories_;
  std::vector<File> files_;
  std::uint64_t next_number_ = 0;
  std::uint64_t held_ = 0;
  bool full_ = false;
};

}  // namespace

Result<void> age_target(Target& target, const TargetSpec& spec, const ExperimentAge& age,
                        const std::function<bool()>& stopped) {
  IOTAPE_ASSIGN(const std::uint64_t size, size_of(spec));
  IOTAPE_ASSIGN(DirectCalls calls, DirectCalls::begin(target));
  return Ageing(calls, age, size, stopped).run();
}

}  // namespace iotape
