#include "format/parsed_size.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <string>

#include "format/block_frame.h"
#include "trace.pb.h"

namespace iotape {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::MessageFactory;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// The largest growth: an empty column group, two bytes, becomes a CallColumns.
constexpr std::size_t kLargestGrowth = 256;
static_assert(sizeof(wire::CallColumns) + sizeof(void*) <= 2 * kLargestGrowth &&
              sizeof(wire::RequestColumns) <= 2 * kLargestGrowth);

// Repeated fields grow by doubling and an arena keeps the outgrown halves.
constexpr std::size_t kArenaGrowth = 2;

class Scale {
 public:
  explicit Scale(std::span<const std::uint8_t> body) : in_(body.data(), static_cast<int>(body.size())) {}

  // Adds what a message's fields take, up to the end or the first thing that does not parse.
  void weigh(const Descriptor& message) {
    while (const std::uint32_t tag = sound() ? in_.ReadTag() : 0) {
      const FieldDescriptor* field = message.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED)
        weigh_delimited(field);
      else
        weigh_number(tag, field);
    }
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] bool sound() const { return !broken_ && bytes_ <= kMaximumParsedBytes; }

  void weigh_number(std::uint32_t tag, const FieldDescriptor* field) {
    if (field == nullptr || field->is_repeated()) bytes_ += kArenaGrowth * sizeof(std::uint64_t);
    broken_ = !WireFormatLite::SkipField(&in_, tag);
  }
  void weigh_delimited(const FieldDescriptor* field) {
    std::uint32_t length = 0;
    broken_ = !in_.ReadVarint32(&length) || length > kMaximumBodyBytes;
    if (broken_) return;
    if (field != nullptr && field->type() == FieldDescriptor::TYPE_MESSAGE) return weigh_message(*field, length);
    if (field != nullptr && field->is_packable())
      bytes_ += kArenaGrowth * values_in(*field, length) * sizeof(std::uint64_t);
    else
      bytes_ += sizeof(std::string) + kArenaGrowth * sizeof(void*) + length;
    broken_ = !in_.Skip(static_cast<int>(length));
  }
  void weigh_message(const FieldDescriptor& field, std::uint32_t length) {
    const Descriptor& type = *field.message_type();
    bytes_ += MessageFactory::generated_factory()->GetPrototype(&type)->SpaceUsedLong() + kArenaGrowth * sizeof(void*);
    const auto outer = in_.PushLimit(static_cast<int>(length));
    weigh(type);
    if (!sound()) return;
    broken_ = !in_.CheckEntireMessageConsumedAndPopLimit(outer);
  }
  // At most so many: a varint has at least one byte.
  static std::size_t values_in(const FieldDescriptor& field, std::uint32_t length) {
    return field.type() == FieldDescriptor::TYPE_FIXED32 ? length / sizeof(std::uint32_t) : length;
  }

  CodedInputStream in_;
  std::size_t bytes_ = 0;
  bool broken_ = false;
};

}  // namespace

Result<void> check_parsed_size(std::span<const std::uint8_t> body) {
  if (body.size() <= kMaximumParsedBytes / kLargestGrowth) return {};
  Scale scale(body);
  scale.weigh(*wire::Body::descriptor());
  if (scale.bytes() <= kMaximumParsedBytes) return {};
  return failure(ErrorCode::kCorrupt,
                 fmt::format("the block's body unpacks to more than {} MiB", kMaximumParsedBytes >> 20U));
}

}  // namespace iotape
