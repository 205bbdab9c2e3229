// System calls as strace -f -y writes them: name(arguments) = result ERRNO (text).
//
// Differences, because a trace keeps no buffers and no pointers: "..." stands where strace shows a buffer or a struct
// the call filled in; stored arguments that strace does not print follow in a comment before the closing parenthesis.
// A file is shown as <path> when an earlier event named it, else as <major:minor:inode>.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "format/argument_view.h"
#include "format/call_layout.h"
#include "format/event.h"
#include "format/name_tracker.h"
#include "format/syscall_table.h"

namespace iotape {

class CallFormatter {
 public:
  // names must outlive the formatter.
  explicit CallFormatter(const NameTracker& names) : names_(&names) {}

  void append_name(std::string& out, const Syscall& call) const;
  void append_arguments(std::string& out, const Syscall& call);
  // "3</tmp/x>", "-1 ENOENT (No such file or directory)", "?".
  void append_result(std::string& out, const Syscall& call);
  void append_file(std::string& out, const FileReference& file) const;  // "</tmp/x>", or nothing when not known

 private:
  struct Plain;
  const CallLayout* layout_of(const Syscall& call);
  void append_piece(std::string& out, const LayoutPiece& piece, const ArgumentView& argument,
                    const ArgumentList& all) const;
  void append_with_directory(std::string& out, const ArgumentView& argument) const;
  void append_plain(std::string& out, const ArgumentView& argument) const;
  void append_rest(std::string& out, const ArgumentList& all, const CallLayout* layout) const;

  const NameTracker* names_;
  std::unordered_map<std::size_t, std::optional<CallLayout>> layouts_;  // by number and operation; bounded by both
};

}  // namespace iotape
