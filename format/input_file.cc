#include "format/input_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace iotape {

Result<FileDescriptor> open_input(const std::string& path) {
  FileDescriptor input(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                   : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!input) return system_failure("opening " + input_name(path), errno);
  return input;
}

std::string input_name(const std::string& path) { return path == "-" ? "standard input" : path; }

}  // namespace iotape
