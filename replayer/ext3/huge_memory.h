// Memory in pieces of 2 MiB, which the kernel may back with huge pages: a cache of blocks is filled page by page, and a
// page fault costs as much as copying the page.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace iotape::ext3 {

class HugeMemory {
 public:
  static constexpr std::size_t kPiece = std::size_t{2} << 20U;

  // All zeros; lives as long as this object.
  std::byte* add() {
    pieces_.push_back(map_aligned());
    ::madvise(pieces_.back().get(), kPiece, MADV_HUGEPAGE);  // advice: without it everything works as well
    return pieces_.back().get();
  }

 private:
  struct Free {
    void operator()(std::byte* piece) const { ::munmap(piece, kPiece); }
  };
  using Piece = std::unique_ptr<std::byte, Free>;

  // The kernel aligns to pages: twice as much holds an aligned piece, and what is around it goes back.
  static Piece map_aligned() {
    void* const mapped = ::mmap(nullptr, 2 * kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    auto* const begin = static_cast<std::byte*>(mapped);
    const std::size_t before = kPiece - reinterpret_cast<std::uintptr_t>(begin) % kPiece;
    ::munmap(begin, before);
    if (before < kPiece) ::munmap(begin + before + kPiece, kPiece - before);
    return Piece(begin + before);
  }

  std::vector<Piece> pieces_;
};

}  // namespace iotape::ext3
