#include "format/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace iotape {

Result<FileDescriptor> open_input(const std::string& path) {
  FileDescriptor input(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                   : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!input) return system_failure("opening " + input_name(path), errno);
  // /dev/zero never ends and never says anything.
  struct stat status {};
  if (::fstat(input.get(), &status) == 0 && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) &&
      ::isatty(input.get()) == 0)
    return failure(ErrorCode::kUnsupported, input_name(path) + " is a device, no file with events in it");
  return input;
}

std::string input_name(const std::string& path) { return path == "-" ? "standard input" : path; }

}  // namespace iotape
