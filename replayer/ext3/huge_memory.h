// Memory in pieces of 2 MiB, which the kernel may back with huge pages: a cache of blocks is filled page by page, and a
// page fault costs as much as copying the page.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace iotape::ext3 {

class HugeMemory {
 public:
  static constexpr std::size_t kPiece = std::size_t{2} << 20U;

  // Uninitialised; lives as long as this object.
  std::byte* add() {
    Piece piece(static_cast<std::byte*>(::operator new (kPiece, std::align_val_t{kPiece})));
    ::madvise(piece.get(), kPiece, MADV_HUGEPAGE);  // advice: without it everything works as well
    pieces_.push_back(std::move(piece));
    return pieces_.back().get();
  }

 private:
  struct Free {
    void operator()(std::byte* piece) const { ::operator delete (piece, std::align_val_t{kPiece}); }
  };
  using Piece = std::unique_ptr<std::byte, Free>;
  std::vector<Piece> pieces_;
};

}  // namespace iotape::ext3
