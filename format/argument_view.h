// The stored arguments of any operation as a flat list, whatever the operation: what printers work on, so that an added
// operation prints without further code. A member type that is not listed here fails to compile.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "format/operations.h"

namespace iotape {

using ArgumentPointer =
    std::variant<const std::int64_t*, const bool*, const PathArgument*, const Text*, const Descriptor*,
                 const FileReference*, const FilePosition*, const TimeArgument*, const SegmentLengths*>;

struct ArgumentView {
  std::string_view name;
  NumberStyle style = NumberStyle::kDecimal;
  ArgumentPointer value;  // into the operation
  bool is_default = false;
};

class ArgumentList {
 public:
  // Views into operation, which must outlive them.
  explicit ArgumentList(const Operation& operation) {
    std::visit(
        [&](const auto& op) {
          const std::remove_cvref_t<decltype(op)> untouched;
          for_each_field(op, [&](const auto& description, const auto& member) {
            arguments_.push_back(
                {description.name, description.style, &member, member == untouched.*(description.member)});
          });
        },
        operation);
  }

  [[nodiscard]] const std::vector<ArgumentView>& all() const { return arguments_; }
  [[nodiscard]] const ArgumentView* find(std::string_view name) const {
    for (const ArgumentView& argument : arguments_)
      if (argument.name == name) return &argument;
    return nullptr;
  }
  // The integer of that name, or fallback.
  [[nodiscard]] std::int64_t number(std::string_view name, std::int64_t fallback = 0) const {
    const ArgumentView* argument = find(name);
    if (argument == nullptr) return fallback;
    if (const auto* value = std::get_if<const std::int64_t*>(&argument->value)) return **value;
    if (const auto* value = std::get_if<const bool*>(&argument->value)) return **value ? 1 : 0;
    return fallback;
  }

 private:
  std::vector<ArgumentView> arguments_;
};

}  // namespace iotape
