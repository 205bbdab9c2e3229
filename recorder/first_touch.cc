#include "recorder/first_touch.h"

#include <functional>

namespace iotape {
namespace {

constexpr std::size_t kFirstSize = 1U << 12U;

std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 30U;
  value *= 0xBF58476D1CE4E5B9ULL;
  value ^= value >> 27U;
  value *= 0x94D049BB133111EBULL;
  value ^= value >> 31U;
  return value == 0 ? 1 : value;
}

std::uint64_t key_of(const FileIdentity& identity) { return mixed(std::hash<FileIdentity>{}(identity)); }

std::uint64_t key_without_generation(FileIdentity identity) {
  identity.generation = 0;
  constexpr std::uint64_t kApart = 0x5BD1E995;
  return mixed(std::hash<FileIdentity>{}(identity) ^ kApart);
}

std::uint64_t key_of_name(const FileReference& directory, std::string_view name) {
  return mixed(key_of(directory.identity) ^ std::hash<std::string_view>{}(name));
}

}  // namespace

bool FirstTouch::contains(std::uint64_t key) const {
  if (slots_.empty()) return false;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = key & mask; slots_[at] != 0; at = (at + 1) & mask)
    if (slots_[at] == key) return true;
  return false;
}

void FirstTouch::grow() {
  std::vector<std::uint64_t> old(slots_.empty() ? kFirstSize : slots_.size() * 2);
  old.swap(slots_);
  used_ = 0;
  for (const std::uint64_t key : old)
    if (key != 0) insert(key);
}

// True when the key was not there.
bool FirstTouch::insert(std::uint64_t key) {
  if (slots_.empty() || (used_ * 2 >= slots_.size() && used_ < kMaximumEntries)) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = key & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask)
    if (slots_[at] == key) return false;
  if (used_ >= kMaximumEntries) return true;
  slots_[at] = key;
  ++used_;
  return true;
}

bool FirstTouch::take(const FileState& state) {
  const FileIdentity& identity = state.file.identity;
  const std::string& spelling = state.path.empty() ? state.name : state.path;
  const FileReference none;
  if (!spelling.empty() && contains(key_of_name(state.path.empty() ? state.parent : none, spelling))) {
    made(state.file);
    return false;
  }
  const bool without_generation = identity.generation == 0;
  const bool fresh = insert(key_without_generation(identity));
  if (without_generation) return fresh;
  // A stat by path may have come first: it knows as much, but not which generation, so the better one is kept too.
  return insert(key_of(identity));
}

void FirstTouch::made(const FileReference& file) {
  insert(key_of(file.identity));
  insert(key_without_generation(file.identity));
}

void FirstTouch::made_name(const PathArgument& path) {
  if (path.state != TextState::kPresent) return;
  insert(key_of_name(path.absolute() ? FileReference{} : path.directory.file, path.bytes));
}

}  // namespace iotape
