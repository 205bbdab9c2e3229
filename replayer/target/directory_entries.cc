#include "replayer/target/directory_entries.h"

#include <cstdint>
#include <cstring>

namespace iotape {
namespace {

// struct linux_dirent: inode (8), offset (8), length (2), name; struct linux_dirent64 has a type byte before the name.
constexpr std::size_t kLengthAt = 16;
constexpr std::size_t kOldNameAt = 18;
constexpr std::size_t kNewNameAt = 19;

}  // namespace

std::vector<std::string> directory_names(std::span<const std::byte> entries, bool old_layout) {
  const std::size_t name_at = old_layout ? kOldNameAt : kNewNameAt;
  std::vector<std::string> names;
  while (entries.size() > name_at) {
    std::uint16_t length = 0;
    std::memcpy(&length, entries.data() + kLengthAt, sizeof(length));
    if (length <= name_at || length > entries.size()) break;
    const auto* name = reinterpret_cast<const char*>(entries.data() + name_at);
    names.emplace_back(name, ::strnlen(name, length - name_at));
    entries = entries.subspan(length);
  }
  return names;
}

}  // namespace iotape
