// QueuedRequest: one request as it waits for the disk: consecutive sectors, and the pieces of submitted I/O that they
// were merged from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "format/event.h"
#include "replayer/ext3/device/block_device.h"

namespace iotape::machine {

// What somebody submitted; it has ended when all its pieces have.
struct SubmittedIo {
  std::unique_ptr<ext3::IoRequest> request;
  std::uint32_t pieces = 0;  // that the disk has not served yet
  Nanoseconds queued;
  ThreadKey submitter;
  std::optional<Nanoseconds> call_start;
};

// A stretch of it that went into one request.
struct QueuedPiece {
  std::shared_ptr<SubmittedIo> io;
  std::int64_t sector = 0;  // on the disk
  std::uint32_t first_part = 0;
  std::uint32_t part_count = 0;
};

struct QueuedRequest {
  bool write = false;
  std::int64_t start = 0;   // sectors of the disk
  std::int64_t length = 0;  // sectors
  Nanoseconds arrival;      // of the oldest piece
  std::uint64_t sequence = 0;
  std::vector<QueuedPiece> pieces;  // by sector
  [[nodiscard]] std::int64_t end() const { return start + length; }
};

}  // namespace iotape::machine
