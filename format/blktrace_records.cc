#include "format/blktrace_records.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "format/input_file.h"

namespace iotape {
namespace {

// As the kernel writes it, in the byte order of the machine that traced.
struct RawRecord {
  std::uint32_t magic;
  std::uint32_t sequence;
  std::uint64_t time;
  std::uint64_t sector;
  std::uint32_t bytes;
  std::uint32_t action;
  std::uint32_t process;
  std::uint32_t device;
  std::uint32_t cpu;
  std::uint16_t error;
  std::uint16_t payload_bytes;
};
static_assert(sizeof(RawRecord) == 48 && alignof(RawRecord) == 8);

constexpr std::uint32_t kMagic = 0x65617407;  // "eat" and version 7
constexpr std::size_t kReadBytes = 1U << 18U;
constexpr std::uint16_t kCgroupFlag = 1U << 8U;  // the payload begins with a cgroup id
constexpr std::size_t kCgroupBytes = 8;
constexpr std::size_t kReorderRecords = 32'768;
// Of a payload: command names, messages (the kernel's are at most 128 bytes) and remaps are shorter; the commands of
// passthrough requests are not looked at. Records wait in memory, so what is not needed is not kept.
constexpr std::size_t kKeptPayloadBytes = 256;

template <typename T>
void swap_bytes(T& value) {
  auto bytes = std::bit_cast<std::array<unsigned char, sizeof(T)>>(value);
  std::reverse(bytes.begin(), bytes.end());
  value = std::bit_cast<T>(bytes);
}

void swap_record(RawRecord& raw) {
  swap_bytes(raw.magic), swap_bytes(raw.sequence), swap_bytes(raw.time), swap_bytes(raw.sector);
  swap_bytes(raw.bytes), swap_bytes(raw.action), swap_bytes(raw.process), swap_bytes(raw.device);
  swap_bytes(raw.cpu), swap_bytes(raw.error), swap_bytes(raw.payload_bytes);
}

std::uint32_t magic_at(const unsigned char* bytes) {
  std::uint32_t magic = 0;
  std::memcpy(&magic, bytes, sizeof(magic));
  return magic;
}

bool is_magic(std::uint32_t magic) { return magic == kMagic || __builtin_bswap32(magic) == kMagic; }

BlktraceRecord decode(const RawRecord& raw, bool swapped) {
  BlktraceRecord record;
  record.sequence = raw.sequence;
  record.time = Nanoseconds(static_cast<std::int64_t>(raw.time));
  record.sector = Sectors(static_cast<std::int64_t>(raw.sector));
  record.bytes = raw.bytes;
  record.action = static_cast<std::uint16_t>(raw.action & 0xFFFFU & ~std::uint32_t{kCgroupFlag});
  record.category = raw.action >> 16U;
  record.process = static_cast<std::int32_t>(raw.process);
  record.device = DeviceId(raw.device);
  record.cpu = static_cast<std::int32_t>(raw.cpu);
  record.error = raw.error;
  record.swapped = swapped;
  return record;
}

namespace fs = std::filesystem;

bool is_per_cpu_name(const std::string& name) {
  const std::size_t at = name.rfind(".blktrace.");
  if (at == std::string::npos) return false;
  const std::string cpu = name.substr(at + std::strlen(".blktrace."));
  return !cpu.empty() && cpu.find_first_not_of("0123456789") == std::string::npos;
}

// All NAME.blktrace.N in a directory; an empty base means every NAME.
std::vector<std::string> per_cpu_files(const fs::path& directory, const std::string& base) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory.empty() ? fs::path(".") : directory, error)) {
    const std::string name = entry.path().filename().string();
    if (is_per_cpu_name(name) && (base.empty() || name.substr(0, name.rfind(".blktrace.")) == base))
      files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> files_of(const std::string& path) {
  if (path == "-") return {path};
  const fs::path given(path);
  std::error_code error;
  if (fs::is_directory(given, error)) return per_cpu_files(given, "");
  const std::string name = given.filename().string();
  if (is_per_cpu_name(name)) return per_cpu_files(given.parent_path(), name.substr(0, name.rfind(".blktrace.")));
  if (fs::exists(given, error)) return {path};
  return per_cpu_files(given.parent_path(), name);
}

}  // namespace

BlktraceFile::BlktraceFile(FileDescriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

Result<bool> BlktraceFile::have(std::size_t bytes) {
  while (buffer_.size() - position_ < bytes && !ended_) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(position_));
    position_ = 0;
    const std::size_t kept = buffer_.size();
    buffer_.resize(kept + kReadBytes);
    ssize_t got = 0;
    do got = ::read(file_.get(), buffer_.data() + kept, kReadBytes);
    while (got < 0 && errno == EINTR);
    buffer_.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0) return system_failure("cannot read " + name_, errno);
    ended_ = got == 0;
  }
  return buffer_.size() - position_ >= bytes;
}

// Skips to the next magic number. False when there is none.
Result<bool> BlktraceFile::find_magic() {
  bool skipped = false;
  while (true) {
    IOTAPE_ASSIGN(const bool more, have(sizeof(RawRecord)));
    if (!more) break;
    if (is_magic(magic_at(buffer_.data() + position_))) {
      damaged_ += skipped ? 1 : 0;
      return true;
    }
    skipped = true;
    ++position_;
  }
  torn_end_ = position_ < buffer_.size() || skipped;
  return false;
}

Result<std::optional<BlktraceRecord>> BlktraceFile::next() {
  IOTAPE_ASSIGN(const bool found, find_magic());
  if (!found) return std::nullopt;
  RawRecord raw{};
  std::memcpy(&raw, buffer_.data() + position_, sizeof(raw));
  const bool swapped = raw.magic != kMagic;
  if (swapped) swap_record(raw);
  IOTAPE_ASSIGN(const bool whole, have(sizeof(raw) + raw.payload_bytes));
  if (!whole) {
    torn_end_ = true;
    position_ = buffer_.size();
    return std::nullopt;
  }
  BlktraceRecord record = decode(raw, swapped);
  const bool has_cgroup = (raw.action & kCgroupFlag) != 0 && raw.payload_bytes >= kCgroupBytes;
  const std::size_t skipped = has_cgroup ? kCgroupBytes : 0;
  const auto* payload = reinterpret_cast<const char*>(buffer_.data() + position_ + sizeof(raw));
  record.payload.assign(payload + skipped, std::min(raw.payload_bytes - skipped, kKeptPayloadBytes));
  position_ += sizeof(raw) + raw.payload_bytes;
  return record;
}

Result<std::unique_ptr<BlktraceStream>> BlktraceStream::open(const std::string& path) {
  const auto paths = files_of(path);
  if (paths.empty())
    return failure(
        ErrorCode::kNotFound,
        fmt::format("no blktrace files at {}: give a file, a prefix NAME of NAME.blktrace.0, or a directory", path));
  auto stream = std::make_unique<BlktraceStream>();
  for (const std::string& one : paths) {
    IOTAPE_ASSIGN(FileDescriptor file, open_input(one));
    stream->files_.push_back(std::make_unique<BlktraceFile>(std::move(file), one));
  }
  for (std::size_t i = 0; i < stream->files_.size(); ++i)
    for (std::size_t depth = 0; depth < kReorderRecords / stream->files_.size() + 1; ++depth) {
      IOTAPE_ASSIGN(const bool more, stream->refill(i));
      if (!more) break;
    }
  return stream;
}

Result<bool> BlktraceStream::refill(std::size_t file) {
  IOTAPE_ASSIGN(auto record, files_[file]->next());
  if (!record) return false;
  waiting_.push({std::move(*record), arrivals_++, file});
  return true;
}

Result<std::optional<BlktraceRecord>> BlktraceStream::next() {
  if (waiting_.empty()) return std::nullopt;
  Waiting first = waiting_.top();
  waiting_.pop();
  IOTAPE_TRY(refill(first.file));
  return std::move(first.record);
}

std::uint64_t BlktraceStream::damaged_stretches() const {
  std::uint64_t sum = 0;
  for (const auto& file : files_) sum += file->damaged_stretches();
  return sum;
}

std::uint64_t BlktraceStream::torn_ends() const {
  return static_cast<std::uint64_t>(
      std::count_if(files_.begin(), files_.end(), [](const auto& file) { return file->torn_end(); }));
}

}  // namespace iotape
