// The numbers the built-in ext3 counts with, and how it says no.
//
// Blocks are of the filesystem's own size (1, 2 or 4 KiB) and counted from the start of the device. What a filesystem
// answers to a caller is data: Answer<T> holds the value or the errno a kernel would give. The tool's own failures
// (an image that cannot be opened) are Result<T>.
#pragma once

#include <cerrno>
#include <cstdint>
#include <tl/expected.hpp>

#include "format/base/strong_id.h"

namespace iotape::ext3 {

using BlockNumber = StrongId<struct Ext3BlockTag, std::uint32_t>;    // on the device; 0 is never a file's block
using FileBlock = StrongId<struct Ext3FileBlockTag, std::uint32_t>;  // within a file, from 0
using GroupNumber = StrongId<struct Ext3GroupTag, std::uint32_t>;
using InodeNumber = StrongId<struct Ext3InodeTag, std::uint32_t>;  // from 1; 0 is no inode

inline constexpr BlockNumber kNoBlock{0};
inline constexpr InodeNumber kNoInode{0};
inline constexpr InodeNumber kBadBlocksInode{1};
inline constexpr InodeNumber kRootInode{2};
inline constexpr InodeNumber kResizeInode{7};
inline constexpr InodeNumber kJournalInode{8};
inline constexpr InodeNumber kFirstOrdinaryInode{11};

inline constexpr std::uint32_t kLinkLimit = 32000;  // names of one inode; also 31,998 subdirectories
inline constexpr std::uint32_t kNameLimit = 255;

// An errno as the kernel would return it, positive.
struct Errno {
  int value = 0;
  constexpr bool operator==(const Errno&) const = default;
};

template <typename T>
using Answer = tl::expected<T, Errno>;

[[nodiscard]] inline tl::unexpected<Errno> refuse(int error_number) { return tl::make_unexpected(Errno{error_number}); }

}  // namespace iotape::ext3

// EXT3_TRY(expression): returns the errno to the caller, or goes on.
#define EXT3_TRY(expression)                                                \
  do {                                                                      \
    if (auto ext3_try_answer = (expression); !ext3_try_answer) [[unlikely]] \
      return ::tl::make_unexpected(ext3_try_answer.error());                \
  } while (false)

#define EXT3_CONCAT_INNER(a, b) a##b
#define EXT3_CONCAT(a, b) EXT3_CONCAT_INNER(a, b)

// EXT3_ASSIGN(auto x, expression): declares x from the value, or returns the errno.
#define EXT3_ASSIGN(declaration, expression)                                   \
  auto EXT3_CONCAT(ext3_answer_, __LINE__) = (expression);                     \
  if (!EXT3_CONCAT(ext3_answer_, __LINE__)) [[unlikely]]                       \
    return ::tl::make_unexpected(EXT3_CONCAT(ext3_answer_, __LINE__).error()); \
  declaration = std::move(*EXT3_CONCAT(ext3_answer_, __LINE__))
