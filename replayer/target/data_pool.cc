#include "replayer/target/data_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "format/base/file_descriptor.h"

namespace iotape {
namespace {

constexpr std::size_t kPoolBytes = std::size_t{4} << 20U;
constexpr std::size_t kPage = 4096;
// A transfer may start anywhere in the pool, so one more repetition than the longest one has.
constexpr std::size_t kRepetitions = kMaximumTransfer / kPoolBytes + 1;
constexpr std::size_t kRegionBytes = kPoolBytes * kRepetitions;

// SplitMix64, by Sebastiano Vigna (public domain): one multiplication chain per 8 bytes, passes BigCrush.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

Result<std::byte*> map_repeatedly(const char* name) {
  const FileDescriptor memory(::memfd_create(name, MFD_CLOEXEC));
  if (!memory || ::ftruncate(memory.get(), kPoolBytes) != 0) return system_failure("making the data pool", errno);
  void* region = ::mmap(nullptr, kRegionBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) return system_failure("reserving the data pool", errno);
  auto* base = static_cast<std::byte*>(region);
  for (std::size_t i = 0; i < kRepetitions; ++i) {
    void* part =
        ::mmap(base + i * kPoolBytes, kPoolBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory.get(), 0);
    if (part == MAP_FAILED) {
      const int error = errno;
      ::munmap(region, kRegionBytes);
      return system_failure("mapping the data pool", error);
    }
  }
  return base;
}

}  // namespace

void fill_random(std::span<std::byte> bytes, std::uint64_t seed) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::uint64_t value = next_random(seed);
    const std::size_t size = std::min(sizeof(value), bytes.size() - done);
    std::memcpy(bytes.data() + done, &value, size);
    done += size;
  }
}

Result<DataPool> DataPool::make(Fill fill, std::uint64_t seed) {
  IOTAPE_ASSIGN(std::byte * data, map_repeatedly("iotape-data"));
  auto scratch = map_repeatedly("iotape-scratch");
  if (!scratch) {
    ::munmap(data, kRegionBytes);
    return tl::make_unexpected(std::move(scratch).error());
  }
  if (fill == Fill::kRandom) fill_random({data, kPoolBytes}, seed);
  return DataPool(data, *scratch, fill);
}

DataPool::DataPool(DataPool&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      scratch_(std::exchange(other.scratch_, nullptr)),
      fill_(other.fill_),
      passes_(other.passes_.load()),
      stamps_(other.stamps_.load()) {}

DataPool::~DataPool() {
  if (data_ != nullptr) ::munmap(data_, kRegionBytes);
  if (scratch_ != nullptr) ::munmap(scratch_, kRegionBytes);
}

// Every pass starts at another offset within a page, so a block of one pass never holds the bytes of another's. When
// all 4,096 are used up (16 GiB), the pool gets new bytes; writers under way may mix old and new, both are random.
std::size_t DataPool::start_pass() {
  const std::uint64_t pass = passes_.fetch_add(1, std::memory_order_relaxed);
  if (pass != 0 && pass % kPage == 0) fill_random({data_, kPoolBytes}, pass);
  return pass % kPage;
}

const std::byte* DataPool::next_data(Cursor& cursor, std::size_t length) {
  if (fill_ == Fill::kZero) return data_;
  if (!cursor.started || cursor.offset + length > kPoolBytes) {
    cursor.offset = start_pass();
    cursor.started = true;
  }
  const std::byte* data = data_ + cursor.offset;
  cursor.offset += length;
  return data;
}

const std::byte* DataPool::next_aligned_data(Cursor& cursor, std::size_t length) {
  if (fill_ == Fill::kZero) return data_;
  std::size_t start = cursor.offset / kPage * kPage;
  if (start + length > kPoolBytes) start = 0;
  const std::size_t stamped = std::min(length, kPoolBytes);
  for (std::size_t at = 0; at < stamped; at += kPage) {
    const std::uint64_t stamp = stamps_.fetch_add(1, std::memory_order_relaxed);
    std::memcpy(data_ + start + at, &stamp, sizeof(stamp));
  }
  cursor.offset = start + stamped;
  cursor.started = true;
  return data_ + start;
}

}  // namespace iotape
