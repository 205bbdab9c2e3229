// Which file a call meant, independent of the names it had.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "format/base/strong_id.h"

namespace iotape {

// (device, subvolume, inode, generation). Two files of one trace are the same exactly when all four agree.
// subvolume is the btrfs root id, 0 elsewhere: (s_dev, inode) alone is no identity on btrfs.
// generation is the kernel's i_generation; filesystems without one keep 0, and the recorder then counts reuse of an
// inode number between unlink and create.
struct FileIdentity {
  DeviceId device;
  std::uint32_t generation = 0;
  InodeNumber inode;
  std::uint64_t subvolume = 0;

  constexpr bool operator==(const FileIdentity&) const = default;
};

enum class FileKind : std::uint8_t {
  kUnknown = 0,  // the kernel did not show it (a bad descriptor, a read that failed)
  kRegular = 1,
  kDirectory = 2,
  kSymbolicLink = 3,
  kFifo = 4,
  kSocket = 5,
  kCharacterDevice = 6,
  kBlockDevice = 7,
  kAnonymous = 8,  // eventfd, epoll, memfd, pidfd and their like: no path leads there
};
inline constexpr int kFileKindCount = 9;

// By the type bits of a mode; `otherwise` where they name none of the types.
[[nodiscard]] FileKind file_kind_of_mode(std::uint32_t mode, FileKind otherwise);

struct FileReference {
  FileIdentity identity;
  FileKind kind = FileKind::kUnknown;

  [[nodiscard]] constexpr bool known() const { return kind != FileKind::kUnknown; }
  constexpr bool operator==(const FileReference&) const = default;
};

// A descriptor argument: the number the process used and the file it stood for when the call was made.
struct Descriptor {
  std::int32_t number = -1;
  FileReference file;

  constexpr bool operator==(const Descriptor&) const = default;
};
inline constexpr std::int32_t kAtCurrentDirectory = -100;  // AT_FDCWD

// How the bytes of a string argument came to us.
enum class TextState : std::uint8_t {
  kPresent = 0,
  kNull = 1,       // the pointer was NULL, which is legal: utimensat(fd, NULL, ...)
  kFault = 2,      // the kernel could not read it either
  kTruncated = 3,  // longer than the recorder keeps; bytes hold the beginning
  kHidden = 4,     // left out on request (--args none, share)
};
inline constexpr int kTextStateCount = 5;

// A string argument that is not resolved as a path: a link target, an xattr name, a label. Bytes, not characters.
struct Text {
  TextState state = TextState::kPresent;
  std::string bytes;

  bool operator==(const Text&) const = default;
  static Text of(std::string value) { return {TextState::kPresent, std::move(value)}; }
};

// A path argument: its raw bytes and the directory they were relative to.
// directory.number is AT_FDCWD for calls without a dirfd; directory.file is then the working directory.
struct PathArgument {
  TextState state = TextState::kPresent;
  std::string bytes;
  Descriptor directory{kAtCurrentDirectory, {}};

  bool operator==(const PathArgument&) const = default;
  [[nodiscard]] bool absolute() const { return !bytes.empty() && bytes.front() == '/'; }
};

// A place the kernel resolved: an absolute path as seen from the initial mount namespace, and the mount it lies on.
struct Location {
  FileReference file;
  std::string path;  // empty when it could not be resolved
  bool deleted = false;

  bool operator==(const Location&) const = default;
};

}  // namespace iotape

template <>
struct std::hash<iotape::FileIdentity> {
  std::size_t operator()(const iotape::FileIdentity& id) const noexcept {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
    std::uint64_t mixed = id.inode.value * kOdd;
    mixed ^= (std::uint64_t{id.device.value} << 32U | id.generation) + (mixed >> 29U);
    mixed = (mixed ^ id.subvolume) * kOdd;
    return mixed ^ (mixed >> 32U);
  }
};
