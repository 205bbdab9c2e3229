// The kernel's requests about extended attributes and, as such, access control lists.
#include <sys/xattr.h>

#include <string>

#include "replayer/ext3/operations/xattr_operations.h"
#include "replayer/ext3/path/permission.h"
#include "replayer/fuse_mount/served_volume.h"

namespace iotape::fuse_mount {
namespace {

using ext3::Answer;
using ext3::InodeReference;

// room 0 asks for the size alone.
void reply_value(fuse_req_t request, const Answer<std::string>& value, std::size_t room) {
  if (!value)
    fuse_reply_err(request, value.error().value);
  else if (room == 0)
    fuse_reply_xattr(request, value->size());
  else if (room < value->size())
    fuse_reply_err(request, ERANGE);
  else
    fuse_reply_buf(request, value->data(), value->size());
}

void get_attribute(fuse_req_t request, fuse_ino_t node, const char* name, std::size_t room) {
  ServedVolume& served = served_by(request);
  const auto value = inside(served, [&]() -> Answer<std::string> {
    EXT3_ASSIGN(const InodeReference inode, served.nodes.get(node));
    return ext3::read_xattr(served.volume, *inode, name);
  });
  reply_value(request, value, room);
}

void list_attributes(fuse_req_t request, fuse_ino_t node, std::size_t room) {
  ServedVolume& served = served_by(request);
  const bool sees_trusted = caller_of(request).privileged;
  const auto names = inside(served, [&]() -> Answer<std::string> {
    EXT3_ASSIGN(const InodeReference inode, served.nodes.get(node));
    EXT3_ASSIGN(const auto listed, ext3::read_xattr_names(served.volume, *inode));
    std::string joined;
    for (const std::string& name : listed)
      if (sees_trusted || !name.starts_with("trusted.")) joined.append(name).push_back('\0');
    return joined;
  });
  reply_value(request, names, room);
}

void set_attribute(fuse_req_t request, fuse_ino_t node, const char* name, const char* value, std::size_t size,
                   int flags) {
  ServedVolume& served = served_by(request);
  const auto mode = (flags & XATTR_CREATE) != 0    ? ext3::XattrMode::kCreate
                    : (flags & XATTR_REPLACE) != 0 ? ext3::XattrMode::kReplace
                                                   : ext3::XattrMode::kEither;
  const auto answer = inside(served, [&]() -> Answer<void> {
    EXT3_ASSIGN(const InodeReference inode, served.nodes.get(node));
    EXT3_TRY(ext3::check_flags(*inode, false));
    return ext3::write_xattr(served.volume, *inode, name, {value, size}, mode, caller_of(request));
  });
  fuse_reply_err(request, errno_of(answer));
}

void remove_attribute(fuse_req_t request, fuse_ino_t node, const char* name) {
  ServedVolume& served = served_by(request);
  const auto answer = inside(served, [&]() -> Answer<void> {
    EXT3_ASSIGN(const InodeReference inode, served.nodes.get(node));
    EXT3_TRY(ext3::check_flags(*inode, false));
    return ext3::erase_xattr(served.volume, *inode, name, caller_of(request));
  });
  fuse_reply_err(request, errno_of(answer));
}

}  // namespace

void add_xattr_requests(fuse_lowlevel_ops& requests) {
  requests.getxattr = &get_attribute;
  requests.listxattr = &list_attributes;
  requests.setxattr = &set_attribute;
  requests.removexattr = &remove_attribute;
}

}  // namespace iotape::fuse_mount
