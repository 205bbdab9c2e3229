#include "replayer/fuse_mount/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>

#include "format/base/file_descriptor.h"
#include "replayer/fuse_mount/served_volume.h"
#include "replayer/fuse_mount/unmount.h"

namespace iotape::fuse_mount {
namespace {

constexpr unsigned kWorkers = 8;
constexpr unsigned kBackgroundRequests = 64;  // the kernel's readahead and asynchronous I/O

// What the kernel and we agree on. Its page cache stays valid by itself, since nobody else writes the image; writes
// reach us at once, so that they can be refused (ENOSPC) when they are made and keep ext3's order. Access control lists
// are checked by the kernel and kept by us, so the umask, which a default list overrides, is ours too.
void agree(void* /*served*/, fuse_conn_info* connection) {
  const auto want = [&](unsigned capability) { connection->want |= connection->capable & capability; };
  const auto refuse = [&](unsigned capability) { connection->want &= ~capability; };
  want(FUSE_CAP_EXPORT_SUPPORT | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO |
       FUSE_CAP_EXPLICIT_INVAL_DATA | FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_POSIX_ACL |
       FUSE_CAP_DONT_MASK | FUSE_CAP_IOCTL_DIR | FUSE_CAP_SPLICE_WRITE);
  refuse(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_SPLICE_READ);
  connection->max_write = kLargestTransfer;
  connection->max_read = kLargestRead;
  connection->max_background = kBackgroundRequests;
  connection->congestion_threshold = kBackgroundRequests * 3 / 4;
  connection->time_gran = 1;
}

fuse_lowlevel_ops requests() {
  fuse_lowlevel_ops all{};
  all.init = &agree;
  add_name_requests(all);
  add_file_requests(all);
  add_directory_requests(all);
  add_attribute_requests(all);
  add_xattr_requests(all);
  add_control_requests(all);
  return all;
}

// A comma or a backslash inside one of libfuse's options.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == ',' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

class Arguments {
 public:
  explicit Arguments(std::vector<std::string> words) : words_(std::move(words)) {
    for (std::string& word : words_) pointers_.push_back(word.data());
    pointers_.push_back(nullptr);
  }
  fuse_args get() { return {static_cast<int>(words_.size()), pointers_.data(), 0}; }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

Arguments arguments_for(const SessionOptions& options, bool read_only) {
  std::string words =
      fmt::format("default_permissions,subtype=iotape,max_read={},fsname={}", kLargestRead, escaped(options.image));
  words += read_only ? ",ro" : ",rw";
  for (const std::string& option : options.kernel_options) words += "," + option;
  return Arguments({"iotape", "-o", words});
}

void wake_up(int /*signal*/) {}

// Writes the kernel's cache back to us: what programs changed through mapped memory. Newer kernels do not let syncfs
// wait for a FUSE program's answers, so the requests it started are waited for until none has come for a while.
void take_over_mapped_pages(const std::string& directory, const std::atomic<std::uint64_t>& requests_seen) {
  constexpr auto kTick = std::chrono::milliseconds(40);
  constexpr int kQuietTicks = 5;
  constexpr int kMostTicks = 250;
  const FileDescriptor root(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return;
  ::syncfs(root.get());
  std::uint64_t seen = requests_seen;
  for (int tick = 0, quiet = 0; tick < kMostTicks && quiet < kQuietTicks; ++tick) {
    std::this_thread::sleep_for(kTick);
    quiet = requests_seen == seen ? quiet + 1 : 0;
    seen = requests_seen;
  }
}

}  // namespace

struct Session::Served {
  explicit Served(ext3::Volume& volume) : served(volume) {}

  ServedVolume served;
  std::string directory;
  fuse_session* session = nullptr;
  std::mutex stopping;  // held by stop(), so that the session outlives it
  pthread_t server{};
  std::atomic<bool> serving = false;
};

Session::Session(std::unique_ptr<Served> served) : served_(std::move(served)) {}

Session::~Session() {
  if (served_->session == nullptr) return;
  fuse_session_unmount(served_->session);
  fuse_session_destroy(served_->session);
}

Result<std::unique_ptr<Session>> Session::open(ext3::Volume& volume, const SessionOptions& options) {
  auto served = std::make_unique<Served>(volume);
  served->directory = options.directory;
  served->served.clients = options.clients;
  served->served.image = options.image_descriptor;
  served->served.locked_image = options.locked_image;
  Arguments words = arguments_for(options, volume.read_only);
  fuse_args arguments = words.get();
  const fuse_lowlevel_ops table = requests();
  served->session = fuse_session_new(&arguments, &table, sizeof table, &served->served);
  fuse_opt_free_args(&arguments);  // libfuse has put a copy of its own there
  if (served->session == nullptr)
    return failure(ErrorCode::kUsage, "libfuse does not take these options; what it said is above");
  if (fuse_session_mount(served->session, options.directory.c_str()) != 0) {
    fuse_session_destroy(served->session);
    return failure(ErrorCode::kIo, fmt::format("cannot mount on {}; what libfuse said is above", options.directory));
  }
  served->served.readahead.mounted_on(options.directory);
  return std::unique_ptr<Session>(new Session(std::move(served)));
}

Result<void> Session::serve() {
  struct sigaction action {};
  action.sa_handler = &wake_up;
  ::sigaction(SIGUSR1, &action, nullptr);
  served_->server = ::pthread_self();
  served_->serving = true;
  fuse_loop_config* const config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(config, kWorkers);
  fuse_loop_cfg_set_idle_threads(config, kWorkers);
  const int status = fuse_session_loop_mt(served_->session, config);
  fuse_loop_cfg_destroy(config);
  served_->serving = false;
  {
    const std::lock_guard no_stop(served_->stopping);
    fuse_session_unmount(served_->session);
    fuse_session_destroy(std::exchange(served_->session, nullptr));
  }
  inside(served_->served, [this] { served_->served.let_go(); });
  if (status < 0) return system_failure("serving the kernel's requests", -status);
  return {};
}

void Session::stop() {
  constexpr auto kTick = std::chrono::milliseconds(20);
  const std::lock_guard once(served_->stopping);
  if (served_->session == nullptr) return;
  if (detach(served_->directory)) return;  // the loop sees it
  take_over_mapped_pages(served_->directory, served_->served.requests_seen);
  fuse_session_exit(served_->session);
  // The loop waits for its workers in a call that only a signal ends.
  while (served_->serving) {
    ::pthread_kill(served_->server, SIGUSR1);
    std::this_thread::sleep_for(kTick);
  }
}

}  // namespace iotape::fuse_mount
