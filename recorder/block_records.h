// Takes the block layer's records (recorder/block_wire.h) and gives BlockRequest events, by way of the assembler.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "recorder/block_wire.h"
#include "recorder/kernel_threads.h"
#include "recorder/record_handler.h"
#include "recorder/request_assembler.h"

namespace iotape {

// The errno of a completion: the kernel says a positive blk_status_t, before 5.16 a negative errno; 0 stays 0.
[[nodiscard]] std::int32_t errno_of_status(std::int32_t status);

class BlockRecords : public RecordHandler {
 public:
  // Called once, when recording has ended: the requests that are still under way, as the kernel side keeps them.
  using UnderWay = std::function<std::vector<wire_request>()>;

  explicit BlockRecords(UnderWay under_way, RequestAssembler::Limits limits = {})
      : under_way_(std::move(under_way)), assembler_(limits) {}

  Result<void> handle(std::span<const std::byte> record, EventSink& sink) override;
  Result<void> finish(EventSink& sink) override;

  [[nodiscard]] const RequestAssembler::Counts& counts() const { return assembler_.counts(); }
  // Records of block kinds whose length is not theirs.
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

 private:
  Result<void> take(const wire_request& record, EventSink& sink);

  UnderWay under_way_;
  KernelThreads kernel_threads_;
  RequestAssembler assembler_;
  std::uint64_t malformed_ = 0;
};

}  // namespace iotape
