#include "replayer/target/run_tool.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "format/base/file_descriptor.h"

namespace iotape {
namespace {

constexpr std::array kPlaces{"/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/", "/usr/local/sbin/", "/usr/local/bin/"};

// Only what a tool needs to find its own files and to speak plainly.
std::array<char*, 3> environment() {
  static std::array<std::string, 2> words{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
  return {words[0].data(), words[1].data(), nullptr};
}

std::string read_all(int descriptor) {
  constexpr std::size_t kMost = 65'536;
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    if (text.size() < kMost) text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

// Words with one space between them; what is no printable ASCII separates words.
std::string plain_words(std::string_view line) {
  std::string words;
  for (const char letter : line) {
    const bool printable = letter > ' ' && letter < '\x7f';
    if (printable)
      words += letter;
    else if (!words.empty() && words.back() != ' ')
      words += ' ';
  }
  if (words.ends_with(' ')) words.pop_back();
  return words;
}

}  // namespace

std::string complaint_of(std::string_view output) {
  constexpr std::size_t kMost = 400;
  std::string said;
  while (!output.empty() && said.size() < kMost) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const std::string line = plain_words(output.substr(0, end));
    output.remove_prefix(std::min(end + 1, output.size()));
    if (line.starts_with("usage:") || line.starts_with("Usage:")) break;
    if (!line.empty()) said += (said.empty() ? "" : "; ") + line;
  }
  if (said.size() > kMost) said.replace(kMost, std::string::npos, "...");
  return said;
}

Result<std::string> find_tool(const std::string& name) {
  for (const char* place : kPlaces)
    if (::access((place + name).c_str(), X_OK) == 0) return place + name;
  return failure(ErrorCode::kNotFound, name + " is not installed");
}

Result<ToolOutput> run_tool(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_failure("making a pipe", errno);
  const FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, writer.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, writer.get(), STDERR_FILENO);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, words.front().c_str(), &actions, nullptr, arguments.data(), environment().data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return system_failure("running " + words.front(), error);
  writer.reset();
  ToolOutput output;
  output.text = read_all(reader.get());
  while (::waitpid(pid, &output.wait_status, 0) < 0 && errno == EINTR) continue;
  return output;
}

}  // namespace iotape
