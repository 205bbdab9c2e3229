#include "recorder/changing_watch.h"

#include <fcntl.h>

#include <filesystem>
#include <utility>

namespace iotape {
namespace {

constexpr std::size_t kMaximumDirectories = 200'000;

std::string parent_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

}  // namespace

// The absolute path as far as the directories met so far tell; empty when they do not. ".." is resolved by name, which
// a symbolic link can belie: good enough for a hint.
std::string ChangingWatch::place_of(const PathArgument& path) const {
  if (path.state != TextState::kPresent) return {};
  if (path.absolute()) return std::filesystem::path(path.bytes).lexically_normal().string();
  const auto from = directories_.find(path.directory.file.identity);
  if (from == directories_.end() || !path.directory.file.known()) return {};
  return (std::filesystem::path(from->second) / path.bytes).lexically_normal().string();
}

void ChangingWatch::learn(const FileReference& file, const PathArgument& path) {
  if (file.kind != FileKind::kDirectory || directories_.size() >= kMaximumDirectories) return;
  if (std::string place = place_of(path); !place.empty()) {
    if (place.size() > 1 && place.back() == '/') place.pop_back();
    directories_.try_emplace(file.identity, std::move(place));
  }
}

void ChangingWatch::changed(const PathArgument& path) {
  const DeviceId device = path.directory.file.identity.device;
  if (const std::string place = place_of(path); !place.empty()) roots_.add(device, parent_of(place));
}

void ChangingWatch::watch(const Syscall& call) {
  if (!call.outcome.ok()) return;
  if (const auto* open = std::get_if<Open>(&call.operation)) {
    learn(open->opened, open->path);
    if ((open->flags & (O_CREAT | O_TRUNC)) == 0 || open->opened.kind != FileKind::kRegular) return;
    if (const std::string place = place_of(open->path); !place.empty())
      roots_.add(open->opened.identity.device, parent_of(place));
  } else if (const auto* remove = std::get_if<Unlink>(&call.operation)) {
    changed(remove->path);
  } else if (const auto* make = std::get_if<MakeDirectory>(&call.operation)) {
    changed(make->path);
  } else if (const auto* move = std::get_if<Rename>(&call.operation)) {
    changed(move->from);
    changed(move->to);
  } else if (const auto* link = std::get_if<HardLink>(&call.operation)) {
    changed(link->created);
  } else if (const auto* symlink = std::get_if<SymbolicLink>(&call.operation)) {
    changed(symlink->created);
  } else if (const auto* node = std::get_if<MakeNode>(&call.operation)) {
    changed(node->path);
  }
}

Result<void> ChangingWatch::append(EventBody body) {
  if (const auto* call = std::get_if<Syscall>(&body)) watch(*call);
  if (const auto* context = std::get_if<ProcessContext>(&body)) {
    const Location& where = context->working_directory;
    if (where.file.known() && !where.path.empty()) directories_.insert_or_assign(where.file.identity, where.path);
  }
  return next_.append(std::move(body));
}

}  // namespace iotape
