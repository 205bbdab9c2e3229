#include "replayer/experiment/step_trace.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

namespace iotape {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20U;

Result<std::size_t> read_at(const FileDescriptor& file, std::vector<char>& into, off_t offset) {
  std::size_t have = 0;
  while (have < into.size()) {
    const ssize_t got = ::pread(file.get(), into.data() + have, into.size() - have, offset + static_cast<off_t>(have));
    if (got < 0) return system_failure("comparing two runs", errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  return have;
}

}  // namespace

Result<StepTrace> StepTrace::create(const std::string& path, bool force) {
  const bool kept = !path.empty();
  std::error_code ignored;
  const std::string place =
      kept ? path
           : (std::filesystem::temp_directory_path(ignored) / fmt::format("iotape-experiment-{}", ::getpid())).string();
  IOTAPE_ASSIGN(OutputFile file, OutputFile::create(place, kept ? force : true));
  return StepTrace(std::move(file), kept ? path : "the step's trace", kept);
}

Result<void> StepTrace::keep() { return kept_ ? file_.commit() : Result<void>{}; }

Result<bool> same_bytes(const FileDescriptor& a, const FileDescriptor& b) {
  std::vector<char> ours(kPiece);
  std::vector<char> theirs(kPiece);
  for (off_t at = 0;; at += static_cast<off_t>(kPiece)) {
    IOTAPE_ASSIGN(const std::size_t have, read_at(a, ours, at));
    IOTAPE_ASSIGN(const std::size_t others, read_at(b, theirs, at));
    if (have != others || !std::equal(ours.begin(), ours.begin() + static_cast<std::ptrdiff_t>(have), theirs.begin()))
      return false;
    if (have < kPiece) return true;
  }
}

}  // namespace iotape
