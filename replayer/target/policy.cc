#include "replayer/target/policy.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <type_traits>

namespace iotape {
namespace {

constexpr std::int64_t kSetIdBits = S_ISUID | S_ISGID;
constexpr Ruling kIssue{};

Ruling skip(SkipReason reason) { return {reason, false}; }

Ruling without_set_id_bits(std::int64_t& mode, const Policy& policy) {
  if (policy.keep.setuid || (mode & kSetIdBits) == 0) return kIssue;
  mode &= ~kSetIdBits;
  return {SkipReason::kIssued, true};
}

Ruling with_own_owner(std::int64_t& user, std::int64_t& group, const Policy& policy) {
  constexpr std::int64_t kUnchanged = -1;
  if (policy.keep.owner) return kIssue;
  const auto own = [](std::int64_t& id, std::int64_t own_id) {
    // -1 comes as a 32-bit or a 64-bit number, depending on who recorded it.
    if (static_cast<std::int32_t>(id) == kUnchanged || id == own_id) return false;
    id = own_id;
    return true;
  };
  const bool user_changed = own(user, policy.own_user);
  const bool group_changed = own(group, policy.own_group);
  return {SkipReason::kIssued, user_changed || group_changed};
}

bool dangerous_attribute(std::string_view name) {
  return name.starts_with("security.") || name.starts_with("trusted.");
}

// Asked of ordinary files by ordinary programs: is it a terminal, how much is there, which attributes, clone it.
constexpr std::array<std::int64_t, 5> kHarmlessControls{TCGETS, TIOCGWINSZ, FIONREAD, FS_IOC_GETFLAGS, FICLONE};

constexpr std::array<std::int64_t, 5> kHarmlessAdvice{MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED,
                                                      MADV_POPULATE_READ};

struct Judge {
  std::uint32_t number;
  const Policy& policy;

  Ruling operator()(Open& op) const {
    // Without it the open of a fifo waits for the other end. Regular files and directories do not look at it.
    if ((op.flags & O_PATH) == 0) op.flags |= O_NONBLOCK;
    return without_set_id_bits(op.mode, policy);
  }
  Ruling operator()(MakeDirectory& op) const { return without_set_id_bits(op.mode, policy); }
  Ruling operator()(ChangeModePath& op) const { return without_set_id_bits(op.mode, policy); }
  Ruling operator()(ChangeModeDescriptor& op) const { return without_set_id_bits(op.mode, policy); }
  Ruling operator()(MakeNode& op) const {
    const bool device = S_ISBLK(op.mode) || S_ISCHR(op.mode);
    if (device && !policy.keep.special) return skip(SkipReason::kRefused);
    return without_set_id_bits(op.mode, policy);
  }
  Ruling operator()(ChangeOwnerPath& op) const { return with_own_owner(op.user, op.group, policy); }
  Ruling operator()(ChangeOwnerDescriptor& op) const { return with_own_owner(op.user, op.group, policy); }
  Ruling operator()(SetXattrPath& op) const { return attribute(op.name); }
  Ruling operator()(SetXattrDescriptor& op) const { return attribute(op.name); }
  Ruling attribute(const Text& name) const {
    return skip(dangerous_attribute(name.bytes) && !policy.keep.setuid ? SkipReason::kRefused : SkipReason::kIssued);
  }

  Ruling operator()(ControlDescriptor& op) const {
    // A descriptor must stay non-blocking, and must not send signals.
    if (op.command == F_SETFL) op.argument = (op.argument | O_NONBLOCK) & ~std::int64_t{O_ASYNC};
    constexpr std::array kIssued{F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GET_RW_HINT, F_SET_RW_HINT, F_GET_SEALS};
    const bool issued = std::ranges::find(kIssued, op.command) != kIssued.end();
    return skip(issued ? SkipReason::kIssued : SkipReason::kNotReplayable);
  }
  Ruling operator()(ControlDevice& op) const {
    const bool harmless = std::ranges::find(kHarmlessControls, op.request) != kHarmlessControls.end();
    return skip(harmless ? SkipReason::kIssued : SkipReason::kNotReplayable);
  }
  Ruling operator()(MapMemory& op) const {
    return skip(op.descriptor.number < 0 || (op.flags & MAP_ANONYMOUS) != 0 ? SkipReason::kMemoryOnly
                                                                            : SkipReason::kIssued);
  }
  Ruling operator()(ControlMemory& op) const {
    const bool touches_files =
        number == SYS_munmap || number == SYS_msync || number == SYS_mremap ||
        (number == SYS_madvise && std::ranges::find(kHarmlessAdvice, op.argument) != kHarmlessAdvice.end());
    return skip(touches_files ? SkipReason::kIssued : SkipReason::kMemoryOnly);
  }
  Ruling operator()(ProcessCall& op) const {
    constexpr std::int64_t kContexts = 0x400 | 0x200;  // CLONE_FILES | CLONE_FS
    op.flags &= kContexts;
    const bool context = number == SYS_execve || number == SYS_execveat || number == SYS_unshare;
    return skip(context ? SkipReason::kIssued : SkipReason::kProcessOnly);
  }
  Ruling operator()(MakeDescriptor& /*op*/) const { return skip(SkipReason::kNotAFile); }
  Ruling operator()(ReceiveDescriptor& /*op*/) const { return skip(SkipReason::kNotReplayable); }
  Ruling operator()(AdministerPath& /*op*/) const { return skip(SkipReason::kNotReplayable); }
  Ruling operator()(AdministerDescriptor& /*op*/) const { return skip(SkipReason::kNotReplayable); }
  Ruling operator()(OtherCall& /*op*/) const { return skip(SkipReason::kNotReplayable); }
  Ruling operator()(TouchMapping& /*op*/) const { return skip(SkipReason::kMemoryOnly); }

  // Nothing to weigh: what these can reach is what the sandbox holds.
  Ruling operator()(Close& /*op*/) const { return kIssue; }
  Ruling operator()(CloseRange& /*op*/) const { return kIssue; }
  Ruling operator()(Duplicate& /*op*/) const { return kIssue; }
  Ruling operator()(Lock& /*op*/) const { return kIssue; }
  Ruling operator()(Read& /*op*/) const { return kIssue; }
  Ruling operator()(Write& /*op*/) const { return kIssue; }
  Ruling operator()(Seek& /*op*/) const { return kIssue; }
  Ruling operator()(Transfer& /*op*/) const { return kIssue; }
  Ruling operator()(ReadAhead& /*op*/) const { return kIssue; }
  Ruling operator()(AdviseFile& /*op*/) const { return kIssue; }
  Ruling operator()(TruncatePath& /*op*/) const { return kIssue; }
  Ruling operator()(TruncateDescriptor& /*op*/) const { return kIssue; }
  Ruling operator()(Allocate& /*op*/) const { return kIssue; }
  Ruling operator()(Sync& /*op*/) const { return kIssue; }
  Ruling operator()(SyncAll& /*op*/) const { return kIssue; }
  Ruling operator()(SyncFileRange& /*op*/) const { return kIssue; }
  Ruling operator()(StatPath& /*op*/) const { return kIssue; }
  Ruling operator()(StatDescriptor& /*op*/) const { return kIssue; }
  Ruling operator()(CheckAccess& /*op*/) const { return kIssue; }
  Ruling operator()(StatFilesystemPath& /*op*/) const { return kIssue; }
  Ruling operator()(StatFilesystemDescriptor& /*op*/) const { return kIssue; }
  Ruling operator()(Rename& /*op*/) const { return kIssue; }
  Ruling operator()(HardLink& /*op*/) const { return kIssue; }
  Ruling operator()(SymbolicLink& /*op*/) const { return kIssue; }
  Ruling operator()(ReadLink& /*op*/) const { return kIssue; }
  Ruling operator()(Unlink& /*op*/) const { return kIssue; }
  Ruling operator()(ReadDirectory& /*op*/) const { return kIssue; }
  Ruling operator()(GetWorkingDirectory& /*op*/) const { return kIssue; }
  Ruling operator()(ChangeDirectoryPath& /*op*/) const { return kIssue; }
  Ruling operator()(ChangeDirectoryDescriptor& /*op*/) const { return kIssue; }
  Ruling operator()(SetTimes& /*op*/) const { return kIssue; }
  Ruling operator()(SetFileCreationMask& /*op*/) const { return kIssue; }
  Ruling operator()(QueryXattrPath& /*op*/) const { return kIssue; }
  Ruling operator()(QueryXattrDescriptor& /*op*/) const { return kIssue; }
  Ruling operator()(RemoveXattrPath& /*op*/) const { return kIssue; }
  Ruling operator()(RemoveXattrDescriptor& /*op*/) const { return kIssue; }
};

bool unreadable(const TextState state) { return state == TextState::kTruncated || state == TextState::kHidden; }

// A name we do not know must not be guessed. An attribute's value may be: its length is what counts.
bool has_unreadable_name(const Operation& operation) {
  bool found = false;
  std::visit(
      [&](const auto& op) {
        for_each_field(op, [&](const auto& description, const auto& member) {
          using Member = std::remove_cvref_t<decltype(member)>;
          if constexpr (std::is_same_v<Member, PathArgument> || std::is_same_v<Member, Text>)
            found = found || (unreadable(member.state) && description.name != "value");
        });
      },
      operation);
  return found;
}

std::uint64_t length_of(std::int64_t length) { return length > 0 ? static_cast<std::uint64_t>(length) : 0; }

}  // namespace

Ruling judge(Operation& operation, std::uint32_t number, const Policy& policy) {
  const Ruling ruling = std::visit(Judge{number, policy}, operation);
  if (ruling.skip == SkipReason::kIssued && has_unreadable_name(operation)) return skip(SkipReason::kUnresolvedPath);
  return ruling;
}

// A vectored write is issued by its segments, whatever the length beside them claims.
std::uint64_t growth_of_write(const Write& write) {
  constexpr std::uint64_t kEverything = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t bytes = 0;
  for (const std::int64_t segment : write.segments) {
    const std::uint64_t added = length_of(segment);
    bytes = added > kEverything - bytes ? kEverything : bytes + added;
  }
  return std::max(bytes, length_of(write.length));
}

// What makes a name may take a block of the directory and one of its own: an inode, a directory's first block, a long
// link's text, an attribute's value. The guard rounds up to a block; two of them are asked for.
struct GrowthOfNames {
  static constexpr std::uint64_t kOneMoreBlock = 4096;
  std::uint64_t operator()(const Open& op) const {
    // O_TMPFILE holds O_DIRECTORY's bit.
    return (op.flags & O_CREAT) != 0 || (op.flags & O_TMPFILE) == O_TMPFILE ? kOneMoreBlock : 0;
  }
  std::uint64_t operator()(const MakeDirectory& /*op*/) const { return kOneMoreBlock; }
  std::uint64_t operator()(const MakeNode& /*op*/) const { return kOneMoreBlock; }
  std::uint64_t operator()(const SymbolicLink& /*op*/) const { return kOneMoreBlock; }
  std::uint64_t operator()(const HardLink& /*op*/) const { return kOneMoreBlock; }
  std::uint64_t operator()(const Rename& /*op*/) const { return kOneMoreBlock; }
  std::uint64_t operator()(const SetXattrPath& op) const { return attribute(op.size); }
  std::uint64_t operator()(const SetXattrDescriptor& op) const { return attribute(op.size); }
  template <typename Other>
  std::uint64_t operator()(const Other& /*op*/) const {
    return 0;
  }
  static std::uint64_t attribute(std::int64_t size) { return std::max(kOneMoreBlock, length_of(size)); }
};

std::uint64_t growth_of(const Operation& operation) {
  if (const auto* write = std::get_if<Write>(&operation)) return growth_of_write(*write);
  if (const auto* transfer = std::get_if<Transfer>(&operation)) return length_of(transfer->length);
  if (const auto* allocate = std::get_if<Allocate>(&operation)) {
    constexpr std::int64_t kFrees = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_COLLAPSE_RANGE;
    return (allocate->mode & kFrees) != 0 ? 0 : length_of(allocate->length);
  }
  return std::visit(GrowthOfNames{}, operation);
}

bool may_wait(const Operation& operation) {
  return std::holds_alternative<Lock>(operation) || std::holds_alternative<Open>(operation) ||
         std::holds_alternative<Read>(operation) || std::holds_alternative<Write>(operation) ||
         std::holds_alternative<Transfer>(operation);
}

}  // namespace iotape
