#include "recorder/changing_watch.h"

#include <fcntl.h>

#include <filesystem>
#include <utility>

namespace iotape {
namespace {

constexpr std::uint16_t kRmdir = 84;
constexpr std::size_t kMaximumDirectories = 200'000;

std::string parent_of(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

}  // namespace

// The absolute path as far as the directories met so far tell; empty when they do not. ".." is resolved by name, which
// a symbolic link can belie: good enough for a hint.
std::string ChangingWatch::place_of(const PathArgument& path) const {
  return path.state == TextState::kPresent ? place_below(path.directory.file, path.bytes) : std::string{};
}

std::string ChangingWatch::place_below(const FileReference& directory, const std::string& path) const {
  if (path.starts_with('/')) return std::filesystem::path(path).lexically_normal().string();
  const auto from = directories_.find(directory.identity);
  if (from == directories_.end() || !directory.known()) return {};
  return (std::filesystem::path(from->second) / path).lexically_normal().string();
}

void ChangingWatch::learn(const FileReference& file, const PathArgument& path) {
  if (file.kind != FileKind::kDirectory || directories_.size() >= kMaximumDirectories) return;
  if (std::string place = place_of(path); !place.empty()) {
    if (place.size() > 1 && place.back() == '/') place.pop_back();
    directories_.try_emplace(file.identity, std::move(place));
  }
}

// What lies in /proc and /sys is no file of a disk, or the name of one that is called otherwise: tar sets the modes of
// directories through /proc/self/fd.
void ChangingWatch::changed(DeviceId device, std::string_view directory) {
  for (const std::string_view kernels : {"/proc", "/sys"})
    if (directory.starts_with(kernels) && (directory.size() == kernels.size() || directory[kernels.size()] == '/'))
      return;
  roots_.add(device, directory);
}

void ChangingWatch::changed(const PathArgument& path) {
  const DeviceId device = path.directory.file.identity.device;
  if (const std::string place = place_of(path); !place.empty()) changed(device, parent_of(place));
}

void ChangingWatch::watch_state(const FileState& state) {
  if (!state.size || state.file.kind == FileKind::kDirectory) return;
  if (!state.path.empty()) return removals_.known(state.path);
  if (!state.name.empty()) removals_.known(place_below(state.parent, state.name));
}

void ChangingWatch::watch_open(const Open& open) {
  learn(open.opened, open.path);
  if (open.opened.kind != FileKind::kRegular) return;
  const std::string place = place_of(open.path);
  if (place.empty()) return;
  // The file's own device: the path may lead through a mount point.
  for_each_changed_path(open, [&](const PathArgument&) { changed(open.opened.identity.device, parent_of(place)); });
  if ((open.flags & (O_CREAT | O_TRUNC)) == 0) return;
  removals_.known(place);  // made, or emptied: its size from before is no longer what a removal takes away
}

void ChangingWatch::watch(const Syscall& call) {
  if (!call.outcome.ok()) return;
  if (const auto* open = std::get_if<Open>(&call.operation)) return watch_open(*open);
  for_each_changed_path(call.operation, [this](const PathArgument& path) { changed(path); });
  watch_names(call);
}

void ChangingWatch::watch_names(const Syscall& call) {
  if (const auto* remove = std::get_if<Unlink>(&call.operation)) {
    const bool directory = call.number == kRmdir || (remove->flags & AT_REMOVEDIR) != 0;
    if (!directory) removals_.removed(place_of(remove->path));
  } else if (const auto* move = std::get_if<Rename>(&call.operation)) {
    removals_.moved(place_of(move->from), place_of(move->to));
  } else if (const auto* link = std::get_if<HardLink>(&call.operation)) {
    removals_.known(place_of(link->created));  // the file itself stays under its other name
  } else if (const auto* symlink = std::get_if<SymbolicLink>(&call.operation)) {
    removals_.known(place_of(symlink->created));
  } else if (const auto* node = std::get_if<MakeNode>(&call.operation)) {
    removals_.known(place_of(node->path));
  }
}

Result<void> ChangingWatch::append(EventBody body) {
  if (const auto* call = std::get_if<Syscall>(&body)) watch(*call);
  if (const auto* state = std::get_if<FileState>(&body)) watch_state(*state);
  if (const auto* mount = std::get_if<MountInfo>(&body)) removals_.mounted(*mount);
  if (const auto* context = std::get_if<ProcessContext>(&body)) {
    const Location& where = context->working_directory;
    if (where.file.known() && !where.path.empty()) directories_.insert_or_assign(where.file.identity, where.path);
  }
  return next_.append(std::move(body));
}

}  // namespace iotape
