// The kernel's requests about open directories: opendir, readdir with and without attributes, fsyncdir, releasedir.
#include <sys/stat.h>

#include <array>
#include <string>
#include <vector>

#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/disk_format/directory_record.h"
#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/ext3/operations/file_operations.h"
#include "replayer/ext3/operations/name_rules.h"
#include "replayer/fuse_mount/served_volume.h"

namespace iotape::fuse_mount {
namespace {

using ext3::Answer;
using ext3::InodeReference;

OpenDirectory& open_directory_of(const fuse_file_info* file) {
  return OpenHandles<ext3::DirectoryPosition>::of(file->fh);
}

// The type bits that readdir(3) shows; 0 where the volume's names do not tell.
mode_t mode_of(std::uint8_t file_type) {
  constexpr std::array<mode_t, 8> kModes{0, S_IFREG, S_IFDIR, S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK, S_IFLNK};
  return file_type < kModes.size() ? kModes[file_type] : 0;
}

// An answer that is being filled, name by name.
class Listing {
 public:
  Listing(fuse_req_t request, std::span<std::byte> room) : request_(request), room_(room) {}

  // False: it does not fit any more.
  bool add(const ext3::DirectoryListing& entry) {
    struct stat status {};
    status.st_ino = entry.inode.value;
    status.st_mode = mode_of(entry.file_type);
    return took(fuse_add_direntry(request_, place(), left(), name(entry.name), &status, cookie(entry.next_cookie)));
  }
  // What add of the same name with attributes will take.
  std::size_t size_with_attributes(std::string_view text) {
    return fuse_add_direntry_plus(request_, nullptr, 0, name(text), nullptr, 0);
  }
  void add(const std::string& text, const fuse_entry_param& entry, std::uint64_t next_cookie) {
    took(fuse_add_direntry_plus(request_, place(), left(), text.c_str(), &entry, cookie(next_cookie)));
  }
  [[nodiscard]] std::size_t size() const { return room_.size(); }
  int reply() { return fuse_reply_buf(request_, reinterpret_cast<const char*>(room_.data()), used_); }

 private:
  char* place() { return reinterpret_cast<char*>(room_.data() + used_); }
  [[nodiscard]] std::size_t left() const { return room_.size() - used_; }
  static off_t cookie(std::uint64_t value) { return static_cast<off_t>(value); }
  const char* name(std::string_view text) {
    name_.assign(text);
    return name_.c_str();
  }
  bool took(std::size_t needed) {
    if (needed > left()) return false;
    used_ += needed;
    return true;
  }

  fuse_req_t request_;
  std::span<std::byte> room_;
  std::size_t used_ = 0;
  std::string name_;
};

void open_directory(fuse_req_t request, fuse_ino_t node, fuse_file_info* file) {
  ServedVolume& served = served_by(request);
  const auto opened = inside(served, [&]() -> Answer<std::uint64_t> {
    EXT3_ASSIGN(const InodeReference inode, served.nodes.get(node));
    return served.directories.open(inode);
  });
  if (!opened) {
    fuse_reply_err(request, opened.error().value);
    return;
  }
  file->fh = *opened;
  if (fuse_reply_open(request, file) != 0) inside(served, [&] { served.directories.close(*opened); });
}

void release_directory(fuse_req_t request, fuse_ino_t /*node*/, fuse_file_info* file) {
  ServedVolume& served = served_by(request);
  inside(served, [&] { served.directories.close(file->fh); });
  fuse_reply_err(request, 0);
}

template <typename Take>
Answer<void> read_names(ServedVolume& served, OpenDirectory& directory, off_t cookie, const Take& take) {
  {
    const ext3::SleepLockGuard locked(served.volume.host, directory.inode->lock);
    EXT3_TRY(ext3::read_directory(served.volume, *directory.inode, directory.state, static_cast<std::uint64_t>(cookie),
                                  take));
  }
  return ext3::touch_access_time(served.volume, *directory.inode);
}

void read_directory(fuse_req_t request, fuse_ino_t /*node*/, std::size_t size, off_t cookie, fuse_file_info* file) {
  ServedVolume& served = served_by(request);
  const auto buffer = served.buffers.lease(size);
  Listing listing(request, buffer.bytes());
  const auto answer = inside(served, [&] {
    return read_names(served, open_directory_of(file), cookie,
                      [&](const ext3::DirectoryListing& entry) { return listing.add(entry); });
  });
  if (answer)
    listing.reply();
  else
    fuse_reply_err(request, answer.error().value);
}

// ---- with attributes ----

struct FoundName {
  std::string name;
  ext3::InodeNumber inode;
  std::uint8_t file_type = 0;
  std::uint64_t next_cookie = 0;
};

// The names first, as many as fit; their inodes when the directory's lock is given back.
Answer<std::vector<FoundName>> gather_names(ServedVolume& served, OpenDirectory& directory, off_t cookie,
                                            Listing& listing) {
  std::vector<FoundName> found;
  std::size_t used = 0;
  EXT3_TRY(read_names(served, directory, cookie, [&](const ext3::DirectoryListing& entry) {
    used += listing.size_with_attributes(entry.name);
    if (used > listing.size()) return false;
    found.push_back({std::string(entry.name), entry.inode, entry.file_type, entry.next_cookie});
    return true;
  }));
  return found;
}

// An inode that has gone meanwhile, and the two dots, which do not count as lookups, are given without attributes.
fuse_entry_param attributes_of(ServedVolume& served, const FoundName& found) {
  if (!ext3::is_dots(found.name))
    if (const auto inode = served.volume.inodes->get(found.inode)) return entry_of(served, **inode);
  fuse_entry_param bare{};
  bare.attr.st_ino = found.inode.value;
  bare.attr.st_mode = mode_of(found.file_type);
  return bare;
}

void read_directory_plus(fuse_req_t request, fuse_ino_t /*node*/, std::size_t size, off_t cookie,
                         fuse_file_info* file) {
  ServedVolume& served = served_by(request);
  const auto buffer = served.buffers.lease(size);
  Listing listing(request, buffer.bytes());
  std::vector<NodeId> told;
  const auto answer = inside(served, [&]() -> Answer<void> {
    EXT3_ASSIGN(const auto found, gather_names(served, open_directory_of(file), cookie, listing));
    for (const FoundName& name : found) {
      const fuse_entry_param entry = attributes_of(served, name);
      if (entry.ino != 0) told.push_back(entry.ino);
      listing.add(name.name, entry, name.next_cookie);
    }
    return {};
  });
  if (!answer) {
    fuse_reply_err(request, answer.error().value);
  } else if (listing.reply() != 0) {
    inside(served, [&] {
      for (const NodeId node : told) served.nodes.forget(node, 1);
    });
  }
}

void sync_directory(fuse_req_t request, fuse_ino_t /*node*/, int data_only, fuse_file_info* file) {
  ServedVolume& served = served_by(request);
  const auto answer =
      inside(served, [&] { return ext3::sync_file(served.volume, *open_directory_of(file).inode, data_only != 0); });
  fuse_reply_err(request, errno_of(answer));
}

}  // namespace

void add_directory_requests(fuse_lowlevel_ops& requests) {
  requests.opendir = &open_directory;
  requests.releasedir = &release_directory;
  requests.readdir = &read_directory;
  requests.readdirplus = &read_directory_plus;
  requests.fsyncdir = &sync_directory;
}

}  // namespace iotape::fuse_mount
