#include "format/trace_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "format/foreign_file.h"

namespace iotape {
Result<std::unique_ptr<TraceReader>> open_trace(const std::string& path, ReaderOptions options) {
  const auto foreign = path == "-" ? std::nullopt : recognise_foreign_file(path);
  if (foreign)
    return failure(ErrorCode::kUnsupported, fmt::format("{} is {}, no trace of iotape{}{}", path, foreign->what,
                                                        foreign->remedy.empty() ? "" : "; ", foreign->remedy));
  return TraceReader::open(path, options);
}

Result<FileDescriptor> create_output(const std::string& path, bool force) {
  if (path == "-") {
    FileDescriptor output(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!output) return system_failure("writing to standard output", errno);
    return output;
  }
  FileDescriptor output(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), kTraceMode));
  if (!output && errno == EEXIST)
    return failure(ErrorCode::kUsage, fmt::format("{} exists already; --force overwrites it", path));
  if (!output) return system_failure("creating " + path, errno);
  return output;
}

void remove_output(const std::string& path) {
  struct stat status {};
  if (path != "-" && ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) ::unlink(path.c_str());
}

Result<TraceFile> TraceFile::create(const std::string& path, bool force, TraceHeader header, std::string history) {
  IOTAPE_ASSIGN(OutputFile file, OutputFile::create(path, force));
  IOTAPE_ASSIGN(FileDescriptor output, file.descriptor());
  header.history.push_back({std::move(history), IOTAPE_VERSION});
  WriterOptions options;
  options.resolution = header.resolution;
  options.name = path;
  IOTAPE_ASSIGN(auto writer, TraceWriter::create(std::move(output), std::move(header), options));
  return TraceFile(std::move(file), std::move(writer));
}

Result<void> TraceFile::finish(TraceTotals totals) {
  IOTAPE_TRY(writer_->finish(std::move(totals)));
  return file_.commit();
}

bool is_same_file(const std::string& a, const std::string& b) {
  if (a == "-" || b == "-" || a.empty() || b.empty()) return false;
  struct stat left {};
  struct stat right {};
  const bool left_is_there = ::stat(a.c_str(), &left) == 0;
  const bool right_is_there = ::stat(b.c_str(), &right) == 0;
  if (left_is_there && right_is_there) return left.st_dev == right.st_dev && left.st_ino == right.st_ino;
  std::error_code unknown;
  return !left_is_there && !right_is_there &&
         std::filesystem::weakly_canonical(a, unknown) == std::filesystem::weakly_canonical(b, unknown);
}

Result<void> check_output(const std::string& output, const std::vector<std::string>& needed) {
  for (const std::string& file : needed)
    if (is_same_file(output, file))
      return failure(ErrorCode::kUsage,
                     fmt::format("{} would be overwritten by what is made from it; choose another output", output));
  return {};
}

std::string file_name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace iotape
