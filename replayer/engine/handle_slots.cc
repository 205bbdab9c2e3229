#include "replayer/engine/handle_slots.h"

namespace iotape {

std::int32_t HandleSlots::make() {
  if (free_.empty()) {
    slots_.emplace_back();
    return kFirstSlot + static_cast<std::int32_t>(slots_.size() - 1);
  }
  const std::int32_t number = free_.back();
  free_.pop_back();
  *find(number) = {};
  return number;
}

HandleSlot* HandleSlots::find(std::int32_t number) {
  if (number < kFirstSlot) return nullptr;
  const auto index = static_cast<std::size_t>(number - kFirstSlot);
  return index < slots_.size() ? &slots_[index] : nullptr;
}

void HandleSlots::let_go(std::int32_t number) {
  HandleSlot* slot = find(number);
  if (slot == nullptr || slot->let_go) return;
  slot->let_go = true;
  free_if_unused(number, *slot);
}

void HandleSlots::use(std::int32_t number) {
  if (HandleSlot* slot = find(number)) ++slot->users;
}

void HandleSlots::release(std::int32_t number) {
  HandleSlot* slot = find(number);
  if (slot == nullptr || slot->users == 0) return;
  --slot->users;
  free_if_unused(number, *slot);
}

void HandleSlots::free_if_unused(std::int32_t number, HandleSlot& slot) {
  if (slot.users == 0 && slot.let_go) free_.push_back(number);
}

}  // namespace iotape
