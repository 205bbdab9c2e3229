// The file mappings a replay has made: nothing else of the process may be unmapped, synced or moved by a replayed call.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace iotape {

class MemoryMap {
 public:
  // Room for one more mapping of this length? Bounds what a trace can take: 16,384 mappings, 16 TiB of addresses.
  [[nodiscard]] bool has_room(std::uint64_t length) const;
  void add(std::uint64_t address, std::uint64_t length);
  // Forgets a range, also the middle of a mapping.
  void remove(std::uint64_t address, std::uint64_t length);
  // Whether every byte of the range belongs to one mapping made here.
  [[nodiscard]] bool contains(std::uint64_t address, std::uint64_t length) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> ranges_;  // start -> end
  std::uint64_t total_ = 0;
};

}  // namespace iotape
