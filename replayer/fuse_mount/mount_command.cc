#include "replayer/fuse_mount/mount_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <stop_token>
#include <thread>

#include "format/base/file_descriptor.h"
#include "replayer/ext3/device/file_device.h"
#include "replayer/ext3/mount.h"
#include "replayer/ext3/thread_host.h"
#include "replayer/fuse_mount/mount_request.h"
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
  fmt::print(terminal.err, "iotape: {} is mounted on {}{}; iotape mount -u {} unmounts it\n", request.image,
             request.directory, volume.read_only ? ", read-only" : "", request.directory);
  std::fflush(terminal.err);
}

Result<void> judge(const ext3::Volume& volume) {
  if (volume.damage_count == 0) return {};
  return failure(ErrorCode::kCorrupt, fmt::format("the image is damaged: inode {}: {}; run e2fsck on it",
                                                  volume.first_damage.inode.value, volume.first_damage.what));
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

// Where the volume's blocks are. The decorators of a device (one that writes a trace, say) go on here.
Result<std::unique_ptr<ext3::BlockDevice>> open_device(const MountRequest& request) {
  const auto mode = request.options.read_only ? ext3::FileDeviceMode::kReadOnly : ext3::FileDeviceMode::kReadWrite;
  IOTAPE_ASSIGN(ext3::FileDevice file, ext3::FileDevice::open(request.image, mode));
  return std::make_unique<ext3::FileDevice>(std::move(file));
}

// Mounts, says so (ready), serves and unmounts.
template <typename Ready>
Result<void> mount_and_serve(const Terminal& terminal, const MountRequest& request, const Ready& ready) {
  EndSignals signals;
  IOTAPE_ASSIGN(const auto device, open_device(request));
  ext3::ThreadHost host;
  ext3::MountReport report;
  IOTAPE_ASSIGN(const auto volume, ext3::mount_volume(host, *device, request.options, &report));
  Result<void> served;
  {
    auto session = Session::open(*volume, {request.image, request.directory, request.kernel_options});
    if (session) {
      tell_mounted(terminal, request, report, *volume);
      ready();
      const Tender tender(*volume);
      signals.stop_on_signal(**session);
      served = (*session)->serve();
      signals.forget();
    } else {
      served = tl::make_unexpected(session.error());
    }
  }
  if (const auto unmounted = ext3::unmount_volume(*volume); !unmounted)
    return system_failure("unmounting " + request.image, unmounted.error().value);
  IOTAPE_TRY(std::move(served));
  return judge(*volume);
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
