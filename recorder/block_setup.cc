#include "recorder/block_setup.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "format/event.h"

namespace iotape {
namespace {

constexpr int kNoShift = -1;

struct Hook {
  std::string_view program;
  std::string_view tracepoint;
  int arity;               // today's; one more means that the queue comes first, where shift says so
  int shift;               // index into wire_block_config::shift
  std::string_view stead;  // the tracepoint that does the same on other kernels
};

constexpr std::array<Hook, 11> kHooks = {{
    {"block_queue", "block_bio_queue", 1, WIRE_SHIFT_BIO_QUEUE, ""},
    {"block_remap", "block_bio_remap", 3, WIRE_SHIFT_BIO_REMAP, ""},
    {"block_bio_end", "block_bio_complete", 2, kNoShift, ""},
    {"block_issue", "block_rq_issue", 1, WIRE_SHIFT_RQ_ISSUE, ""},
    {"block_requeue", "block_rq_requeue", 1, WIRE_SHIFT_RQ_REQUEUE, ""},
    {"block_merge", "block_rq_merge", 1, WIRE_SHIFT_RQ_MERGE, ""},
    {"block_end", "block_rq_complete", 3, kNoShift, ""},
    {"block_dirty_folio", "writeback_dirty_folio", 2, kNoShift, "writeback_dirty_page"},
    {"block_dirty_page", "writeback_dirty_page", 2, kNoShift, "writeback_dirty_folio"},
    {"block_journal", "jbd2_handle_start", 5, kNoShift, ""},
    {"block_xfs", "xfs_trans_alloc", 2, kNoShift, ""},
}};

struct OperationName {
  std::string_view name;
  BlockOperation operation;
};
constexpr std::array<OperationName, 14> kOperations = {{
    {"REQ_OP_READ", BlockOperation::kRead},
    {"REQ_OP_WRITE", BlockOperation::kWrite},
    {"REQ_OP_FLUSH", BlockOperation::kFlush},
    {"REQ_OP_DISCARD", BlockOperation::kDiscard},
    {"REQ_OP_SECURE_ERASE", BlockOperation::kSecureErase},
    {"REQ_OP_WRITE_ZEROES", BlockOperation::kWriteZeroes},
    {"REQ_OP_ZONE_APPEND", BlockOperation::kZoneAppend},
    {"REQ_OP_ZONE_OPEN", BlockOperation::kZoneManagement},
    {"REQ_OP_ZONE_CLOSE", BlockOperation::kZoneManagement},
    {"REQ_OP_ZONE_FINISH", BlockOperation::kZoneManagement},
    {"REQ_OP_ZONE_RESET", BlockOperation::kZoneManagement},
    {"REQ_OP_ZONE_RESET_ALL", BlockOperation::kZoneManagement},
    {"REQ_OP_DRV_IN", BlockOperation::kDriver},
    {"REQ_OP_DRV_OUT", BlockOperation::kDriver},
}};

// In the order of BlockFlag's bits.
constexpr std::array<std::string_view, WIRE_BLOCK_FLAGS> kFlags = {
    "__REQ_SYNC",       "__REQ_META",   "__REQ_PRIO", "__REQ_FUA",  "__REQ_PREFLUSH", "__REQ_RAHEAD",
    "__REQ_BACKGROUND", "__REQ_NOWAIT", "__REQ_SWAP", "__REQ_IDLE", "__REQ_NOMERGE",  "__REQ_ATOMIC"};

std::optional<std::uint64_t> operation_number(const KernelShape& kernel, const std::string& name) {
  for (const char* type : {"req_op", "req_opf"})  // the second before 6.0
    if (auto number = kernel.enumerator(type, name)) return number;
  return std::nullopt;
}

void plan_numbers(const KernelShape& kernel, wire_block_config& config) {
  std::fill(std::begin(config.operations), std::end(config.operations), static_cast<__u8>(BlockOperation::kOther));
  for (const OperationName& entry : kOperations)
    if (const auto number = operation_number(kernel, std::string(entry.name));
        number && *number < WIRE_BLOCK_OPERATIONS)
      config.operations[*number] = static_cast<__u8>(entry.operation);
  for (std::size_t flag = 0; flag < kFlags.size(); ++flag)
    config.flag_bits[flag] =
        static_cast<__u8>(kernel.enumerator("req_flag_bits", std::string(kFlags[flag])).value_or(WIRE_NO_FLAG));
}

// Empty when the hook can be used, else why not.
std::string plan_hook(const KernelShape& kernel, const Hook& hook, wire_block_config& config) {
  const int arity = kernel.arity(std::string(hook.tracepoint));
  if (arity < 0) return "the kernel has no such tracepoint";
  if (arity == hook.arity) return {};
  if (hook.shift != kNoShift && arity == hook.arity + 1) {
    config.shift[hook.shift] = 1;
    return {};
  }
  // Further arguments are appended now and then; those before them stay.
  if (hook.shift == kNoShift && arity > hook.arity) return {};
  return "its arguments have a shape unknown to this version of iotape";
}

}  // namespace

BlockSetup plan_block(const KernelShape& kernel, bool listed_only) {
  BlockSetup setup;
  setup.config.listed_only = listed_only ? 1 : 0;
  plan_numbers(kernel, setup.config);
  for (const Hook& hook : kHooks) {
    const std::string reason = plan_hook(kernel, hook, setup.config);
    if (reason.empty()) continue;
    setup.absent_programs.emplace_back(hook.program);
    if (hook.program == "block_issue" || hook.program == "block_queue") setup.usable = false;
    if (!hook.stead.empty() && (hook.program == "block_dirty_page" || kernel.arity(std::string(hook.stead)) > 0))
      continue;
    setup.missing.push_back({std::string(hook.tracepoint), reason});
  }
  return setup;
}

std::vector<std::string> block_programs() {
  std::vector<std::string> names;
  names.reserve(std::size(kHooks));
  for (const Hook& hook : kHooks) names.emplace_back(hook.program);
  return names;
}

}  // namespace iotape
