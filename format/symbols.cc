#include "format/symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

namespace iotape {
namespace {

struct Symbol {
  SymbolTable table;
  std::uint64_t mask;
  std::uint64_t value;
  std::string_view name;
};

constexpr Symbol kSymbols[] = {
#define SYMBOL(table, mask, value, name) \
  {SymbolTable::table, static_cast<std::uint64_t>(mask), static_cast<std::uint64_t>(value), #name},
#include "format/call_syntax.def"
};

constexpr std::string_view kTableNames[] = {
#define TABLE(name) #name,
#include "format/call_syntax.def"
};

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The symbols of a table stand together in the file, so a table is a range.
constexpr auto table_ranges() {
  std::array<Range, static_cast<std::size_t>(SymbolTable::kCount)> ranges{};
  for (std::size_t i = 0; i < std::size(kSymbols); ++i) {
    Range& range = ranges[static_cast<std::size_t>(kSymbols[i].table)];
    if (range.end == 0) range.begin = i;
    range.end = i + 1;
  }
  return ranges;
}
constexpr auto kRanges = table_ranges();

// Numbers the kernel uses inside and a tracer can see; libc does not know them.
struct InternalErrno {
  std::int32_t number;
  std::string_view name;
  std::string_view text;
};
constexpr InternalErrno kInternalErrnos[] = {
    {512, "ERESTARTSYS", "To be restarted if SA_RESTART is set"},
    {513, "ERESTARTNOINTR", "To be restarted"},
    {514, "ERESTARTNOHAND", "To be restarted if no handler"},
    {515, "ENOIOCTLCMD", "No ioctl command"},
    {516, "ERESTART_RESTARTBLOCK", "Interrupted by signal"},
    {517, "EPROBE_DEFER", "Driver requests probe retry"},
    {524, "ENOTSUPP", "Operation is not supported"},
    {529, "EIOCBQUEUED", "Queued, completion will follow"},
};

const InternalErrno* internal_errno(std::int32_t number) {
  const auto* found = std::find_if(std::begin(kInternalErrnos), std::end(kInternalErrnos),
                                   [&](const InternalErrno& entry) { return entry.number == number; });
  return found == std::end(kInternalErrnos) ? nullptr : found;
}

}  // namespace

std::optional<SymbolTable> symbol_table(std::string_view name) {
  const auto* found = std::find(std::begin(kTableNames), std::end(kTableNames), name);
  if (found == std::end(kTableNames)) return std::nullopt;
  return static_cast<SymbolTable>(found - std::begin(kTableNames));
}

void append_symbols(std::string& out, SymbolTable table, std::int64_t signed_value) {
  const auto value = static_cast<std::uint64_t>(signed_value);
  std::uint64_t named = 0;
  bool any = false;
  const Range range = kRanges[static_cast<std::size_t>(table)];
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const Symbol& symbol = kSymbols[i];
    if ((symbol.mask & named) != 0 || (value & symbol.mask) != symbol.value) continue;
    if (any) out += '|';
    out += symbol.name;
    named |= symbol.mask;
    any = true;
  }
  const std::uint64_t rest = value & ~named;
  if (rest != 0) fmt::format_to(std::back_inserter(out), "{}{:#x}", any ? "|" : "", rest);
  if (rest == 0 && !any) out += '0';
}

std::string errno_name(std::int32_t number) {
  if (const InternalErrno* internal = internal_errno(number)) return std::string(internal->name);
  const char* name = ::strerrorname_np(number);
  return name == nullptr ? fmt::format("E{}", number) : name;
}

std::string errno_text(std::int32_t number) {
  if (const InternalErrno* internal = internal_errno(number)) return std::string(internal->text);
  const char* text = ::strerrordesc_np(number);
  return text == nullptr ? "Unknown error" : text;
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? fmt::format("SIG{}", number) : fmt::format("SIG{}", name);
}

}  // namespace iotape
