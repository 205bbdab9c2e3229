#include "replayer/engine/trace_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace iotape {
namespace {

constexpr std::size_t kListedTimes = 10;
constexpr std::uint64_t kOutsideLimit = 100;  // one in this many changing calls may fall outside the roots

bool holds_files(FileKind kind) { return kind == FileKind::kRegular || kind == FileKind::kDirectory; }

class Surveyor {
 public:
  Surveyor(const TraceHeader& header, std::optional<Nanoseconds> longest_gap) : shortened_(longest_gap) {
    result_.header = header;
    result_.model = std::make_unique<TraceModel>(header);
  }

  void leave_out() { ++result_.unselected; }
  void take(const Event& event) {
    if (const auto* call = std::get_if<Syscall>(&event.body)) return take_call(event.id, *call);
    result_.model->observe(event.body);
    if (const auto* mount = std::get_if<MountInfo>(&event.body); mount && mount->mount_point.starts_with('/'))
      result_.mounts[names().place(mount->mount_point, FileKind::kDirectory)] = mount->device;
    if (const auto* start = std::get_if<ProcessStart>(&event.body)) note_thread(start->thread);
    if (const auto* exit = std::get_if<ProcessExit>(&event.body)) note_exit(*exit);
    if (const auto* inherited = std::get_if<InheritedDescriptor>(&event.body)) note_output(*inherited);
    if (const auto* loss = std::get_if<Loss>(&event.body))
      result_.losses[static_cast<std::size_t>(loss->cause)] += loss->count;
  }

  SurveyResult finish(ReadReport report) {
    result_.model->settle();
    result_.span = full_.furthest();
    result_.shortened_span = shortened_.furthest();
    result_.implausible_count = full_.implausible();
    result_.threads = threads_.size();
    result_.processes = processes_.size();
    result_.threads_with_calls = callers_.size();
    result_.read_report = std::move(report);
    return std::move(result_);
  }

 private:
  NameSpace& names() { return result_.model->names(); }

  void note_thread(ThreadKey thread) {
    threads_.insert(thread);
    processes_.insert(thread.process);
    if (living_[thread.process].insert(thread.thread).second) ++alive_;
    result_.most_threads = std::max(result_.most_threads, alive_);
  }

  void note_exit(const ProcessExit& exit) {
    const auto process = living_.find(exit.thread.process);
    if (process == living_.end()) return;
    alive_ -= exit.whole_process ? process->second.size() : process->second.erase(exit.thread.thread);
    if (exit.whole_process || process->second.empty()) living_.erase(process);
  }

  // Where a shell sent the command's output is not what the command worked on.
  void note_output(const InheritedDescriptor& inherited) {
    constexpr std::int32_t kLastStandard = 2;
    if (inherited.descriptor.number > kLastStandard) return;
    if (const FileIndex file = names().find(inherited.descriptor.file); file != kNoFile) outputs_.insert(file.value);
  }

  void take_call(EventId id, const Syscall& call) {
    note_thread(call.thread);
    callers_.insert(call.thread);
    ++result_.calls;
    ++result_.calls_by_number[call.number];
    note_time(id, call.start);
    note_bytes(call);
    const CallTargets targets = result_.model->resolve(call);
    const bool counts = call.outcome.ok() && !call.unfinished;
    if (counts && is_changing(call)) note_change(call, targets);
    result_.model->apply(call, targets);
    if (counts) note_reading(call, targets);
  }

  void note_time(EventId id, Nanoseconds start) {
    const std::uint64_t before = full_.implausible();
    full_.offset(start);
    shortened_.offset(start);
    if (full_.implausible() != before && result_.implausible_times.size() < kListedTimes)
      result_.implausible_times.push_back(id);
  }

  void note_bytes(const Syscall& call) {
    if (!call.outcome.ok() || call.outcome.value < 0 || call.unfinished) return;
    const auto bytes = static_cast<std::uint64_t>(call.outcome.value);
    const CallDescriptors on = call_descriptors(call.operation);
    const bool regular = on.count > 0 && on.descriptor[0]->file.kind == FileKind::kRegular;
    if (regular && std::holds_alternative<Write>(call.operation)) result_.bytes_written += bytes;
    if (regular && std::holds_alternative<Read>(call.operation)) result_.bytes_read += bytes;
  }

  void add_use(DirectoryUses& uses, FileIndex directory) {
    DirectoryUse& use = uses[directory.value];
    if (++use.calls == 1) use.path = names().path(directory);
  }

  // The directory whose contents or attributes a call changes.
  void note_change(const Syscall& call, const CallTargets& targets) {
    if (const auto* open = std::get_if<Open>(&call.operation); open && !holds_files(open->opened.kind)) return;
    bool counted = false;
    for (std::size_t i = 0; i < targets.paths.count; ++i) {
      const Resolution& place = targets.resolved[i];
      const bool link_source = std::holds_alternative<HardLink>(call.operation) && i == 0;
      if (place.directory == kNoFile || link_source) continue;
      const bool directory_itself =
          place.file != kNoFile && names().record(place.file).directory() && !changes_names(call);
      FileIndex holder = directory_itself ? place.file : place.directory;
      const bool bare = place.name.empty() && !directory_itself;  // utimensat(fd, NULL) names the file itself
      if (bare && place.file != kNoFile) holder = names().record(place.file).parent;
      if (holder == kNoFile) continue;
      add_use(result_.changes, holder);
      counted = true;
    }
    for (std::size_t i = 0; i < targets.descriptors.count && targets.paths.count == 0; ++i) {
      const bool transfer_source = std::holds_alternative<Transfer>(call.operation) && i == 0;
      const FileIndex file = targets.file[i];
      if (file == kNoFile || transfer_source || !holds_files(names().record(file).reference.kind)) continue;
      if (outputs_.contains(file.value)) continue;
      const FileIndex parent = names().record(file).parent;
      const FileIndex holder = names().record(file).directory() ? file : parent;
      if (holder == kNoFile) continue;
      add_use(result_.changes, holder);
      counted = true;
    }
    if (counted) ++result_.changing_calls;
  }

  // For traces that change nothing: directories listed, and those that relative paths lie in (absolute ones are mostly
  // the loader's).
  void note_reading(const Syscall& call, const CallTargets& targets) {
    if (std::holds_alternative<ReadDirectory>(call.operation) && targets.file[0] != kNoFile)
      add_use(result_.readings, targets.file[0]);
    for (std::size_t i = 0; i < targets.paths.count; ++i)
      if (!targets.paths.path[i]->absolute() && targets.resolved[i].directory != kNoFile)
        add_use(result_.readings, targets.resolved[i].directory);
  }

  SurveyResult result_;
  Timeline full_;
  Timeline shortened_;
  std::set<ThreadKey> threads_;
  std::set<ThreadKey> callers_;
  std::set<ProcessId> processes_;
  std::map<ProcessId, std::set<ThreadId>> living_;
  std::uint64_t alive_ = 0;
  std::set<std::uint32_t> outputs_;  // files that were standard descriptors from the beginning
};

// Sums uses by mount; the paths are as they were at the time of the call.
std::vector<ChangingRoots::Root> roots_of(const SurveyResult& survey, const DirectoryUses& uses) {
  const NameSpace& names = survey.model->names();
  ChangingRoots roots;
  for (const auto& [index, use] : uses) {
    const FileIndex mount = names.mount_of(FileIndex(index));
    if (mount == kNoFile || names.record(mount).pseudo) continue;
    const auto device = survey.mounts.find(mount);
    roots.add(device == survey.mounts.end() ? DeviceId{} : device->second, use.path, use.calls);
  }
  return roots.roots();
}

// The deepest directory at or above the path that was there before the first call.
FileIndex root_directory(NameSpace& names, std::string_view path) {
  Resolution found = names.resolve({.bytes = path});
  FileIndex directory = found.file != kNoFile ? found.file : found.directory;
  while (directory != kNoFile && names.record(directory).origin != Origin::kExisted)
    directory = names.record(directory).parent;
  return directory;
}

std::string last_component(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.empty() ? "top" : std::string(name);
}

void add_defaults(SurveyResult& survey, ReplayRoots& roots) {
  NameSpace& names = survey.model->names();
  const auto found = survey.default_roots();
  std::set<std::string> taken;
  for (const ChangingRoots::Root& root : found) {
    const FileIndex directory = root_directory(names, root.path);
    if (directory == kNoFile) continue;
    std::string to;
    if (found.size() > 1) {
      const std::string name = "/" + last_component(root.path);
      to = name;
      for (int copy = 2; !taken.insert(to).second; ++copy) to = fmt::format("{}-{}", name, copy);
    }
    roots.add(names, {directory, names.path(directory), to, false});
  }
}

Result<void> add_mappings(SurveyResult& survey, const std::vector<PathMapping>& mappings, ReplayRoots& roots) {
  NameSpace& names = survey.model->names();
  for (const PathMapping& mapping : mappings) {
    const Resolution found = names.resolve({.bytes = mapping.from});
    if (found.file == kNoFile || names.record(found.file).origin != Origin::kExisted)
      return failure(ErrorCode::kUsage,
                     fmt::format("--map {}={}: the trace knows no directory {} that was there before its first call",
                                 mapping.from, mapping.to, mapping.from));
    roots.add(names, {found.file, mapping.from, mapping.to, true});
  }
  return {};
}

}  // namespace

std::vector<ChangingRoots::Root> SurveyResult::default_roots() const {
  auto roots = roots_of(*this, changes);
  if (!roots.empty()) return roots;
  roots = roots_of(*this, readings);
  if (roots.size() > 1) roots.resize(1);  // reading elsewhere is the loader and the libraries
  return roots;
}

std::vector<UnplacedDirectory> SurveyResult::unplaced() const {
  const NameSpace& names = model->names();
  const FileIndex shelf = names.unplaced();
  std::map<std::uint32_t, UnplacedDirectory> found;
  for (const DirectoryUses* uses : {&changes, &readings})
    for (const auto& [index, use] : *uses) {
      FileIndex at(index);
      while (at != kNoFile && names.record(at).parent != shelf) at = names.record(at).parent;
      if (shelf == kNoFile || at == kNoFile) continue;
      UnplacedDirectory& directory = found[at.value];
      directory.path = names.path(at);
      directory.calls += use.calls;
    }
  std::vector<UnplacedDirectory> all;
  all.reserve(found.size());
  for (auto& [index, directory] : found) all.push_back(std::move(directory));
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.calls > b.calls; });
  return all;
}

std::uint64_t SurveyResult::changes_outside(const ReplayRoots& roots) const {
  const NameSpace& names = model->names();
  std::uint64_t outside = 0;
  for (const auto& [index, use] : changes) {
    const FileIndex mount = names.mount_of(FileIndex(index));
    const bool pseudo = mount != kNoFile && names.record(mount).pseudo;
    if (!pseudo && !roots.contains(names, FileIndex(index))) outside += use.calls;
  }
  return outside;
}

Result<SurveyResult> survey_trace(EventSource& source, std::optional<Nanoseconds> longest_gap) {
  Surveyor surveyor(source.header(), longest_gap);
  while (true) {
    IOTAPE_ASSIGN(Event * event, source.next());
    if (event == nullptr) break;
    if (source.selected())
      surveyor.take(*event);
    else
      surveyor.leave_out();
  }
  return surveyor.finish(source.report());
}

Result<ReplayRoots> choose_roots(SurveyResult& survey, const RootOptions& options) {
  ReplayRoots roots;
  if (options.mappings.empty())
    add_defaults(survey, roots);
  else
    IOTAPE_TRY(add_mappings(survey, options.mappings, roots));
  if (options.external) roots.add(survey.model->names(), {kTopDirectory, "/", std::string(kExternalDirectory), true});
  const std::uint64_t outside = survey.changes_outside(roots);
  if (outside * kOutsideLimit > survey.changing_calls) {
    std::string missing;
    for (const ChangingRoots::Root& root : survey.default_roots()) {
      const FileIndex directory = root_directory(survey.model->names(), root.path);
      if (directory != kNoFile && !roots.contains(survey.model->names(), directory))
        missing += fmt::format(" --map {}=/{}", root.path, last_component(root.path));
    }
    return failure(
        ErrorCode::kUsage,
        fmt::format("{} of {} changing calls lie outside what would be replayed; add{}{}", outside,
                    survey.changing_calls, missing.empty() ? " --map FROM=TO" : missing, " or --external replay"));
  }
  return roots;
}

}  // namespace iotape
