// What ext3_instructions.sh counts: N empty files in one directory made (and unmounted), looked at, removed (and
// unmounted), each in a function of its own whose name callgrind is told. The journal holds four times the metadata.
#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "tests/bench/ext3_disk.h"

namespace iotape::ext3 {

extern "C" [[gnu::noinline]] void counted_create(Disk& disk, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) disk.create(path, 0100644);
  disk.unmount();
}
extern "C" [[gnu::noinline]] void counted_stat(Disk& disk, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) disk.stat(path);
}
extern "C" [[gnu::noinline]] void counted_unlink(Disk& disk, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) disk.unlink(path);
  disk.unmount();
}

namespace {

// Inodes of 256 bytes and half-full directory leaves of 16-byte names, four times over; no less than a journal may
// have.
std::uint32_t journal_blocks(std::size_t count) {
  return static_cast<std::uint32_t>(std::max<std::size_t>(1024, 4 * count * (256 + 32) / 4096));
}

bool run(std::size_t count) {
  const auto paths = names_in_one_directory(count);
  Disk disk(journal_blocks(count));
  disk.mount();
  disk.create("/d", 0040755);
  counted_create(disk, paths);
  disk.mount();
  for (const std::string& path : paths) disk.stat(path);  // Cached from here on, as what was just made would be.
  counted_stat(disk, paths);
  counted_unlink(disk, paths);
  return disk.good();
}

}  // namespace
}  // namespace iotape::ext3

int main(int argc, char** argv) {
  std::size_t count = 0;
  if (argc != 2 || std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), count).ec != std::errc{} || count == 0) {
    fmt::print(stderr, "usage: ext3_instructions COUNT\n");
    return 2;
  }
  if (iotape::ext3::run(count)) return 0;
  fmt::print(stderr, "the filesystem refused\n");
  return 1;
}
