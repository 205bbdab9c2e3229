// HandleSlots: numbers that stand for descriptors of the target before the target has given them out.
//
// In thread order a call is translated when it is read, and the open that gets its descriptor may still be waiting.
// So the descriptor tables hold a slot's number (from kFirstSlot on, above any descriptor), and the target's own number
// is put in its place when the call is submitted. Every slot belongs to one descriptor table: a fork's copy of a table
// has slots of its own, and closing here does not wait for uses there.
// A slot lives until its table has let go of it and no waiting call names it, so memory goes with what is open.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace iotape {

// Above what the kernel lets a descriptor be (fs.nr_open is at most 2^30 - 64).
inline constexpr std::int32_t kFirstSlot = 1 << 30;

struct HandleSlot {
  std::int32_t number = -1;            // the target's; -1 when the replayed open failed
  bool known = false;                  // the call that gets the descriptor has completed
  bool lost = false;                   // the target did not issue that call
  bool let_go = false;                 // its table has it no more
  std::uint32_t users = 0;             // waiting or submitted calls that name it
  std::vector<std::uint32_t> waiting;  // target threads whose next call waits for this slot
};

class HandleSlots {
 public:
  [[nodiscard]] std::int32_t make();
  // nullptr for a number that is none of ours.
  [[nodiscard]] HandleSlot* find(std::int32_t number);
  // The table has it no more; no later call can name it.
  void let_go(std::int32_t number);
  void use(std::int32_t number);
  void release(std::int32_t number);
  [[nodiscard]] std::size_t in_use() const { return slots_.size() - free_.size(); }

 private:
  void free_if_unused(std::int32_t number, HandleSlot& slot);
  std::deque<HandleSlot> slots_;
  std::vector<std::int32_t> free_;
};

}  // namespace iotape
