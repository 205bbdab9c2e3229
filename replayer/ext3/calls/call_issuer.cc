#include "replayer/ext3/calls/call_issuer.h"

#include <fcntl.h>
#include <linux/openat2.h>

#include "replayer/ext3/calls/issuer.h"

namespace iotape::ext3 {

CallAnswer issue_call(Volume& volume, CallThread& thread, const Operation& operation, std::uint32_t number,
                      CallData& data, DeviceId device) {
  CallAnswer answer;
  const Issuer::Outcome outcome = std::visit(Issuer(volume, thread, number, data, device, answer), operation);
  if (outcome)
    answer.outcome = {*outcome, 0};
  else
    answer.outcome = {-1, outcome.error().value};
  return answer;
}

// ---- what the groups share ----

Answer<OpenFile*> Issuer::file(const Descriptor& descriptor, bool even_path_only) {
  DescriptorSlot* const slot = thread_.descriptors->find(descriptor.number);
  if (slot == nullptr) return refuse(EBADF);
  if (!even_path_only && (slot->file->flags & O_PATH) != 0) return refuse(EBADF);
  return slot->file.get();
}

Answer<std::string_view> Issuer::text_of(const PathArgument& path) {
  if (path.state == TextState::kPresent || path.state == TextState::kTruncated) return std::string_view(path.bytes);
  return refuse(EFAULT);
}

Answer<std::string_view> Issuer::text_of(const Text& text) {
  if (text.state == TextState::kPresent || text.state == TextState::kTruncated) return std::string_view(text.bytes);
  return refuse(EFAULT);
}

Answer<WalkStart> Issuer::start_of(const PathArgument& path) {
  WalkStart start = thread_.view->start;
  const bool scoped = (resolve_ & (RESOLVE_BENEATH | RESOLVE_IN_ROOT)) != 0;
  if (path.directory.number != kAtCurrentDirectory && (scoped || !path.absolute())) {
    EXT3_ASSIGN(const OpenFile* const open, file(path.directory, true));
    start.current = open->inode;
  }
  if (scoped) start.root = start.current;
  start.beneath = (resolve_ & RESOLVE_BENEATH) != 0;
  start.no_symlinks = (resolve_ & RESOLVE_NO_SYMLINKS) != 0;
  start.no_crossing = (resolve_ & RESOLVE_NO_XDEV) != 0 && !scoped;
  return start;
}

Answer<PathEnd> Issuer::end_of(const PathArgument& path, LastSymlink last) {
  EXT3_ASSIGN(const std::string_view text, text_of(path));
  EXT3_ASSIGN(const WalkStart start, start_of(path));
  return walk_path(volume_, start, text, last, thread_.credentials);
}

Answer<InodeReference> Issuer::inode_of(const PathArgument& path, std::int64_t flags) {
  const bool empty = path.state == TextState::kNull || (path.bytes.empty() && (flags & AT_EMPTY_PATH) != 0);
  EXT3_ASSIGN(const WalkStart start, start_of(path));
  if (empty && path.directory.number != kAtCurrentDirectory) return start.current;
  if (empty && (flags & AT_EMPTY_PATH) != 0) return start.current;
  EXT3_ASSIGN(const std::string_view text, text_of(path));
  const LastSymlink last = (flags & AT_SYMLINK_NOFOLLOW) != 0 ? LastSymlink::kKeep : LastSymlink::kFollow;
  return find_path(volume_, start, text, last, thread_.credentials);
}

}  // namespace iotape::ext3
