#include "format/quoting.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace iotape {
namespace {

constexpr unsigned char kFirstPrintable = 0x20;
constexpr unsigned char kDelete = 0x7f;

char named_escape(unsigned char c) {
  switch (c) {
    case '\n':
      return 'n';
    case '\t':
      return 't';
    case '\v':
      return 'v';
    case '\f':
      return 'f';
    case '\r':
      return 'r';
    case '"':
    case '\\':
      return static_cast<char>(c);
    default:
      return 0;
  }
}

bool octal_digit_at(std::string_view bytes, std::size_t i) {
  return i < bytes.size() && bytes[i] >= '0' && bytes[i] <= '7';
}

// Length of the UTF-8 sequence at the start of bytes, 0 when there is none.
std::size_t utf8_length(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((at(i) & 0xC0U) != 0x80) return 0;
  const bool overlong = (lead == 0xE0 && at(1) < 0xA0) || (lead == 0xF0 && at(1) < 0x90);
  const bool surrogate = lead == 0xED && at(1) >= 0xA0;
  const bool too_large = lead == 0xF4 && at(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

bool plain_in_a_shell(char c) {
  constexpr std::string_view kPlain = "_-./+,:@=";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kPlain.find(c) != std::string_view::npos;
}

// UTF-8 without control characters: those of C0, DEL, and of C1 (U+0080 to U+009F).
bool shows_as_it_is(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (byte < kFirstPrintable || byte == kDelete) return false;
    if (byte == 0xC2 && i + 1 < bytes.size() && static_cast<unsigned char>(bytes[i + 1]) < 0xA0) return false;
  }
  return is_utf8(bytes);
}

}  // namespace

std::string shell_word(std::string_view bytes) {
  if (!bytes.empty() && std::all_of(bytes.begin(), bytes.end(), plain_in_a_shell)) return std::string(bytes);
  std::string word;
  if (!shows_as_it_is(bytes)) {
    append_c_escaped(word, bytes, "'");
    return "$'" + word + "'";
  }
  for (const char c : bytes) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + word + "'";
}

void append_c_escaped(std::string& out, std::string_view bytes, std::string_view also_octal) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    if (const char name = named_escape(c)) {
      out += '\\';
      out += name;
    } else if (c >= kFirstPrintable && c < kDelete && also_octal.find(bytes[i]) == std::string_view::npos) {
      out += bytes[i];
    } else {
      const int digits = octal_digit_at(bytes, i + 1) ? 3 : 1;
      fmt::format_to(std::back_inserter(out), "\\{:0{}o}", c, digits);
    }
  }
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string to_hex(std::string_view bytes) {
  std::string digits;
  digits.reserve(bytes.size() * 2);
  for (const char c : bytes) fmt::format_to(std::back_inserter(digits), "{:02x}", static_cast<unsigned char>(c));
  return digits;
}

std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = hex_value(digits[i]);
    const int low = hex_value(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

void append_json_bytes(std::string& out, std::string_view bytes) {
  if (!is_utf8(bytes)) {
    out += "{\"hex\":\"" + to_hex(bytes) + "\"}";
    return;
  }
  out += '"';
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (byte < kFirstPrintable || byte == kDelete)
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    else
      out += c;
  }
  out += '"';
}

void append_csv_field(std::string& out, std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += field;
    return;
  }
  out += '"';
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace iotape
