#include "replayer/target/operation_codec.h"

#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

namespace iotape {
namespace {

class Encoder {
 public:
  explicit Encoder(std::span<std::byte> buffer) : buffer_(buffer) {}

  template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void put(const T& value) { put_bytes(&value, sizeof(T)); }
  void put(const FilePosition& position) { put(position.value); }
  void put(const TimeArgument& time) { put_bytes(&time, sizeof(time)); }
  void put(const Descriptor& descriptor) { put(descriptor.number); }
  void put(const FileReference& /*file*/) {}
  void put(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(text.data(), text.size());
  }
  void put(const Text& text) {
    put(text.state);
    put(text.bytes);
  }
  void put(const PathArgument& path) {
    put(path.state);
    put(path.directory);
    put(path.bytes);
  }
  void put(const SegmentLengths& lengths) {
    put(static_cast<std::uint32_t>(lengths.size()));
    put_bytes(lengths.data(), lengths.size() * sizeof(std::int64_t));
  }

  [[nodiscard]] std::optional<std::size_t> used() const { return full_ ? std::nullopt : std::optional(used_); }

 private:
  void put_bytes(const void* data, std::size_t size) {
    full_ = full_ || size > buffer_.size() - used_;
    if (full_ || size == 0) return;
    std::memcpy(buffer_.data() + used_, data, size);
    used_ += size;
  }

  std::span<std::byte> buffer_;
  std::size_t used_ = 0;
  bool full_ = false;
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void get(T& value) { get_bytes(&value, sizeof(T)); }
  void get(FilePosition& position) { get(position.value); }
  void get(TimeArgument& time) { get_bytes(&time, sizeof(time)); }
  void get(Descriptor& descriptor) { get(descriptor.number); }
  void get(FileReference& /*file*/) {}
  void get(std::string& text) {
    text.resize(length(1));
    get_bytes(text.data(), text.size());
  }
  void get(Text& text) {
    get(text.state);
    get(text.bytes);
  }
  void get(PathArgument& path) {
    get(path.state);
    get(path.directory);
    get(path.bytes);
  }
  void get(SegmentLengths& lengths) {
    lengths.resize(length(sizeof(std::int64_t)));
    get_bytes(lengths.data(), lengths.size() * sizeof(std::int64_t));
  }

  [[nodiscard]] bool complete() const { return !broken_ && position_ == bytes_.size(); }

 private:
  std::size_t length(std::size_t element) {
    std::uint32_t count = 0;
    get(count);
    broken_ = broken_ || count > (bytes_.size() - position_) / element;
    return broken_ ? 0 : count;
  }
  void get_bytes(void* data, std::size_t size) {
    broken_ = broken_ || size > bytes_.size() - position_;
    if (broken_ || size == 0) return;
    std::memcpy(data, bytes_.data() + position_, size);
    position_ += size;
  }

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  bool broken_ = false;
};

template <std::size_t index>
void decode_alternative(Decoder& decoder, Operation& operation) {
  auto& op = operation.emplace<index>();
  for_each_field(op, [&](const auto& /*description*/, auto& member) { decoder.get(member); });
}

template <std::size_t... index>
constexpr auto decoders(std::index_sequence<index...> /*unused*/) {
  return std::array<void (*)(Decoder&, Operation&), sizeof...(index)>{decode_alternative<index>...};
}

}  // namespace

std::optional<std::size_t> encode_operation(const Operation& operation, std::span<std::byte> buffer) {
  Encoder encoder(buffer);
  encoder.put(static_cast<std::uint8_t>(operation.index()));
  std::visit(
      [&](const auto& op) {
        for_each_field(op, [&](const auto& /*description*/, const auto& member) { encoder.put(member); });
      },
      operation);
  return encoder.used();
}

std::optional<Operation> decode_operation(std::span<const std::byte> bytes) {
  static constexpr auto kDecoders = decoders(std::make_index_sequence<kOperationCount>{});
  Decoder decoder(bytes);
  std::uint8_t index = 0;
  decoder.get(index);
  if (index >= kDecoders.size()) return std::nullopt;
  Operation operation;
  kDecoders.at(index)(decoder, operation);
  if (!decoder.complete()) return std::nullopt;
  return operation;
}

}  // namespace iotape
