// The records of blktrace files: layout, byte order, merging of per-CPU files. Used by blktrace_importer only.
// Source of the layout: the kernel's include/uapi/linux/blktrace_api.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "format/base/file_descriptor.h"
#include "format/base/result.h"
#include "format/base/strong_id.h"

namespace iotape {

enum class BlktraceAction : std::uint16_t {
  kQueue = 1,
  kRequeue = 6,
  kIssue = 7,
  kComplete = 8,
  kRemap = 15,
};
enum class BlktraceNotice : std::uint16_t { kProcess = 0, kTimestamp = 1, kMessage = 2 };

// Bits of BlktraceRecord::category.
inline constexpr std::uint32_t kBlktraceRead = 1U << 0U;
inline constexpr std::uint32_t kBlktraceWrite = 1U << 1U;
inline constexpr std::uint32_t kBlktraceFlush = 1U << 2U;
inline constexpr std::uint32_t kBlktraceSync = 1U << 3U;
inline constexpr std::uint32_t kBlktracePassthrough = 1U << 9U;
inline constexpr std::uint32_t kBlktraceNotify = 1U << 10U;
inline constexpr std::uint32_t kBlktraceReadAhead = 1U << 11U;
inline constexpr std::uint32_t kBlktraceMetadata = 1U << 12U;
inline constexpr std::uint32_t kBlktraceDiscard = 1U << 13U;
inline constexpr std::uint32_t kBlktraceForceUnitAccess = 1U << 15U;

struct BlktraceRecord {
  std::uint32_t sequence = 0;
  Nanoseconds time;
  Sectors sector;
  std::int64_t bytes = 0;
  std::uint16_t action = 0;    // BlktraceAction, or BlktraceNotice when category has kBlktraceNotify
  std::uint32_t category = 0;  // kBlktrace* bits
  std::int32_t process = 0;
  DeviceId device;
  std::int32_t cpu = 0;
  std::uint16_t error = 0;
  std::string payload;
  bool swapped = false;  // the file's byte order is not this machine's
};

// One file, record by record.
class BlktraceFile {
 public:
  BlktraceFile(FileDescriptor file, std::string name);

  // nullopt at the end. Damage is skipped and counted.
  Result<std::optional<BlktraceRecord>> next();
  [[nodiscard]] std::uint64_t damaged_stretches() const { return damaged_; }
  [[nodiscard]] bool torn_end() const { return torn_end_; }

 private:
  // Makes sure that so many bytes lie at position_, reading on; false at the end of the file.
  Result<bool> have(std::size_t bytes);
  Result<bool> find_magic();

  FileDescriptor file_;
  std::string name_;
  std::vector<unsigned char> buffer_;
  std::size_t position_ = 0;
  std::uint64_t damaged_ = 0;
  bool torn_end_ = false;
  bool ended_ = false;
};

// Several files in the order of their records' times.
class BlktraceStream {
 public:
  static Result<std::unique_ptr<BlktraceStream>> open(const std::string& path);

  Result<std::optional<BlktraceRecord>> next();
  [[nodiscard]] std::uint64_t damaged_stretches() const;
  [[nodiscard]] std::uint64_t torn_ends() const;

 private:
  struct Waiting {
    BlktraceRecord record;
    std::uint64_t arrival;
    std::size_t file;
  };
  struct Later {
    bool operator()(const Waiting& a, const Waiting& b) const {
      return a.record.time != b.record.time ? b.record.time < a.record.time : b.arrival < a.arrival;
    }
  };
  Result<bool> refill(std::size_t file);  // false when it has ended

  std::vector<std::unique_ptr<BlktraceFile>> files_;
  std::priority_queue<Waiting, std::vector<Waiting>, Later> waiting_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace iotape
