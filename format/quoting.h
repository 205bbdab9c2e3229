// Bytes written so that they can be read back: the three spellings of the printers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace iotape {

// strace's spelling, without the quotes: \n \t \v \f \r \" \\ by name, other bytes outside printable ASCII in octal
// with as many digits as needed (three when a digit follows). also_octal lists further characters to write in octal.
void append_c_escaped(std::string& out, std::string_view bytes, std::string_view also_octal = {});

// A JSON string, quotes included, when bytes are UTF-8; otherwise the object {"hex":"..."} with two digits per byte.
void append_json_bytes(std::string& out, std::string_view bytes);

// One CSV field as RFC 4180 has it: quoted when it holds a comma, a quote or a line break.
void append_csv_field(std::string& out, std::string_view field);

// A word as a POSIX shell (for names with control bytes: bash or zsh) takes it back: as it is when nothing in it is
// special, else in quotes. What is shown is printable whatever the bytes.
[[nodiscard]] std::string shell_word(std::string_view bytes);

// Strict: no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view bytes);

[[nodiscard]] std::string to_hex(std::string_view bytes);
// nullopt unless an even number of hexadecimal digits.
[[nodiscard]] std::optional<std::string> from_hex(std::string_view digits);

}  // namespace iotape
