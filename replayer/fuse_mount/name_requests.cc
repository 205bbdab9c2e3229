// The kernel's requests about names: lookup, mknod, mkdir, symlink, link, unlink, rmdir, rename, readlink, forget.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <string>
#include <string_view>

#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/ext3/operations/namespace_operations.h"
#include "replayer/ext3/path/permission.h"
#include "replayer/fuse_mount/served_volume.h"

namespace iotape::fuse_mount {
namespace {

using ext3::Answer;
using ext3::InodeReference;

// ---- lookup and forget ----

// "." and "..": NFS asks for them when it holds a number and no path.
Answer<InodeReference> find_name(ServedVolume& served, ext3::Inode& directory, std::string_view name) {
  if (name == ".") return InodeReference(&directory);
  if (name != "..") return ext3::look_up(served.volume, directory, name);
  ext3::InodeNumber parent;
  {
    const ext3::SleepLockGuard locked(served.volume.host, directory.lock);
    EXT3_ASSIGN(parent, ext3::directory_parent(served.volume, directory));
  }
  return served.volume.inodes->get(parent);
}

void look_up(fuse_req_t request, fuse_ino_t parent, const char* name) {
  ServedVolume& served = served_by(request);
  const auto entry = inside(served, [&]() -> Answer<fuse_entry_param> {
    EXT3_ASSIGN(const InodeReference directory, served.nodes.get(parent));
    EXT3_ASSIGN(const InodeReference inode, find_name(served, *directory, name));
    return entry_of(served, *inode);
  });
  if (entry || entry.error().value != ENOENT) return reply_entry(request, entry);
  fuse_entry_param nothing{};  // the kernel remembers that the name is not there
  nothing.entry_timeout = kForever;
  fuse_reply_entry(request, &nothing);
}

void forget(fuse_req_t request, fuse_ino_t node, std::uint64_t times) {
  ServedVolume& served = served_by(request);
  inside(served, [&] { served.nodes.forget(node, times); });
  fuse_reply_none(request);
}

void forget_many(fuse_req_t request, std::size_t count, fuse_forget_data* forgotten) {
  ServedVolume& served = served_by(request);
  inside(served, [&] {
    for (std::size_t i = 0; i < count; ++i) served.nodes.forget(forgotten[i].ino, forgotten[i].nlookup);
  });
  fuse_reply_none(request);
}

// ---- new names ----

std::uint32_t umask_of(fuse_req_t request) { return fuse_req_ctx(request)->umask; }

Answer<InodeReference> create(ServedVolume& served, fuse_ino_t parent, std::string_view name, const ext3::NewNode& node,
                              const ext3::Caller& caller) {
  EXT3_ASSIGN(const InodeReference directory, served.nodes.get(parent));
  EXT3_TRY(ext3::check_flags(*directory, true));
  return ext3::create_node(served.volume, *directory, name, node, caller);
}

void make_node_of(fuse_req_t request, fuse_ino_t parent, const char* name, const ext3::NewNode& node) {
  ServedVolume& served = served_by(request);
  const GroupedCaller grouped(request, (node.mode & S_ISGID) != 0);
  reply_entry(request, inside(served, [&]() -> Answer<fuse_entry_param> {
                EXT3_ASSIGN(const InodeReference inode, create(served, parent, name, node, grouped.caller()));
                return entry_of(served, *inode);
              }));
}

void make_node(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  constexpr unsigned kMinorBits = 20;
  make_node_of(request, parent, name,
               {mode, std::uint64_t{major(device)} << kMinorBits | minor(device), {}, umask_of(request)});
}

void make_directory(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  make_node_of(request, parent, name, {S_IFDIR | (mode & 07777U), 0, {}, umask_of(request)});
}

void make_symlink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
  make_node_of(request, parent, name, {S_IFLNK | 0777U, 0, target});
}

void link(fuse_req_t request, fuse_ino_t node, fuse_ino_t parent, const char* name) {
  ServedVolume& served = served_by(request);
  reply_entry(request, inside(served, [&]() -> Answer<fuse_entry_param> {
                EXT3_ASSIGN(const InodeReference inode, served.nodes.get(node));
                EXT3_ASSIGN(const InodeReference directory, served.nodes.get(parent));
                EXT3_TRY(ext3::check_flags(*inode, false));
                EXT3_TRY(ext3::check_flags(*directory, true));
                EXT3_TRY(ext3::link_node(served.volume, *directory, name, *inode));
                return entry_of(served, *inode);
              }));
}

// create(2) and open in one: the kernel has looked, and holds the directory, so the name is rarely there.
Answer<fuse_entry_param> create_or_find(ServedVolume& served, fuse_ino_t parent, const char* name,
                                        const ext3::NewNode& node, const ext3::Caller& caller, fuse_file_info& file) {
  auto inode = create(served, parent, name, node, caller);
  if (!inode && inode.error().value == EEXIST && (file.flags & O_EXCL) == 0) {
    EXT3_ASSIGN(const InodeReference directory, served.nodes.get(parent));
    inode = ext3::look_up(served.volume, *directory, name);
  }
  if (!inode) return tl::make_unexpected(inode.error());
  file.fh = served.files.open(*inode);
  return entry_of(served, **inode);
}

void create_and_open(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, fuse_file_info* file) {
  ServedVolume& served = served_by(request);
  const GroupedCaller grouped(request, (mode & S_ISGID) != 0);
  const auto entry = inside(served, [&] {
    return create_or_find(served, parent, name, {S_IFREG | (mode & 07777U), 0, {}, umask_of(request)}, grouped.caller(),
                          *file);
  });
  if (!entry) {
    fuse_reply_err(request, entry.error().value);
    return;
  }
  file->keep_cache = 1;
  if (fuse_reply_create(request, &*entry, file) == 0) return;
  inside(served, [&] {
    served.files.close(file->fh);
    served.nodes.forget(entry->ino, 1);
  });
}

// ---- names that go ----

// IMMUTABLE and APPEND bind everybody, and the kernel does not know of them.
Answer<void> check_victim(ServedVolume& served, ext3::Inode& directory, std::string_view name) {
  EXT3_TRY(ext3::check_flags(directory, false));
  const auto victim = ext3::look_up(served.volume, directory, name);
  return victim ? ext3::check_flags(**victim, false) : Answer<void>{};
}

using Remove = Answer<void> (*)(ext3::Volume& volume, ext3::Inode& directory, std::string_view name);

void remove(fuse_req_t request, fuse_ino_t parent, const char* name, Remove how) {
  ServedVolume& served = served_by(request);
  const auto answer = inside(served, [&]() -> Answer<void> {
    EXT3_ASSIGN(const InodeReference directory, served.nodes.get(parent));
    EXT3_TRY(check_victim(served, *directory, name));
    return how(served.volume, *directory, name);
  });
  fuse_reply_err(request, errno_of(answer));
}

void unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  remove(request, parent, name, &ext3::unlink_name);
}

void remove_directory(fuse_req_t request, fuse_ino_t parent, const char* name) {
  remove(request, parent, name, &ext3::remove_directory);
}

void rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent, const char* new_name,
            unsigned flags) {
  ServedVolume& served = served_by(request);
  const auto answer = inside(served, [&]() -> Answer<void> {
    EXT3_ASSIGN(const InodeReference from, served.nodes.get(parent));
    EXT3_ASSIGN(const InodeReference to, served.nodes.get(new_parent));
    EXT3_TRY(check_victim(served, *from, name));
    EXT3_TRY(check_victim(served, *to, new_name));
    return ext3::rename_node(served.volume, *from, name, *to, new_name, flags, caller_of(request));
  });
  fuse_reply_err(request, errno_of(answer));
}

void read_link(fuse_req_t request, fuse_ino_t node) {
  ServedVolume& served = served_by(request);
  const auto target = inside(served, [&]() -> Answer<std::string> {
    EXT3_ASSIGN(const InodeReference inode, served.nodes.get(node));
    EXT3_ASSIGN(std::string read, ext3::read_symlink(served.volume, *inode));
    EXT3_TRY(ext3::touch_access_time(served.volume, *inode));
    return read;
  });
  if (target)
    fuse_reply_readlink(request, target->c_str());
  else
    fuse_reply_err(request, target.error().value);
}

}  // namespace

void add_name_requests(fuse_lowlevel_ops& requests) {
  requests.lookup = &look_up;
  requests.forget = &forget;
  requests.forget_multi = &forget_many;
  requests.mknod = &make_node;
  requests.mkdir = &make_directory;
  requests.symlink = &make_symlink;
  requests.link = &link;
  requests.create = &create_and_open;
  requests.unlink = &unlink;
  requests.rmdir = &remove_directory;
  requests.rename = &rename;
  requests.readlink = &read_link;
}

}  // namespace iotape::fuse_mount
