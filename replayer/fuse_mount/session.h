// Session: a volume mounted at a directory of this machine through FUSE, from its mount to its unmount.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "format/base/result.h"
#include "replayer/ext3/volume.h"

namespace iotape::fuse_mount {

class ClientNotes;

struct SessionOptions {
  std::string image;                        // shown as the mount's source; absolute
  std::string directory;                    // absolute
  std::vector<std::string> kernel_options;  // allow_other, nosuid and the like
  ClientNotes* clients = nullptr;           // told who asks; outlives the session
  // Of the image, for long reads that go from it to the kernel past the volume's device; -1: none may. Outlives it,
  // too.
  int image_descriptor = -1;
  int locked_image = -1;  // the device's own descriptor
};

class Session {
 public:
  // Mounts. libfuse says on stderr what the kernel did not like. REQUIRES: the volume outlives the session.
  static Result<std::unique_ptr<Session>> open(ext3::Volume& volume, const SessionOptions& options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();  // unmounts what is still mounted

  // Serves, with several threads, until the directory is unmounted or stop() has done so. Drops what the kernel still
  // held, so that the volume can be unmounted. REQUIRES: SIGUSR1 may be caught.
  Result<void> serve();
  // From another thread: unmounts, so that serve() returns. Programs that are still inside lose their files, but for
  // what they wrote: that is taken over first.
  void stop();

 private:
  struct Served;
  explicit Session(std::unique_ptr<Served> served);
  std::unique_ptr<Served> served_;
};

}  // namespace iotape::fuse_mount
