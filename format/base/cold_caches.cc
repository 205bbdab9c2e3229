#include "format/base/cold_caches.h"

#include <fcntl.h>
#include <mntent.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "format/base/file_descriptor.h"

namespace iotape {
namespace {

// EXT4_IOC_CHECKPOINT of fs/ext4 (Linux 5.14); not in the headers of Debian 12.
constexpr unsigned long kCheckpointJournal = _IOW('f', 43, std::uint32_t);

struct CloseMountTable {
  void operator()(std::FILE* table) const { ::endmntent(table); }
};

// Where the ioctl is unknown the blocks stay pinned; the run is then as cold as that kernel allows.
void checkpoint_journal(const char* mount_point) {
  const FileDescriptor directory(::open(mount_point, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK));
  std::uint32_t flags = 0;
  if (directory) ::ioctl(directory.get(), kCheckpointJournal, &flags);
}

void checkpoint_journals() {
  const std::unique_ptr<std::FILE, CloseMountTable> table(::setmntent("/proc/self/mounts", "re"));
  if (!table) return;
  mntent entry{};
  char words[8192];
  while (::getmntent_r(table.get(), &entry, words, sizeof words) != nullptr) {
    const std::string_view type = entry.mnt_type;
    if (type == "ext3" || type == "ext4") checkpoint_journal(entry.mnt_dir);
  }
}

}  // namespace

Result<void> make_caches_cold() {
  ::sync();
  checkpoint_journals();
  const FileDescriptor control(::open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC));
  if (!control || ::write(control.get(), "3", 1) != 1) return system_failure("dropping the caches", errno);
  return {};
}

}  // namespace iotape
