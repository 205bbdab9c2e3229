#include "format/name_tracker.h"

#include <algorithm>
#include <utility>

namespace iotape {
namespace {

// Names kept at once. A trace may name ten million files; forgetting all of them costs a printed name, not memory.
constexpr std::size_t kMaximumPaths = 1U << 18U;
constexpr std::size_t kMaximumPathBytes = 64U << 20U;
constexpr std::size_t kMaximumCommands = 1U << 18U;
// A name is made of its directory's and its own: one that leads to itself would grow with every event.
constexpr std::size_t kLongestPath = 64U << 10U;

// Without the components that say nothing: "/srv/./a//b/." is "/srv/a/b". ".." is kept: what it means a link decides.
std::string without_dots(std::string path) {
  const bool tidy =
      path.find("/./") == std::string::npos && path.find("//") == std::string::npos && !path.ends_with("/.");
  if (tidy) return path;
  std::string kept;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = std::string_view(path).substr(at, end - at);
    if (!part.empty() && part != ".") kept.append("/").append(part);
    at = end + 1;
  }
  return kept.empty() ? "/" : kept;
}

}  // namespace

struct NameTracker::Observer {
  NameTracker& names;

  void operator()(const Syscall& call) const {
    const auto* open = std::get_if<Open>(&call.operation);
    if (open == nullptr || !call.outcome.ok() || open->path.state != TextState::kPresent) return;
    names.name_file(open->opened, names.absolute(open->path));
  }
  void operator()(const ProcessStart& start) const {
    std::string command = start.command;
    if (command.empty()) command = names.command(start.parent);
    if (!command.empty()) names.name_thread(start.thread.thread.value, std::move(command));
  }
  void operator()(const ProcessExec& exec) const {
    names.name_thread(exec.thread.thread.value, exec.command);
    names.name_thread(exec.thread.process.value, exec.command);
  }
  void operator()(const ProcessContext& context) const {
    names.name_file(context.working_directory.file, context.working_directory.path);
    names.name_file(context.root.file, context.root.path);
  }
  void operator()(const InheritedDescriptor& inherited) const {
    names.name_file(inherited.descriptor.file, inherited.path);
  }
  void operator()(const FileState& state) const {
    if (!state.path.empty()) return names.name_file(state.file, state.path);
    const std::string_view parent = names.path(state.parent);
    if (parent.empty() || state.name.empty()) return;
    names.name_file(state.file, std::string(parent) + (parent.back() == '/' ? "" : "/") + state.name);
  }
  void operator()(const BlockRequest&) const {}
  void operator()(const ProcessExit&) const {}
  void operator()(const DeviceInfo&) const {}
  void operator()(const MountInfo&) const {}
  void operator()(const Marker&) const {}
  void operator()(const Loss&) const {}
  void operator()(const Stack&) const {}
};

void NameTracker::observe(const EventBody& body) { std::visit(Observer{*this}, body); }

void NameTracker::name_file(const FileReference& file, std::string path) {
  if (!file.known() || path.empty() || path.size() > kLongestPath) return;
  path_bytes_ += path.size();
  if (paths_.size() >= kMaximumPaths || path_bytes_ > kMaximumPathBytes) {
    paths_.clear();
    path_bytes_ = path.size();
  }
  paths_.insert_or_assign(file.identity, std::move(path));
}

void NameTracker::name_thread(std::int32_t thread, std::string command) {
  if (command.size() > kLongestPath) return;
  if (commands_.size() >= kMaximumCommands) commands_.clear();
  commands_.insert_or_assign(thread, std::move(command));
}

std::string_view NameTracker::command(ThreadKey thread) const {
  for (const std::int32_t id : {thread.thread.value, thread.process.value})
    if (const auto found = commands_.find(id); found != commands_.end()) return found->second;
  return {};
}

std::string_view NameTracker::path(const FileReference& file) const {
  if (!file.known()) return {};
  const auto found = paths_.find(file.identity);
  return found == paths_.end() ? std::string_view{} : std::string_view(found->second);
}

std::string NameTracker::absolute(const PathArgument& path) const {
  if (path.absolute()) return without_dots(path.bytes);
  const std::string_view directory = this->path(path.directory.file);
  if (directory.empty() || path.bytes.empty()) return std::string(directory);
  return without_dots(std::string(directory) + (directory.back() == '/' ? "" : "/") + path.bytes);
}

}  // namespace iotape
