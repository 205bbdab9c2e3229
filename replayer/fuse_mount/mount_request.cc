#include "replayer/fuse_mount/mount_request.h"

#include <fmt/format.h>
#include <sys/vfs.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "format/quoting.h"
#include "format/trace_files.h"
#include "replayer/ext3/mount_words.h"

namespace iotape::fuse_mount {
namespace {

// What mount(8) and libfuse understand; passed on.
constexpr std::array<std::string_view, 9> kKernelWords{"allow_other", "allow_root", "auto_unmount", "dev",   "nodev",
                                                       "suid",        "nosuid",     "exec",         "noexec"};
// What an ext3 in /etc/fstab may say that changes nothing here.
constexpr std::array<std::string_view, 5> kIgnoredWords{"defaults", "user_xattr", "nouser_xattr", "async", "nouser"};

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

Result<void> unknown_word(std::string_view word) {
  std::vector<std::string> known(kKernelWords.begin(), kKernelWords.end());
  for (const ext3::MountWord& other : ext3::mount_words()) known.emplace_back(other.key);
  known.insert(known.end(), {"noatime", "relatime", "strictatime"});
  const std::string nearest = nearest_word(word.substr(0, word.find('=')), known);
  return failure(ErrorCode::kUsage, nearest.empty()
                                        ? fmt::format("-o {}: no such option; iotape mount --help lists them", word)
                                        : fmt::format("-o {}: no such option; did you mean {}?", word, nearest));
}

Result<void> read_words(std::string_view text, MountRequest& request) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty() || is_one_of(word, kIgnoredWords)) continue;
    if (is_one_of(word, kKernelWords)) {
      request.kernel_options.emplace_back(word);
      continue;
    }
    IOTAPE_ASSIGN(const bool known, ext3::read_mount_word(word, request.options));
    if (!known) return unknown_word(word);
  }
  return {};
}

// Inside the mount, a trace would lie hidden under it while it is written.
Result<void> check_trace_place(const MountRequest& request) {
  if (request.trace.empty()) return {};
  IOTAPE_TRY(check_output(request.trace, {request.image}));
  std::error_code error;
  const auto folder =
      std::filesystem::weakly_canonical(std::filesystem::absolute(request.trace, error), error).parent_path();
  const std::filesystem::path mount_point = request.directory;
  if (std::ranges::mismatch(mount_point, folder).in1 != mount_point.end()) return {};
  return failure(ErrorCode::kUsage,
                 fmt::format("--trace {} lies below {}, where the mount would hide it; name a file elsewhere",
                             request.trace, request.directory));
}

Result<void> understand(const std::vector<std::string>& places, const std::vector<std::string>& words,
                        MountRequest& request) {
  for (const std::string& text : words) {
    IOTAPE_TRY(read_words(text, request));
    request.words += (request.words.empty() ? "" : ",") + text;
  }
  const std::size_t wanted = request.unmount ? 1 : 2;
  if (places.size() != wanted)
    return failure(ErrorCode::kUsage, request.unmount ? "-u takes one DIR" : "it takes an IMAGE and a DIR");
  request.directory = places.back();
  if (request.unmount) return {};
  if (request.trace == "-") return failure(ErrorCode::kUsage, "--trace takes a file: the mount outlives its terminal");
  std::error_code error;
  request.image = std::filesystem::canonical(places.front(), error);
  if (error) return system_failure("opening " + places.front(), error.value());
  request.directory = std::filesystem::canonical(places.back(), error);
  if (error) return system_failure("mounting on " + places.back(), error.value());
  const bool directory = std::filesystem::is_directory(request.directory, error);
  // The kernel may still know what it was, but not how full.
  struct statfs filesystem {};
  if (error.value() == ENOTCONN || (::statfs(request.directory.c_str(), &filesystem) != 0 && errno == ENOTCONN))
    return failure(ErrorCode::kIo,
                   fmt::format("on {} lies a mount whose program has ended; iotape mount -u {} takes it away",
                               places.back(), shell_word(places.back())));
  if (!directory) return failure(ErrorCode::kUsage, fmt::format("{} is not a directory", places.back()));
  return check_trace_place(request);
}

std::string footer() {
  std::string text = "Words of -o:\n";
  for (const ext3::MountWord& word : ext3::mount_words())
    text += fmt::format("  {}{}{}\n        {}\n", word.key, word.values.empty() ? "" : "=", word.values, word.meaning);
  text += "  allow_other, allow_root, auto_unmount, [no]suid, [no]dev, [no]exec\n        as for any FUSE filesystem\n";
  text +=
      "Unmount with iotape mount -u DIR: it returns when the image is clean. umount and\n"
      "fusermount3 -u do as well, but return before that. SIGINT, SIGTERM and SIGHUP\n"
      "unmount. Without allow_other only the user who mounted sees the files.\n"
      "Killed at any time, what was fsynced stays, and of the rest all but the last commit\n"
      "interval; the next mount, or e2fsck, replays the journal. The kernel does not pass\n"
      "sync(2) and syncfs(2) on to FUSE programs: fsync, sync FILE or -u make durable.\n"
      "A trace of --trace is whole when the mount has ended; it can be read before.\n"
      "Exit status: 0 mounted (with -f: unmounted cleanly; with -u: the image is clean),\n"
      "1 failed, 2 usage, 4 the image is damaged, or a write to it failed.";
  return text;
}

}  // namespace

std::optional<MountRequest> parse_mount_request(CommandCall& call, int& status) {
  MountRequest request;
  std::vector<std::string> places;
  std::vector<std::string> words;
  CLI::App app("Mount an ext2 or ext3 image, or a block device, with the built-in ext3", "iotape mount");
  add_common_options(app, *call.terminal);
  app.add_option("PLACES", places, "IMAGE and DIR (with -u: DIR)")->expected(1, 2)->required();
  app.add_option("-o", words, "Mount options, separated by commas; repeatable")->allow_extra_args(false);
  app.add_flag("-f,--foreground", request.foreground, "Stay, and end when it is unmounted");
  app.add_flag("-u,--unmount", request.unmount, "Unmount DIR and wait until its image is clean");
  app.add_option("--trace", request.trace, "Write the block requests down as a trace, with what they are for");
  app.add_flag("--force", request.force, "Overwrite an existing trace");
  app.footer(footer());
  status = parse_arguments(app, call);
  if (status >= 0) return std::nullopt;
  if (const auto understood = understand(places, words, request); !understood) {
    status = report_error(*call.terminal, "mount", understood.error());
    return std::nullopt;
  }
  return request;
}

}  // namespace iotape::fuse_mount
