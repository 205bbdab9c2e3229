#include "format/call_formatter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <iterator>

#include "format/enum_names.h"
#include "format/quoting.h"
#include "format/symbols.h"

namespace iotape {
namespace {

auto at_end(std::string& out) { return std::back_inserter(out); }

void append_quoted(std::string& out, TextState state, const std::string& bytes) {
  if (state == TextState::kNull) return void(out += "NULL");
  if (state == TextState::kFault) return void(out += "?unreadable?");
  if (state == TextState::kHidden) return void(out += "?hidden?");
  out += '"';
  append_c_escaped(out, bytes);
  out += '"';
  if (state == TextState::kTruncated) out += "...";
}

void append_number(std::string& out, std::int64_t value, NumberStyle style) {
  if (style == NumberStyle::kHexadecimal && value != 0)
    fmt::format_to(at_end(out), "{:#x}", static_cast<std::uint64_t>(value));
  else if (style == NumberStyle::kOctal && value != 0)
    fmt::format_to(at_end(out), "0{:o}", static_cast<std::uint64_t>(value));
  else
    fmt::format_to(at_end(out), "{}", value);
}

void append_mode(std::string& out, std::int64_t mode) {
  fmt::format_to(at_end(out), "0{:02o}", static_cast<std::uint64_t>(mode));
}

// The type by name, the permissions in octal.
void append_node_mode(std::string& out, std::int64_t mode) {
  if ((mode & S_IFMT) != 0) {
    append_symbols(out, SymbolTable::node_mode, mode & S_IFMT);
    out += '|';
  }
  append_mode(out, mode & ~std::int64_t{S_IFMT});
}

void append_time(std::string& out, const TimeArgument& time) {
  if (time.nanoseconds == UTIME_NOW) return void(out += "UTIME_NOW");
  if (time.nanoseconds == UTIME_OMIT) return void(out += "UTIME_OMIT");
  fmt::format_to(at_end(out), "{{tv_sec={}, tv_nsec={}}}", time.seconds, time.nanoseconds);
}

void append_times(std::string& out, const ArgumentList& all) {
  if (all.number("now") != 0) return void(out += "NULL");
  const char* separator = "[";
  for (const std::string_view name : {"access", "modification"}) {
    out += separator;
    separator = ", ";
    const ArgumentView* argument = all.find(name);
    if (argument == nullptr) continue;
    if (const auto* time = std::get_if<const TimeArgument*>(&argument->value)) append_time(out, **time);
  }
  out += ']';
}

void append_segments(std::string& out, const SegmentLengths& segments) {
  out += '[';
  for (std::size_t i = 0; i < segments.size(); ++i)
    fmt::format_to(at_end(out), "{}{{iov_len={}}}", i == 0 ? "" : ", ", segments[i]);
  out += ']';
}

// O_TMPFILE holds O_DIRECTORY's bit.
bool creates(std::int64_t flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

// Fields a form prints besides its own.
bool covered_by_form(const LayoutPiece& piece, std::string_view field) {
  if (piece.form == ArgumentForm::kTimes) return field == "now" || field == "modification";
  if (piece.form == ArgumentForm::kOffsetPointer) {
    const std::string_view stem = piece.field.substr(0, piece.field.rfind("_position"));
    return field == std::string(stem) + "_explicit";
  }
  // The sum of the lengths is what the segments say.
  return piece.form == ArgumentForm::kSegments && field == "length";
}

bool covered(const CallLayout* layout, std::string_view field) {
  return layout != nullptr && std::any_of(layout->pieces.begin(), layout->pieces.end(), [&](const LayoutPiece& piece) {
           return piece.field == field || covered_by_form(piece, field);
         });
}

}  // namespace

// One argument by its own type, as a call without a layout shows it.
struct CallFormatter::Plain {
  std::string& out;
  const CallFormatter& formatter;
  NumberStyle style;

  void operator()(const std::int64_t* value) const { append_number(out, *value, style); }
  void operator()(const bool* value) const { out += *value ? "true" : "false"; }
  void operator()(const PathArgument* path) const { append_quoted(out, path->state, path->bytes); }
  void operator()(const Text* text) const { append_quoted(out, text->state, text->bytes); }
  void operator()(const Descriptor* descriptor) const {
    if (descriptor->number == kAtCurrentDirectory)
      out += "AT_FDCWD";
    else
      fmt::format_to(at_end(out), "{}", descriptor->number);
    formatter.append_file(out, descriptor->file);
  }
  void operator()(const FileReference* file) const {
    if (file->known())
      formatter.append_file(out, *file);
    else
      out += '?';
  }
  void operator()(const FilePosition* position) const { fmt::format_to(at_end(out), "{}", position->value); }
  void operator()(const TimeArgument* time) const { append_time(out, *time); }
  void operator()(const SegmentLengths* segments) const { append_segments(out, *segments); }
};

void CallFormatter::append_file(std::string& out, const FileReference& file) const {
  if (!file.known()) return;
  const FileIdentity& id = file.identity;
  if (file.kind == FileKind::kSocket) return void(fmt::format_to(at_end(out), "<socket:[{}]>", id.inode.value));
  if (file.kind == FileKind::kAnonymous) return void(fmt::format_to(at_end(out), "<anon_inode:[{}]>", id.inode.value));
  const std::string_view path = names_->path(file);
  if (path.empty() && file.kind == FileKind::kFifo)
    return void(fmt::format_to(at_end(out), "<pipe:[{}]>", id.inode.value));
  out += '<';
  if (path.empty())
    fmt::format_to(at_end(out), "{}:{}:{}", id.device.major_number(), id.device.minor_number(), id.inode.value);
  else
    append_c_escaped(out, path, "<>");
  out += '>';
}

const CallLayout* CallFormatter::layout_of(const Syscall& call) {
  if (call.interface != CallInterface::kSyscall || call.number >= kSyscallNumberLimit) return nullptr;
  const auto [entry, is_new] = layouts_.try_emplace(call.number * kOperationCount + call.operation.index());
  if (is_new) {
    const std::string name(syscall_description(call.number).name);
    entry->second = call_layout(name);
    // One call, several shapes: fcntl.
    if (!entry->second) entry->second = call_layout(fmt::format("{}_{}", name, operation_name(call.operation)));
  }
  return entry->second ? &*entry->second : nullptr;
}

void CallFormatter::append_name(std::string& out, const Syscall& call) const {
  if (call.interface != CallInterface::kSyscall)
    fmt::format_to(at_end(out), "{}:{}", enum_name(call.interface), operation_name(call.operation));
  else
    out += syscall_display_name(call.number);
}

void CallFormatter::append_plain(std::string& out, const ArgumentView& argument) const {
  std::visit(Plain{out, *this, argument.style}, argument.value);
}

void CallFormatter::append_with_directory(std::string& out, const ArgumentView& argument) const {
  if (const auto* path = std::get_if<const PathArgument*>(&argument.value)) {
    Plain{out, *this, argument.style}(&(*path)->directory);
    out += ", ";
  }
  append_plain(out, argument);
}

void CallFormatter::append_piece(std::string& out, const LayoutPiece& piece, const ArgumentView& argument,
                                 const ArgumentList& all) const {
  const std::int64_t value = all.number(argument.name);
  switch (piece.form) {
    case ArgumentForm::kPlain:
      return append_plain(out, argument);
    case ArgumentForm::kSymbols:
      return piece.table == SymbolTable::node_mode ? append_node_mode(out, value)
                                                   : append_symbols(out, piece.table, value);
    case ArgumentForm::kOctal:
      return append_mode(out, value);
    case ArgumentForm::kHex:
      return append_number(out, value, NumberStyle::kHexadecimal);
    case ArgumentForm::kPointerValue:
      return value == 0 ? void(out += "NULL") : append_number(out, value, NumberStyle::kHexadecimal);
    case ArgumentForm::kWithDirectory:
      return append_with_directory(out, argument);
    case ArgumentForm::kOffsetPointer: {
      const std::string stem(argument.name.substr(0, argument.name.rfind("_position")));
      if (all.number(stem + "_explicit") == 0) return void(out += "NULL");
      out += '[';
      append_plain(out, argument);
      return void(out += ']');
    }
    case ArgumentForm::kSegments: {
      append_plain(out, argument);
      const auto* segments = std::get_if<const SegmentLengths*>(&argument.value);
      return void(fmt::format_to(at_end(out), ", {}", segments == nullptr ? 0 : (*segments)->size()));
    }
    case ArgumentForm::kTimes:
      return append_times(out, all);
    case ArgumentForm::kCreationMode:
      if (!creates(all.number("flags"))) return;
      out += ", ";
      return append_mode(out, value);
    case ArgumentForm::kDevice:
      if (value == 0) return;
      return void(fmt::format_to(at_end(out), ", makedev({:#x}, {:#x})", ::major(static_cast<dev_t>(value)),
                                 ::minor(static_cast<dev_t>(value))));
  }
}

// What was stored beyond the layout. Without a layout that is every argument.
void CallFormatter::append_rest(std::string& out, const ArgumentList& all, const CallLayout* layout) const {
  bool first = true;
  for (const ArgumentView& argument : all.all()) {
    // What an open gave back is printed with its result.
    if (covered(layout, argument.name) || (layout != nullptr && (argument.is_default || argument.name == "opened")))
      continue;
    if (first && layout != nullptr) out += out.ends_with('(') ? "/* " : " /* ";
    if (!first) out += ", ";
    first = false;
    out += argument.name;
    out += '=';
    append_plain(out, argument);
  }
  if (!first && layout != nullptr) out += " */";
}

void CallFormatter::append_arguments(std::string& out, const Syscall& call) {
  const ArgumentList arguments(call.operation);
  const CallLayout* layout = layout_of(call);
  // A trace may pair a number with an operation of another call; then the layout's arguments are not there.
  if (layout != nullptr && std::any_of(layout->pieces.begin(), layout->pieces.end(), [&](const LayoutPiece& piece) {
        return !piece.field.empty() && arguments.find(piece.field) == nullptr;
      }))
    layout = nullptr;
  if (layout != nullptr)
    for (const LayoutPiece& piece : layout->pieces) {
      out += piece.literal;
      if (!piece.field.empty()) append_piece(out, piece, *arguments.find(piece.field), arguments);
    }
  append_rest(out, arguments, layout);
}

void CallFormatter::append_result(std::string& out, const Syscall& call) {
  if (call.unfinished) return void(out += '?');
  if (!call.outcome.ok()) {
    const std::int32_t error = call.outcome.error_number;
    constexpr std::int32_t kFirstInternal = 512;  // restarts, which no process ever sees
    fmt::format_to(at_end(out), "{} {} ({})", error >= kFirstInternal ? "?" : "-1", errno_name(error),
                   errno_text(error));
    return;
  }
  const CallLayout* layout = layout_of(call);
  const ResultForm form = layout == nullptr ? ResultForm::kDecimal : layout->result;
  if (form == ResultForm::kHex) return append_number(out, call.outcome.value, NumberStyle::kHexadecimal);
  if (form == ResultForm::kOctal) return append_mode(out, call.outcome.value);
  fmt::format_to(at_end(out), "{}", call.outcome.value);
  if (form != ResultForm::kDescriptor) return;
  if (const auto* open = std::get_if<Open>(&call.operation)) append_file(out, open->opened);
  if (const auto* duplicate = std::get_if<Duplicate>(&call.operation)) append_file(out, duplicate->descriptor.file);
}

}  // namespace iotape
