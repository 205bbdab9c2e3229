// One step of a sequence that is carried out on two filesystems side by side, and what comes of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/event.h"

namespace iotape::ext3::test {

struct Step {
  std::uint32_t number = 0;  // x86-64 system call
  Operation operation;
  std::uint64_t fill = 0;  // what the bytes that it writes are made of
  std::uint32_t user = 0;  // 0, or one without privileges; the group likewise
};

struct StepOutcome {
  std::int64_t value = -1;  // a descriptor is told by the lowest number that was free, on both sides
  int error = 0;
  std::string seen;                // the bytes read
  std::vector<std::string> names;  // of a directory, in the order given
  bool opened_directory = false;   // the kernel's side tells
  [[nodiscard]] bool ok() const { return error == 0; }
};

// `length` bytes that only the fill decides.
void fill_bytes(std::uint64_t fill, std::size_t length, std::vector<std::byte>& bytes);

// One line for people: bytes that are not printable are written \xNN.
std::string describe(const Step& step);
std::string describe(const StepOutcome& outcome);
std::string printable_bytes(const std::string& bytes);

}  // namespace iotape::ext3::test
