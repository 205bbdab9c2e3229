// Events that are few: each one is a protobuf message of its own. Private to the codec.
#pragma once

#include <functional>

#include "format/event.h"
#include "trace.pb.h"

namespace iotape::codec {

struct RareTime {
  std::int64_t resolution = 1;
  std::int64_t base_time = 0;  // in units of resolution
};

using FileToRow = std::function<std::uint32_t(const FileReference&)>;
// Answers an unknown reference for a row that does not exist.
using RowToFile = std::function<FileReference(std::uint32_t)>;

// Rare: any alternative of EventBody but Syscall and BlockRequest, which have columns; defined for exactly those.
template <typename Rare>
void encode_rare_event(const Rare& event, const RareTime& time, const FileToRow& row_of, wire::RareEvent& out);
// False when the message holds none of the events this version knows.
[[nodiscard]] bool decode_rare_event(const wire::RareEvent& message, const RareTime& time, const RowToFile& file_of,
                                     EventBody& out);

}  // namespace iotape::codec
