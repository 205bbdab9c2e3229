#include "format/selection.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <type_traits>

#include "format/enum_names.h"
#include "format/quoting.h"

namespace iotape {
namespace {

template <typename Values, typename Value>
bool contains(const Values& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::string_view last_component(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool pattern_matches(const std::string& pattern, std::string_view path) {
  if (pattern.find('/') == std::string::npos)
    return ::fnmatch(pattern.c_str(), std::string(last_component(path)).c_str(), 0) == 0;
  const std::string whole(path);
  if (::fnmatch(pattern.c_str(), whole.c_str(), 0) == 0) return true;
  const std::string below = pattern.ends_with('/') ? pattern + "*" : pattern + "/*";
  return ::fnmatch(below.c_str(), whole.c_str(), 0) == 0;
}

// The file a successful call by path reached, where the call itself tells it.
const FileReference* reached_file(const Operation& operation) {
  const auto* open = std::get_if<Open>(&operation);
  return open == nullptr ? nullptr : &open->opened;
}

}  // namespace

bool SelectionOptions::empty() const {
  return !from && !to && devices.empty() && operations.empty() && processes.empty() && paths.empty() &&
         syscalls.empty();
}

Selector::Selector(SelectionOptions options, Nanoseconds trace_beginning)
    : options_(std::move(options)), beginning_(trace_beginning) {
  const bool of_requests = !options_.devices.empty() || !options_.operations.empty();
  const bool of_calls = !options_.syscalls.empty();
  wants_calls_ = of_calls || !of_requests;
  wants_requests_ = of_requests || !of_calls;
}

bool Selector::in_time(const EventBody& body) const {
  const Nanoseconds since = event_time(body) - beginning_;
  return (!options_.from || since >= *options_.from) && (!options_.to || since < *options_.to);
}

bool Selector::wants_device(DeviceId device) {
  const auto known = device_names_.find(device);
  const std::string name = known == device_names_.end() ? std::string() : known->second;
  const std::string number = device_number_text(device);
  return matches_any(options_.devices, [&](const std::string& wanted) {
    return wanted == number || (!name.empty() && (wanted == name || wanted == "/dev/" + name));
  });
}

bool Selector::wants_process(ProcessId process) {
  const auto command = commands_.find(process);
  return matches_any(options_.processes, [&](const std::string& wanted) {
    return wanted == std::to_string(process.value) || (command != commands_.end() && wanted == command->second);
  });
}

bool Selector::path_matches(std::string_view path) {
  return matches_any(options_.paths, [&](const std::string& pattern) { return pattern_matches(pattern, path); });
}

// Several values may agree with one event; the first is enough for the answer, but each is noted.
template <typename Matches>
bool Selector::matches_any(const std::vector<std::string>& values, Matches matches) {
  bool any = false;
  for (const std::string& value : values) {
    const bool noted = matched_.contains(value);
    if (any && noted) continue;
    if (!matches(value)) continue;
    any = true;
    if (!noted) matched_.insert(value);
  }
  return any;
}

std::vector<std::string> Selector::unmatched() const {
  std::vector<std::string> all;
  const auto look = [&](std::string_view option, const std::vector<std::string>& values) {
    for (const std::string& value : values)
      if (!matched_.contains(value)) all.push_back(std::string(option) + " " + shell_word(value));
  };
  look("--device", options_.devices);
  look("--process", options_.processes);
  look("--path", options_.paths);
  return all;
}

// An empty path means its directory descriptor: utimensat(fd, NULL), fstatat(fd, "").
bool Selector::argument_matches(const PathArgument& path) {
  if (path.bytes.empty()) return path.directory.file.known() && files_.contains(path.directory.file.identity);
  if (path_matches(path.bytes)) return true;
  const std::string resolved = names_.absolute(path);
  return path_matches(std::filesystem::path(resolved).lexically_normal().string());
}

void Selector::learn_file(const FileReference& file) {
  if (file.known() && files_.size() < kMaximumFiles) files_.insert(file.identity);
}

bool Selector::call_touches_path(const Syscall& call) {
  bool matches = false;
  const auto look = [&](const auto&, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, PathArgument>) matches = matches || argument_matches(member);
    if constexpr (std::is_same_v<Member, Descriptor>)
      matches = matches || (member.file.known() && files_.contains(member.file.identity));
    if constexpr (std::is_same_v<Member, FileReference>)
      matches = matches || (member.known() && files_.contains(member.identity));
  };
  std::visit([&](const auto& operation) { for_each_field(operation, look); }, call.operation);
  if (const FileReference* file = reached_file(call.operation); matches && file != nullptr) learn_file(*file);
  return matches;
}

bool Selector::wants_call(const Syscall& call) {
  const bool by_path = options_.paths.empty() || call_touches_path(call);
  const bool by_process = options_.processes.empty() || wants_process(call.thread.process);
  return wants_calls_ && by_path && by_process &&
         (options_.syscalls.empty() || contains(options_.syscalls, call.number));
}

bool Selector::wants_request(const BlockRequest& request) {
  if (!wants_requests_) return false;
  if (!options_.operations.empty() && !contains(options_.operations, request.operation)) return false;
  const bool of_device = options_.devices.empty() || wants_device(request.device) || wants_device(request.partition);
  if (!of_device) return false;
  const auto any_part = [&](auto&& wanted) { return std::any_of(request.parts.begin(), request.parts.end(), wanted); };
  if (!options_.processes.empty() && !any_part([&](const RequestPart& part) {
        return wants_process(part.submitter.process) || wants_process(part.dirtier.process);
      }))
    return false;
  return options_.paths.empty() ||
         any_part([&](const RequestPart& part) { return part.file.known() && files_.contains(part.file.identity); });
}

struct Selector::Judge {
  Selector& selector;
  const EventBody& body;

  Selected operator()(const Syscall& call) { return answer(selector.wants_call(call)); }
  Selected operator()(const BlockRequest& request) { return answer(selector.wants_request(request)); }
  Selected operator()(const ProcessStart& start) { return name_process(start.thread, start.command); }
  Selected operator()(const ProcessExec& exec) { return name_process(exec.thread, exec.command); }
  Selected operator()(const ProcessExit&) { return Selected::kContext; }
  Selected operator()(const ProcessContext&) { return Selected::kContext; }
  Selected operator()(const InheritedDescriptor& inherited) {
    return file_at(inherited.path, inherited.descriptor.file);
  }
  Selected operator()(const FileState& state) {
    return file_at(state.path.empty() ? state.name : state.path, state.file);
  }
  Selected operator()(const DeviceInfo& info) {
    selector.device_names_[info.device] = info.name;
    return Selected::kContext;
  }
  Selected operator()(const MountInfo&) { return Selected::kContext; }
  Selected operator()(const Marker&) { return answer(true); }
  Selected operator()(const Loss&) { return answer(true); }
  Selected operator()(const Stack&) { return Selected::kContext; }

 private:
  [[nodiscard]] Selected answer(bool wanted) const {
    return wanted && selector.in_time(body) ? Selected::kYes : Selected::kNo;
  }
  Selected name_process(const ThreadKey& thread, const std::string& command) {
    // A thread may carry a name of its own; the process is known by its leader's.
    if (thread.thread.value == thread.process.value || !selector.commands_.contains(thread.process))
      selector.commands_[thread.process] = command;
    return Selected::kContext;
  }
  Selected file_at(const std::string& path, const FileReference& file) {
    if (!selector.options_.paths.empty() && !path.empty() && selector.path_matches(path)) selector.learn_file(file);
    return Selected::kContext;
  }
};

Selected Selector::judge(const EventBody& body) {
  const Selected selected = std::visit(Judge{*this, body}, body);
  if (!options_.paths.empty()) names_.observe(body);
  return selected;
}

}  // namespace iotape
