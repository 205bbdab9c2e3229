#include "analysis/file_names.h"

#include <fmt/format.h>

#include "format/enum_names.h"

namespace iotape {

void FileNames::put(const FileReference& file, std::string path) {
  if (!file.known() || path.empty() || path.size() > kLongestName) return;
  if (const auto known = paths_.find(file.identity); known != paths_.end()) {
    known->second = std::move(path);
  } else if (paths_.size() < kMaximumNames) {
    paths_.emplace(file.identity, std::move(path));
  }
}

std::string FileNames::join(const FileReference& directory, const std::string& path) const {
  if (path.starts_with('/') || !directory.known()) return path;
  const auto above = paths_.find(directory.identity);
  if (above == paths_.end()) return path;
  return above->second.ends_with('/') ? above->second + path : above->second + "/" + path;
}

void FileNames::learn_call(const Syscall& call) {
  if (const auto* open = std::get_if<Open>(&call.operation); open != nullptr && call.outcome.ok())
    put(open->opened, join(open->path.directory.file, open->path.bytes));
}

void FileNames::learn(const EventBody& body) {
  if (const auto* call = std::get_if<Syscall>(&body)) return learn_call(*call);
  if (const auto* state = std::get_if<FileState>(&body)) {
    if (!state->path.empty()) return put(state->file, state->path);
    if (!state->name.empty()) return put(state->file, join(state->parent, state->name));
  }
  if (const auto* inherited = std::get_if<InheritedDescriptor>(&body))
    return put(inherited->descriptor.file, inherited->path);
  if (const auto* context = std::get_if<ProcessContext>(&body)) {
    put(context->working_directory.file, context->working_directory.path);
    put(context->root.file, context->root.path);
  }
}

std::string FileNames::name_of(const FileIdentity& file) const {
  const auto known = paths_.find(file);
  if (known != paths_.end()) return known->second;
  return fmt::format("inode {} on {}", file.inode.value, device_number_text(file.device));
}

}  // namespace iotape
