#include "replayer/fuse_mount/mount_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include "format/base/file_descriptor.h"
#include "format/quoting.h"
#include "format/trace_files.h"
#include "replayer/ext3/device/device_use.h"
#include "replayer/ext3/device/file_device.h"
#include "replayer/ext3/mount.h"
#include "replayer/ext3/trace/request_trace.h"
#include "replayer/fuse_mount/client_notes.h"
#include "replayer/fuse_mount/mount_request.h"
#include "replayer/fuse_mount/serving_host.h"
#include "replayer/fuse_mount/session.h"
#include "replayer/fuse_mount/tender.h"
#include "replayer/fuse_mount/unmount.h"

namespace iotape::fuse_mount {
namespace {

// ---- what is told ----

void tell_mounted(const Terminal& terminal, const MountRequest& request, const ext3::MountReport& report,
                  const ext3::Volume& volume) {
  if (terminal.quiet) return;
  if (report.recovery)
    fmt::print(terminal.err, "iotape: the journal was replayed: {} transactions\n", report.recovery->transactions);
  if (report.orphans_deleted + report.orphans_truncated != 0)
    fmt::print(terminal.err, "iotape: {} unfinished deletions and {} unfinished truncations were finished\n",
               report.orphans_deleted, report.orphans_truncated);
  const std::string directory = shell_word(request.directory);
  fmt::print(terminal.err, "iotape: {} is mounted on {}{}; iotape mount -u {} unmounts it\n", shell_word(request.image),
             directory, volume.read_only ? ", read-only" : "", directory);
  std::fflush(terminal.err);
}

Result<void> judge(const ext3::Volume& volume) {
  if (volume.damage_count == 0) return {};
  return failure(ErrorCode::kCorrupt, fmt::format("the image is damaged: inode {}: {}; run e2fsck on it",
                                                  volume.first_damage.inode.value, volume.first_damage.what));
}

Result<void> lost_write(const std::string& image, int why) {
  Error error =
      system_failure(
          fmt::format("a write to {} failed, and not everything is in it; e2fsck -f puts it in order", image), why)
          .value();
  error.code = ErrorCode::kCorrupt;
  return tl::make_unexpected(std::move(error));
}

// ---- the mount's life ----

// Signals that ask for an end, taken by a thread of its own; every other thread has them blocked.
class EndSignals {
 public:
  EndSignals() {
    ::sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals_, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~EndSignals() {
    forget();
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  void stop_on_signal(Session& session) {
    watcher_ = std::jthread([this, &session](const std::stop_token& end) {
      constexpr timespec kTick{0, 50'000'000};
      while (!end.stop_requested())
        if (::sigtimedwait(&signals_, nullptr, &kTick) > 0) session.stop();
    });
  }
  // REQUIRES: before the session goes. A signal that comes later finds everything on its way out.
  void forget() { watcher_ = {}; }

 private:
  sigset_t signals_{};
  sigset_t before_{};
  std::jthread watcher_;
};

// The image. One that is only read, but needs to be put in order first, is opened for writing where that is allowed; an
// image that cannot be written is refused when it is mounted.
Result<ext3::FileDevice> open_image(const MountRequest& request) {
  if (request.options.read_only) {
    IOTAPE_ASSIGN(ext3::FileDevice reading, ext3::FileDevice::open(request.image, ext3::FileDeviceMode::kReadOnly));
    const bool writable = ::access(request.image.c_str(), W_OK) == 0 && !ext3::is_read_only_device(request.image);
    if (!ext3::waits_for_recovery(reading) || !writable) return reading;
  }
  return ext3::FileDevice::open(request.image, ext3::FileDeviceMode::kReadWrite);
}

// Mounts, serves and unmounts one image, and writes its trace where one is asked for.
class MountRun {
 public:
  MountRun(const Terminal& terminal, const MountRequest& request, ext3::FileDevice image)
      : terminal_(terminal), request_(request), image_(std::move(image)) {}
  MountRun(const MountRun&) = delete;
  MountRun& operator=(const MountRun&) = delete;
  ~MountRun() = default;

  // ready: called when the mount stands.
  template <typename Ready>
  Result<void> run(const Ready& ready) {
    if (!request_.trace.empty()) IOTAPE_TRY(begin_trace());
    auto volume = ext3::mount_volume(host_, trace_ ? static_cast<ext3::BlockDevice&>(*trace_) : image_,
                                     request_.options, &report_);
    if (!volume) {
      if (trace_) remove_output(request_.trace);  // there is nothing in it
      return tl::make_unexpected(std::move(volume).error().within(request_.image));
    }
    volume_ = std::move(*volume);
    if (trace_) describe_mount();
    Result<void> served = serve(ready);
    mounted_ = nullptr;
    const auto unmounted = ext3::unmount_volume(*volume_);
    Result<void> traced = trace_ ? trace_->finish() : Result<void>{};
    if (!unmounted) return lost_write(request_.image, unmounted.error().value);
    IOTAPE_TRY(std::move(served));
    IOTAPE_TRY(judge(*volume_));
    return traced;
  }

 private:
  Result<void> begin_trace() {
    ext3::RequestTraceOptions options;
    options.path = request_.trace;
    options.force = request_.force;
    options.command =
        fmt::format("mount {} {}{} --trace {}", file_name_of(request_.image), file_name_of(request_.directory),
                    request_.words.empty() ? "" : " -o " + request_.words, file_name_of(request_.trace));
    options.submitter = [] { return static_cast<std::uint32_t>(ServingHost::client()); };
    options.generation = [this](ext3::InodeNumber inode) {
      const ext3::Volume* const mounted = mounted_;
      if (mounted == nullptr) return 0U;
      const ext3::HostEntry inside(host_);
      return mounted->inodes->generation_of(inode);
    };
    IOTAPE_ASSIGN(trace_, ext3::RequestTrace::create(image_, std::move(options)));
    return {};
  }

  void describe_mount() {
    mounted_ = volume_.get();
    MountInfo mount;
    mount.mount_point = request_.directory;
    const bool has_journal = (volume_->superblock().compatible_features & ext3::kFeatureHasJournal) != 0;
    mount.filesystem = request_.options.journaled && has_journal ? "ext3" : "ext2";
    mount.options = request_.words;
    mount.subtree = "/";
    mount.block_size = volume_->geometry.block_size;
    mount.hash_version = volume_->superblock().default_hash_version;
    mount.read_only = volume_->read_only;
    trace_->note_mount(std::move(mount));
  }

  template <typename Ready>
  Result<void> serve(const Ready& ready) {
    std::optional<ClientNotes> clients;
    if (trace_) clients.emplace(*trace_);
    // Requests past the device would be missing in a trace.
    const FileDescriptor image(trace_ ? -1 : ::open(request_.image.c_str(), O_RDONLY | O_CLOEXEC));
    IOTAPE_ASSIGN(const auto session,
                  Session::open(*volume_, {request_.image, request_.directory, request_.kernel_options,
                                           clients ? &*clients : nullptr, image.get(), image_.descriptor()}));
    tell_mounted(terminal_, request_, report_, *volume_);
    ready();
    const Tender tender(*volume_);
    signals_.stop_on_signal(*session);
    auto served = session->serve();
    signals_.forget();
    return served;
  }

  EndSignals signals_;
  const Terminal& terminal_;
  const MountRequest& request_;
  ext3::FileDevice image_;
  ServingHost host_;
  std::unique_ptr<ext3::RequestTrace> trace_;
  std::unique_ptr<ext3::Volume> volume_;
  std::atomic<const ext3::Volume*> mounted_ = nullptr;  // whose inodes the trace may ask about
  ext3::MountReport report_;
};

template <typename Ready>
Result<void> mount_and_serve(const Terminal& terminal, const MountRequest& request, const Ready& ready) {
  IOTAPE_ASSIGN(ext3::FileDevice image, open_image(request));
  MountRun run(terminal, request, std::move(image));
  return run.run(ready);
}

int run_in_foreground(const Terminal& terminal, const MountRequest& request) {
  const auto done = mount_and_serve(terminal, request, [] {});
  return done ? kExitOk : report_error(terminal, "mount", done.error());
}

// ---- the background ----

// Off the terminal; what is said from now on is lost.
void leave_terminal() {
  ::setsid();
  (void)!::chdir("/");
  const FileDescriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing.get(), standard);
}

// A child mounts and stays; the parent returns when the mount stands or has failed, with the child's status. The fork
// comes before anything is opened, so that nothing is shared.
int run_in_background(const Terminal& terminal, const MountRequest& request) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return report_error(terminal, "mount", Error{ErrorCode::kIo, "no pipe can be made", errno});
  FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  std::fflush(terminal.out);
  std::fflush(terminal.err);
  const pid_t child = ::fork();
  if (child < 0) return report_error(terminal, "mount", Error{ErrorCode::kIo, "no process can be made", errno});
  if (child == 0) {
    const auto tell = [&writing](int status) {
      const auto byte = static_cast<char>(status);
      (void)!::write(writing.get(), &byte, 1);
      writing.reset();
    };
    const auto done = mount_and_serve(terminal, request, [&tell] {
      leave_terminal();
      tell(kExitOk);
    });
    const int status = done ? kExitOk : report_error(terminal, "mount", done.error());
    if (writing) tell(status);
    return status;
  }
  writing.reset();
  char status = kExitFailed;
  while (::read(reading.get(), &status, 1) < 0 && errno == EINTR) continue;
  return status;
}

}  // namespace

int run_mount(CommandCall& call) {
  int status = kExitOk;
  const auto request = parse_mount_request(call, status);
  if (!request) return status;
  if (request->unmount) {
    const auto done = unmount_and_wait(request->directory);
    return done ? kExitOk : report_error(*call.terminal, "mount", done.error());
  }
  return request->foreground ? run_in_foreground(*call.terminal, *request)
                             : run_in_background(*call.terminal, *request);
}

}  // namespace iotape::fuse_mount
