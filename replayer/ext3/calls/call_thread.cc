#include "replayer/ext3/calls/call_thread.h"

#include <fcntl.h>

#include <algorithm>

namespace iotape::ext3 {
namespace {

constexpr std::size_t kMostDescriptors = std::size_t{1} << 20U;

}  // namespace

bool OpenFile::readable() const { return (flags & O_PATH) == 0 && (flags & O_ACCMODE) != O_WRONLY; }
bool OpenFile::writable() const { return (flags & O_PATH) == 0 && (flags & O_ACCMODE) != O_RDONLY; }

int DescriptorTable::add(std::shared_ptr<OpenFile> file, bool close_on_exec, int lowest) {
  std::size_t at = std::max(lowest_free_, static_cast<std::size_t>(lowest));
  while (at < slots_.size() && slots_[at].file) ++at;
  if (at >= kMostDescriptors) return -1;
  if (at >= slots_.size()) slots_.resize(at + 1);
  slots_[at] = {std::move(file), close_on_exec};
  if (static_cast<std::size_t>(lowest) <= lowest_free_) lowest_free_ = at + 1;
  return static_cast<int>(at);
}

void DescriptorTable::replace(int number, std::shared_ptr<OpenFile> file, bool close_on_exec) {
  slots_[static_cast<std::size_t>(number)] = {std::move(file), close_on_exec};
}

DescriptorSlot* DescriptorTable::find(int number) {
  if (number < 0 || static_cast<std::size_t>(number) >= slots_.size()) return nullptr;
  DescriptorSlot& slot = slots_[static_cast<std::size_t>(number)];
  return slot.file ? &slot : nullptr;
}

bool DescriptorTable::close(int number) {
  DescriptorSlot* const slot = find(number);
  if (slot == nullptr) return false;
  *slot = {};
  lowest_free_ = std::min(lowest_free_, static_cast<std::size_t>(number));
  return true;
}

void DescriptorTable::close_on_exec() {
  for (std::size_t number = 0; number < slots_.size(); ++number)
    if (slots_[number].file && slots_[number].close_on_exec) close(static_cast<int>(number));
}

}  // namespace iotape::ext3
