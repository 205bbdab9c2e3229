#include "tests/fuzz/body_mutator.h"

#include <google/protobuf/reflection.h>

#include <array>
#include <string>

namespace iotape::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

class Mutation {
 public:
  Mutation(Message& message, const FieldDescriptor& field, std::mt19937& random)
      : message_(message), field_(field), reflection_(*message.GetReflection()), random_(random) {}

  void apply() { field_.is_repeated() ? change_list() : change_one(); }

 private:
  [[nodiscard]] int any_index(int size) { return static_cast<int>(random_() % static_cast<unsigned>(size)); }

  std::uint64_t another(std::uint64_t value) {
    static constexpr std::array<std::uint64_t, 16> kBorders{0,
                                                            1,
                                                            2,
                                                            5,
                                                            255,
                                                            511,
                                                            512,
                                                            1023,
                                                            1024,
                                                            65'535,
                                                            0x7FFFFFFF,
                                                            0x80000000,
                                                            0xFFFFFFFF,
                                                            0x7FFFFFFFFFFFFFFF,
                                                            0x8000000000000000,
                                                            0xFFFFFFFFFFFFFFFF};
    switch (random_() % 5) {
      case 0:
        return kBorders[random_() % kBorders.size()];
      case 1:
        return value + 1 + random_() % 3;
      case 2:
        return value - 1 - random_() % 3;
      case 3:
        return value ^ std::uint64_t{1} << random_() % 64;
      default:
        return random_() % 16;
    }
  }
  std::string another(std::string text) {
    if (text.empty() || random_() % 4 == 0) text.append(1 + random_() % 8, static_cast<char>(random_()));
    if (random_() % 4 == 0) text.resize(random_() % (text.size() + 1));
    if (!text.empty()) text[random_() % text.size()] = static_cast<char>(random_());
    return text;
  }

  void change_one() {
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return mutate(*reflection_.MutableMessage(&message_, &field_), random_);
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection_.SetString(&message_, &field_, another(reflection_.GetString(message_, &field_)));
      case FieldDescriptor::CPPTYPE_BOOL:
        return reflection_.SetBool(&message_, &field_, random_() % 2 == 0);
      case FieldDescriptor::CPPTYPE_UINT32:
        return reflection_.SetUInt32(&message_, &field_,
                                     static_cast<std::uint32_t>(another(reflection_.GetUInt32(message_, &field_))));
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection_.SetInt32(
            &message_, &field_,
            static_cast<std::int32_t>(another(static_cast<std::uint64_t>(reflection_.GetInt32(message_, &field_)))));
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection_.SetUInt64(&message_, &field_, another(reflection_.GetUInt64(message_, &field_)));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection_.SetInt64(
            &message_, &field_,
            static_cast<std::int64_t>(another(static_cast<std::uint64_t>(reflection_.GetInt64(message_, &field_)))));
      default:
        return;  // the schema has no other kinds
    }
  }

  void change_list() {
    const int size = reflection_.FieldSize(message_, &field_);
    const unsigned choice = size == 0 ? 1 : random_() % 8;
    if (choice == 0) return reflection_.RemoveLast(&message_, &field_);
    if (choice == 1) return add();
    if (choice == 2 && size > 1) return reflection_.SwapElements(&message_, &field_, any_index(size), any_index(size));
    change_element(any_index(size));
  }
  void add() {
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return mutate(*reflection_.AddMessage(&message_, &field_), random_);
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection_.AddString(&message_, &field_, another(std::string()));
      case FieldDescriptor::CPPTYPE_UINT32:
        return reflection_.AddUInt32(&message_, &field_, static_cast<std::uint32_t>(another(random_() % 8)));
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection_.AddInt32(&message_, &field_, static_cast<std::int32_t>(another(random_() % 8)));
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection_.AddUInt64(&message_, &field_, another(random_() % 8));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection_.AddInt64(&message_, &field_, static_cast<std::int64_t>(another(random_() % 8)));
      default:
        return;
    }
  }
  void change_element(int index) {
    const Reflection& r = reflection_;
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return mutate(*r.MutableRepeatedMessage(&message_, &field_, index), random_);
      case FieldDescriptor::CPPTYPE_STRING:
        return r.SetRepeatedString(&message_, &field_, index, another(r.GetRepeatedString(message_, &field_, index)));
      case FieldDescriptor::CPPTYPE_UINT32:
        return r.SetRepeatedUInt32(&message_, &field_, index,
                                   static_cast<std::uint32_t>(another(r.GetRepeatedUInt32(message_, &field_, index))));
      case FieldDescriptor::CPPTYPE_INT32:
        return r.SetRepeatedInt32(&message_, &field_, index,
                                  static_cast<std::int32_t>(another(
                                      static_cast<std::uint64_t>(r.GetRepeatedInt32(message_, &field_, index)))));
      case FieldDescriptor::CPPTYPE_UINT64:
        return r.SetRepeatedUInt64(&message_, &field_, index, another(r.GetRepeatedUInt64(message_, &field_, index)));
      case FieldDescriptor::CPPTYPE_INT64:
        return r.SetRepeatedInt64(&message_, &field_, index,
                                  static_cast<std::int64_t>(another(
                                      static_cast<std::uint64_t>(r.GetRepeatedInt64(message_, &field_, index)))));
      default:
        return;
    }
  }

  Message& message_;
  const FieldDescriptor& field_;
  const Reflection& reflection_;
  std::mt19937& random_;
};

}  // namespace

void mutate(Message& message, std::mt19937& random) {
  // Mostly what is there already; now and then any field of the schema.
  std::vector<const FieldDescriptor*> present;
  message.GetReflection()->ListFields(message, &present);
  const auto& descriptor = *message.GetDescriptor();
  const bool of_schema = present.empty() || random() % 8 == 0;
  const FieldDescriptor* field =
      of_schema ? descriptor.field(static_cast<int>(random() % static_cast<unsigned>(descriptor.field_count())))
                : present[random() % present.size()];
  if (!of_schema && random() % 24 == 0) return message.GetReflection()->ClearField(&message, field);
  Mutation(message, *field, random).apply();
}

std::vector<std::uint8_t> mutated_body(const std::uint8_t* bytes, std::size_t size, std::uint32_t seed) {
  wire::Body body;
  if (!body.ParseFromArray(bytes, static_cast<int>(size))) body.Clear();
  std::mt19937 random(seed);
  for (unsigned changes = 1 + random() % 4; changes > 0; --changes) mutate(*body.mutable_events(), random);
  std::vector<std::uint8_t> out(body.ByteSizeLong());
  body.SerializeWithCachedSizesToArray(out.data());
  return out;
}

}  // namespace iotape::fuzz
