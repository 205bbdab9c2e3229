// BlockDevice: where the built-in ext3 keeps its blocks. Caches, tracing, fault injection and simulated timing are
// decorators of this interface, stacked in one place (see the makers of each face).
//
// A request covers consecutive bytes from offset on, gathered from or scattered to parts; each part says what it is, so
// that a trace can tell an inode table from a journal. offset and all lengths are multiples of 512.
// A failed request is EIO, data as any errno. Calls are made outside the Host's monitor and may be made by several
// threads at once; a device that keeps state locks it itself. Only submitted requests outlive the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "format/event.h"
#include "replayer/ext3/types.h"

namespace iotape::ext3 {

// What a block holds and who made it dirty.
struct BlockTag {
  BlockCause cause = BlockCause::kUnknown;
  InodeNumber inode{};        // whose data, directory, indirect or attribute block; 0 for the volume's own
  FileBlock file_block{};     // of data and directory blocks
  std::uint32_t dirtier = 0;  // Host::thread() of the last to change it
  bool read_back = false;     // data that the filesystem itself reads: a symbolic link's target
};

struct IoPart {
  std::byte* data = nullptr;
  std::uint32_t bytes = 0;
  BlockTag tag;
};

enum class IoReason : std::uint8_t {
  kDemand,  // somebody waits for it
  kReadAhead,
  kWriteBack,  // nobody waits
};

// A request that nobody stands and waits for: its end is told.
class IoRequest {
 public:
  IoRequest() = default;
  IoRequest(const IoRequest&) = delete;
  IoRequest& operator=(const IoRequest&) = delete;
  virtual ~IoRequest() = default;
  // Called once, outside the monitor, perhaps before submit() returns; the request is destroyed afterwards.
  virtual void ended(Answer<void> answer) = 0;

  bool write = false;
  std::uint64_t offset = 0;
  std::vector<IoPart> parts;
  IoReason reason = IoReason::kDemand;
};

class BlockDevice {
 public:
  BlockDevice() = default;
  BlockDevice(const BlockDevice&) = delete;
  BlockDevice& operator=(const BlockDevice&) = delete;
  virtual ~BlockDevice() = default;

  [[nodiscard]] virtual std::uint64_t size() const = 0;  // bytes
  [[nodiscard]] virtual bool read_only() const { return false; }

  virtual Answer<void> read(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) = 0;
  virtual Answer<void> write(std::uint64_t offset, std::span<const IoPart> parts, IoReason reason) = 0;
  // Hands a request over. A device with a queue lets several be under way and serves them in the order it likes, so
  // requests that overlap must not be under way together; any other carries it out at once. May wait for room.
  virtual void submit(std::unique_ptr<IoRequest> request);
  // The bytes read as zeros afterwards. A device that can see to that without writing them (a sparse file gives up the
  // room) does; any other writes zeros, a MiB at a time.
  virtual Answer<void> write_zeros(std::uint64_t offset, std::uint64_t bytes, const BlockTag& tag);
  // Everything written before is durable afterwards.
  virtual Answer<void> flush() = 0;
};

}  // namespace iotape::ext3
