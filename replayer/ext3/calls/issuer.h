// The visitor behind issue_call; its operations are grouped by file as what they act on: descriptor_calls.cc,
// data_calls.cc, name_calls.cc, attribute_calls.cc. An operation added to Operation fails to compile here.
#pragma once

#include <string_view>

#include "replayer/ext3/calls/call_issuer.h"
#include "replayer/ext3/operations/namespace_operations.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {

class Issuer {
 public:
  using Outcome = Answer<std::int64_t>;  // the return value

  Issuer(Volume& volume, CallThread& thread, std::uint32_t number, CallData& data, DeviceId device, CallAnswer& answer)
      : volume_(volume), thread_(thread), number_(number), data_(data), device_(device), answer_(answer) {}

  // descriptor_calls.cc
  Outcome operator()(const Open& op);
  Outcome operator()(const Close& op);
  Outcome operator()(const CloseRange& op);
  Outcome operator()(const Duplicate& op);
  Outcome operator()(const ControlDescriptor& op);
  Outcome operator()(const Lock& op);
  Outcome operator()(const ControlDevice& op);
  Outcome operator()(const ProcessCall& op);

  // data_calls.cc
  Outcome operator()(const Read& op);
  Outcome operator()(const Write& op);
  Outcome operator()(const Seek& op);
  Outcome operator()(const Transfer& op);
  Outcome operator()(const ReadAhead& op);
  Outcome operator()(const AdviseFile& op);
  Outcome operator()(const TruncatePath& op);
  Outcome operator()(const TruncateDescriptor& op);
  Outcome operator()(const Allocate& op);
  Outcome operator()(const Sync& op);
  Outcome operator()(const SyncAll& op);
  Outcome operator()(const SyncFileRange& op);
  Outcome operator()(const MapMemory& /*op*/) { return skip(SkipReason::kMemoryOnly); }
  Outcome operator()(const ControlMemory& /*op*/) { return skip(SkipReason::kMemoryOnly); }
  Outcome operator()(const TouchMapping& /*op*/) { return skip(SkipReason::kMemoryOnly); }

  // name_calls.cc
  Outcome operator()(const Rename& op);
  Outcome operator()(const HardLink& op);
  Outcome operator()(const SymbolicLink& op);
  Outcome operator()(const ReadLink& op);
  Outcome operator()(const Unlink& op);
  Outcome operator()(const MakeDirectory& op);
  Outcome operator()(const MakeNode& op);
  Outcome operator()(const ReadDirectory& op);
  Outcome operator()(const GetWorkingDirectory& op);
  Outcome operator()(const ChangeDirectoryPath& op);
  Outcome operator()(const ChangeDirectoryDescriptor& op);

  // attribute_calls.cc
  Outcome operator()(const StatPath& op);
  Outcome operator()(const StatDescriptor& op);
  Outcome operator()(const CheckAccess& op);
  Outcome operator()(const StatFilesystemPath& op);
  Outcome operator()(const StatFilesystemDescriptor& op);
  Outcome operator()(const ChangeModePath& op);
  Outcome operator()(const ChangeModeDescriptor& op);
  Outcome operator()(const ChangeOwnerPath& op);
  Outcome operator()(const ChangeOwnerDescriptor& op);
  Outcome operator()(const SetTimes& op);
  Outcome operator()(const SetFileCreationMask& op);
  Outcome operator()(const SetXattrPath& op);
  Outcome operator()(const SetXattrDescriptor& op);
  Outcome operator()(const QueryXattrPath& op);
  Outcome operator()(const QueryXattrDescriptor& op);
  Outcome operator()(const RemoveXattrPath& op);
  Outcome operator()(const RemoveXattrDescriptor& op);

  Outcome operator()(const MakeDescriptor& /*op*/) { return skip(SkipReason::kNotAFile); }
  Outcome operator()(const ReceiveDescriptor& /*op*/) { return skip(SkipReason::kNotReplayable); }
  Outcome operator()(const AdministerPath& /*op*/) { return skip(SkipReason::kNotReplayable); }
  Outcome operator()(const AdministerDescriptor& /*op*/) { return skip(SkipReason::kNotReplayable); }
  Outcome operator()(const OtherCall& /*op*/) { return skip(SkipReason::kNotReplayable); }

 private:
  Outcome skip(SkipReason reason) {
    answer_.skipped = reason;
    return 0;
  }

  Answer<OpenFile*> file(const Descriptor& descriptor, bool even_path_only = false);
  // The bytes of a path argument; EFAULT for one that was no address.
  static Answer<std::string_view> text_of(const PathArgument& path);
  static Answer<std::string_view> text_of(const Text& text);
  Answer<WalkStart> start_of(const PathArgument& path);
  Answer<PathEnd> end_of(const PathArgument& path, LastSymlink last);
  // flags: AT_SYMLINK_NOFOLLOW and AT_EMPTY_PATH are looked at; nullptr paths mean the directory itself.
  Answer<InodeReference> inode_of(const PathArgument& path, std::int64_t flags);
  // Where a new name goes: write permission, and that it does not exist yet. slash_is_fine: mkdir.
  Answer<PathEnd> new_name(const PathArgument& path, bool slash_is_fine);
  Answer<InodeReference> make(const PathArgument& path, const NewNode& node, bool slash_is_fine);
  // What is there to be removed, and the right to. directory: by rmdir.
  Answer<PathEnd> removable(const PathArgument& path, bool directory);
  // The umask is the filesystem's to take off: a default access control list stands in its place.
  [[nodiscard]] NewNode new_node(std::uint32_t type, std::int64_t mode) const {
    return {type | (static_cast<std::uint32_t>(mode) & 07777U), 0, {}, thread_.view->umask};
  }

  Answer<InodeReference> open_inode(const Open& op, std::int64_t flags);
  Answer<InodeReference> open_existing(InodeReference inode, std::int64_t flags);
  Outcome keep_open(InodeReference inode, std::int64_t flags);

  Outcome read_at(OpenFile& open, std::uint64_t offset, std::int64_t length);
  Outcome write_at(OpenFile& open, std::uint64_t& offset, std::int64_t length, bool append);
  Outcome truncate_to(Inode& inode, std::int64_t length);
  Outcome sync_open(const OpenFile& open, bool data_only);

  Outcome set_flags(Inode& inode, std::uint32_t flags);
  Outcome change_mode(Inode& inode, std::int64_t mode);
  Outcome change_owner(Inode& inode, std::int64_t user, std::int64_t group);
  Outcome set_xattr(Inode& inode, const Text& name, const Text& value, std::int64_t size, std::int64_t flags);
  Answer<void> check_xattr_access(const Inode& inode, std::string_view name, bool write);
  Outcome query_xattr(Inode& inode, const Text& name, std::int64_t size);
  Outcome list_xattrs(Inode& inode, std::int64_t size);
  Outcome remove_xattr(Inode& inode, const Text& name);

  Volume& volume_;
  CallThread& thread_;
  std::uint32_t number_;
  CallData& data_;
  DeviceId device_;
  CallAnswer& answer_;
  std::int64_t resolve_ = 0;  // RESOLVE_* of openat2: how this call's path is walked
};

}  // namespace iotape::ext3
