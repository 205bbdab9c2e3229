// CallWriter: the calls of a program that never ran, as events a replay takes like recorded ones.
//
// One process in /work, a filesystem of its own, does one call after the other. Each takes the time that the call takes
// the kernel's processor when nothing is waited for (call_costs.h), so that a simulated machine has something to count.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "format/event.h"
#include "format/trace_header.h"

namespace iotape {

// Where the program works, as --map names it.
inline constexpr std::string_view kGeneratedRoot = "/work";

class CallWriter {
 public:
  // Device, mount and process, which every trace begins with.
  void begin();

  // Paths are relative to /work. file numbers a file within the trace: the same number is the same file.
  void make_directory(const std::string& path);
  void make_empty_file(const std::string& path, std::uint64_t file);
  // In pieces of at most `piece` bytes, as tar and dd write.
  void write_file(const std::string& path, std::uint64_t file, std::uint64_t bytes, std::uint64_t piece);
  void read_file(const std::string& path, std::uint64_t file, std::uint64_t bytes, std::uint64_t piece);
  void stat(const std::string& path);
  void unlink(const std::string& path);
  void remove_directory(const std::string& path);
  void rename(const std::string& from, const std::string& to);
  // Reads a directory of so many names to its end; directory numbers it like a file.
  void list(const std::string& path, std::uint64_t directory, std::uint64_t names);
  void sync_filesystem();

  // A file that is kept open while other calls are made.
  void open_to_write(const std::string& path, std::uint64_t file);
  void append(std::uint64_t file, std::uint64_t offset, std::uint64_t bytes);
  void close_file(std::uint64_t file);

  [[nodiscard]] bool empty() const { return events_.empty(); }
  // REQUIRES: not empty.
  EventBody take();

 private:
  void call(std::uint32_t number, Operation operation, std::int64_t value, std::uint64_t units = 0);
  std::int32_t open(const std::string& path, FileReference file, std::int64_t flags);
  void close(std::int32_t descriptor, FileReference file);
  void transfer_all(std::int32_t descriptor, FileReference file, std::uint64_t bytes, std::uint64_t piece, bool write);

  std::deque<EventBody> events_;
  Nanoseconds time_{1'000'000'000};
};

// Of every trace made here; the id comes from the words that describe it.
[[nodiscard]] TraceHeader generated_header(const std::string& description);

}  // namespace iotape
