#include "replayer/engine/call_paths.h"

#include <fcntl.h>

#include <type_traits>

namespace iotape {
namespace {

// Numbers of the calls whose family differs in following links.
constexpr std::uint32_t kLstat = 6;
constexpr std::uint32_t kLchown = 94;
constexpr std::uint32_t kLsetxattr = 189;
constexpr std::uint32_t kLgetxattr = 192;
constexpr std::uint32_t kLlistxattr = 195;
constexpr std::uint32_t kLremovexattr = 198;

bool without_nofollow(std::int64_t flags) { return (flags & AT_SYMLINK_NOFOLLOW) == 0; }

// Whether the last component of the call's first (and for links second) path is followed.
struct Follows {
  std::uint32_t number;
  bool operator()(const Open& op) const {
    const bool exclusive = (op.flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
    return (op.flags & O_NOFOLLOW) == 0 && !exclusive;
  }
  bool operator()(const StatPath& op) const { return number != kLstat && without_nofollow(op.flags); }
  bool operator()(const CheckAccess& op) const { return without_nofollow(op.flags); }
  bool operator()(const ChangeModePath& op) const { return without_nofollow(op.flags); }
  bool operator()(const ChangeOwnerPath& op) const { return number != kLchown && without_nofollow(op.flags); }
  bool operator()(const SetTimes& op) const { return without_nofollow(op.flags); }
  bool operator()(const SetXattrPath&) const { return number != kLsetxattr; }
  bool operator()(const QueryXattrPath&) const { return number != kLgetxattr && number != kLlistxattr; }
  bool operator()(const RemoveXattrPath&) const { return number != kLremovexattr; }
  bool operator()(const HardLink& op) const { return (op.flags & AT_SYMLINK_FOLLOW) != 0; }
  bool operator()(const Rename&) const { return false; }
  bool operator()(const SymbolicLink&) const { return false; }
  bool operator()(const ReadLink&) const { return false; }
  bool operator()(const Unlink&) const { return false; }
  bool operator()(const MakeDirectory&) const { return false; }
  bool operator()(const MakeNode&) const { return false; }
  template <typename Other>
  bool operator()(const Other&) const {
    return true;
  }
};

struct Changes {
  bool operator()(const Open& op) const { return (op.flags & (O_CREAT | O_TRUNC)) != 0; }
  bool operator()(const Write&) const { return true; }
  bool operator()(const Transfer&) const { return true; }
  bool operator()(const TruncatePath&) const { return true; }
  bool operator()(const TruncateDescriptor&) const { return true; }
  bool operator()(const Allocate&) const { return true; }
  bool operator()(const Rename&) const { return true; }
  bool operator()(const HardLink&) const { return true; }
  bool operator()(const SymbolicLink&) const { return true; }
  bool operator()(const Unlink&) const { return true; }
  bool operator()(const MakeDirectory&) const { return true; }
  bool operator()(const MakeNode&) const { return true; }
  bool operator()(const ChangeModePath&) const { return true; }
  bool operator()(const ChangeModeDescriptor&) const { return true; }
  bool operator()(const ChangeOwnerPath&) const { return true; }
  bool operator()(const ChangeOwnerDescriptor&) const { return true; }
  bool operator()(const SetTimes&) const { return true; }
  bool operator()(const SetXattrPath&) const { return true; }
  bool operator()(const SetXattrDescriptor&) const { return true; }
  bool operator()(const RemoveXattrPath&) const { return true; }
  bool operator()(const RemoveXattrDescriptor&) const { return true; }
  template <typename Other>
  bool operator()(const Other&) const {
    return false;
  }
};

}  // namespace

CallPaths call_paths(const Syscall& call) {
  CallPaths paths;
  std::visit(
      [&]<typename Op>(const Op& operation) {
        for_each_field(operation, [&](const auto&, const auto& member) {
          if constexpr (std::is_same_v<std::decay_t<decltype(member)>, PathArgument>)
            if (paths.count < kMaximumPaths) paths.path[paths.count++] = &member;
        });
        paths.follow[0] = Follows{call.number}(operation);
      },
      call.operation);
  return paths;
}

CallDescriptors call_descriptors(const Operation& operation) {
  CallDescriptors found;
  std::visit(
      [&](const auto& op) {
        for_each_field(op, [&](const auto&, const auto& member) {
          if constexpr (std::is_same_v<std::decay_t<decltype(member)>, Descriptor>)
            if (found.count < kMaximumPaths) found.descriptor[found.count++] = &member;
        });
      },
      operation);
  return found;
}

bool is_changing(const Syscall& call) { return std::visit(Changes{}, call.operation); }

bool changes_names(const Syscall& call) {
  return std::visit(
      []<typename Op>(const Op&) {
        return std::is_same_v<Op, Rename> || std::is_same_v<Op, HardLink> || std::is_same_v<Op, SymbolicLink> ||
               std::is_same_v<Op, Unlink> || std::is_same_v<Op, MakeDirectory> || std::is_same_v<Op, MakeNode>;
      },
      call.operation);
}

}  // namespace iotape
