#include "replayer/ext3/device/request_parts.h"

namespace iotape::ext3 {
namespace {

// Whether a part goes on where the one before it ended: one bio, as a kernel would have built it.
bool continues(const IoPart& before, const IoPart& part) {
  return before.tag.cause == part.tag.cause && before.tag.inode == part.tag.inode &&
         before.tag.dirtier == part.tag.dirtier &&
         (part.tag.cause != BlockCause::kData || part.tag.file_block.value == before.tag.file_block.value + 1);
}

RequestPart described(const IoPart& part, bool write, Sectors sector, const PartOrigin& origin,
                      const RequestContext& context) {
  RequestPart made;
  made.queue = origin.queue;
  made.sector = sector;
  made.bytes = part.bytes;
  made.flags = origin.flags;
  made.submitter = origin.submitter;
  made.call_start = origin.call_start;
  made.cause = part.tag.cause;
  if (write && part.tag.dirtier != 0)
    made.dirtier = context.dirtier ? context.dirtier(part.tag.dirtier) : key_of(part.tag.dirtier);
  if (part.tag.inode == kNoInode) return made;
  made.file.identity = {origin.volume, context.generation(part.tag.inode), iotape::InodeNumber(part.tag.inode.value),
                        0};
  const bool data = part.tag.cause == BlockCause::kData;
  made.file.kind = data ? FileKind::kRegular : FileKind::kUnknown;
  if (data) made.file_offset = std::int64_t{part.tag.file_block.value} * part.bytes;
  return made;
}

}  // namespace

std::uint32_t request_flags(bool write, std::span<const IoPart> parts, IoReason reason) {
  std::uint32_t flags = 0;
  if (reason == IoReason::kReadAhead) flags |= kBlockReadAhead;
  if (write && reason == IoReason::kDemand) flags |= kBlockSync;
  if (!parts.empty() && parts.front().tag.cause != BlockCause::kData) flags |= kBlockMetadata;
  return flags;
}

void append_parts(BlockRequest& request, std::span<const IoPart> parts, Sectors sector, const PartOrigin& origin,
                  const RequestContext& context) {
  const bool write = request.operation == BlockOperation::kWrite;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && continues(parts[i - 1], parts[i]))
      request.parts.back().bytes += parts[i].bytes;
    else
      request.parts.push_back(described(parts[i], write, sector, origin, context));
    sector += Sectors(parts[i].bytes / 512);
  }
}

}  // namespace iotape::ext3
