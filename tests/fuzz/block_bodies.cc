// block_bodies TRACE PREFIX: the uncompressed bodies of a trace's event blocks as PREFIX-0, PREFIX-1, ..., each led by
// one byte that stands for its number of events: seeds for block_body_fuzz.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "format/block_frame.h"
#include "format/compression.h"

int main(int argument_count, char** arguments) {
  if (argument_count != 3) return 2;
  std::ifstream in(arguments[1], std::ios::binary);
  const std::string trace{std::istreambuf_iterator<char>(in), {}};
  const std::span all(reinterpret_cast<const std::uint8_t*>(trace.data()), trace.size());
  iotape::Decompressor decompressor;
  std::size_t offset = 0;
  int number = 0;
  while (offset + iotape::kBlockHeaderBytes <= all.size()) {
    const auto frame = iotape::decode_block_frame(all.subspan(offset, iotape::kBlockHeaderBytes));
    if (!frame || all.size() - offset - iotape::kBlockHeaderBytes < frame->payload_bytes) break;
    const auto payload = all.subspan(offset + iotape::kBlockHeaderBytes, frame->payload_bytes);
    offset += iotape::kBlockHeaderBytes + frame->payload_bytes;
    const auto body = decompressor.decompress(payload, frame->body_bytes);
    if (!body || frame->kind != iotape::BlockKind::kEvents) continue;
    std::ofstream out(std::string(arguments[2]) + "-" + std::to_string(number++), std::ios::binary);
    out.put(static_cast<char>(frame->events));
    out.write(reinterpret_cast<const char*>(body->data()), static_cast<std::streamsize>(body->size()));
  }
  return number > 0 ? 0 : 1;
}
