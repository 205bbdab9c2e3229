// The kernel's requests on behalf of ioctl(2): chattr, lsattr and their like. Who may set what has been asked of the
// kernel's own rules for all filesystems before; here are ext3's.
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/fuse_mount/served_volume.h"
#include "replayer/fuse_mount/server_facts.h"

namespace iotape::fuse_mount {
namespace {

using ext3::Answer;

struct Control {
  const void* in = nullptr;
  std::array<std::byte, sizeof(fsxattr)> out{};
  ext3::Caller caller;

  template <typename Value>
  [[nodiscard]] Value given() const {
    Value value{};
    std::memcpy(&value, in, sizeof value);
    return value;
  }
  template <typename Value>
  void answer(const Value& value) {
    static_assert(sizeof value <= sizeof out);
    std::memcpy(out.data(), &value, sizeof value);
  }
};

Answer<void> get_flags(ServedVolume& /*served*/, ext3::Inode& inode, Control& control) {
  control.answer(ext3::shown_flags(inode));
  return {};
}

Answer<void> set_flags(ServedVolume& served, ext3::Inode& inode, Control& control) {
  return ext3::change_flags(served.volume, inode, control.given<std::uint32_t>(), control.caller);
}

Answer<void> get_extended(ServedVolume& /*served*/, ext3::Inode& inode, Control& control) {
  fsxattr attributes{};
  attributes.fsx_xflags = ext3::extended_flags(ext3::shown_flags(inode));
  control.answer(attributes);
  return {};
}

// What it has no word for stays.
Answer<void> set_extended(ServedVolume& served, ext3::Inode& inode, Control& control) {
  const auto attributes = control.given<fsxattr>();
  if (attributes.fsx_projid != 0) return ext3::refuse(EOPNOTSUPP);
  const std::uint32_t spoken_of = ext3::flags_from_extended(~0U);
  return ext3::change_flags(served.volume, inode,
                            (ext3::shown_flags(inode) & ~spoken_of) | ext3::flags_from_extended(attributes.fsx_xflags),
                            control.caller);
}

Answer<void> get_version(ServedVolume& /*served*/, ext3::Inode& inode, Control& control) {
  control.answer(inode.generation);
  return {};
}

Answer<void> get_server(ServedVolume& served, ext3::Inode& /*inode*/, Control& control) {
  control.answer(ServerFacts{static_cast<std::uint32_t>(::getpid()), served.locked_image});
  return {};
}

struct KnownControl {
  unsigned request;
  std::size_t in;  // bytes
  std::size_t out;
  Answer<void> (*work)(ServedVolume& served, ext3::Inode& inode, Control& control);
};
// The flags are an int, whatever their numbers say.
constexpr std::array<KnownControl, 6> kKnown{{{FS_IOC_GETFLAGS, 0, sizeof(std::uint32_t), &get_flags},
                                              {FS_IOC_SETFLAGS, sizeof(std::uint32_t), 0, &set_flags},
                                              {FS_IOC_FSGETXATTR, 0, sizeof(fsxattr), &get_extended},
                                              {FS_IOC_FSSETXATTR, sizeof(fsxattr), 0, &set_extended},
                                              {FS_IOC_GETVERSION, 0, sizeof(std::uint32_t), &get_version},
                                              {kGetServerFacts, 0, sizeof(ServerFacts), &get_server}}};

void control(fuse_req_t request, fuse_ino_t node, unsigned asked, void* /*argument*/, fuse_file_info* /*file*/,
             unsigned /*flags*/, const void* in, std::size_t in_bytes, std::size_t out_bytes) {
  ServedVolume& served = served_by(request);
  const auto* const known = std::ranges::find(kKnown, asked, &KnownControl::request);
  if (known == kKnown.end() || in_bytes < known->in || out_bytes < known->out) {
    fuse_reply_err(request, ENOTTY);
    return;
  }
  Control work{in, {}, caller_of(request)};
  const auto answer = inside(served, [&]() -> Answer<void> {
    EXT3_ASSIGN(const ext3::InodeReference inode, served.nodes.get(node));
    return known->work(served, *inode, work);
  });
  if (answer)
    fuse_reply_ioctl(request, 0, work.out.data(), known->out);
  else
    fuse_reply_err(request, answer.error().value);
}

}  // namespace

void add_control_requests(fuse_lowlevel_ops& requests) { requests.ioctl = &control; }

}  // namespace iotape::fuse_mount
