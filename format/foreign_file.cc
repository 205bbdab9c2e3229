#include "format/foreign_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "format/base/file_descriptor.h"
#include "format/quoting.h"

namespace iotape {
namespace {

using std::string_view_literals::operator""sv;

struct Magic {
  std::string_view bytes;
  std::string_view what;
  std::string_view remedy;  // {0}: the path, {1}: the path of the trace to make
};

// blktrace's magic is "eat" with a version byte below it, in the byte order of the machine that wrote it.
constexpr std::array<Magic, 22> kMagics{{
    {"\x07tae"sv, "a blktrace file", "iotape convert {0} {1}"},
    {"eat\x07"sv, "a blktrace file of a big-endian machine", "iotape convert {0} {1}"},
    {"\x1f\x8b"sv, "gzip-compressed", "zcat {0} > {2}, then give that file"},
    {"\x28\xb5\x2f\xfd"sv, "zstd-compressed", "zstdcat {0} > {2}, then give that file"},
    {"\xfd\x37zXZ\0"sv, "xz-compressed", "xzcat {0} > {2}, then give that file"},
    {"BZh"sv, "bzip2-compressed", "bzcat {0} > {2}, then give that file"},
    {"\x04\x22\x4d\x18"sv, "lz4-compressed", "lz4cat {0} > {2}, then give that file"},
    {"PK\x03\x04"sv, "a zip archive", "unzip it first"},
    {"\x0a\x0d\x0d\x0a"sv, "a scap (sysdig, Falco) or pcapng capture", "record the workload again with iotape record"},
    {"PERFILE2"sv, "a perf.data file", "record the workload again with iotape record"},
    {"2ELIFREP"sv, "a perf.data file of a big-endian machine", "record the workload again with iotape record"},
    {"\x17\x08\x44tracing"sv, "a trace-cmd trace.dat file", "record the workload again with iotape record"},
    {"\xc1\x1f\xfc\xc1"sv, "a CTF (LTTng) stream", "record the workload again with iotape record"},
    {"\xc1\xfc\x1f\xc1"sv, "a CTF (LTTng) stream", "record the workload again with iotape record"},
    {"\x7f"
     "ELF"sv,
     "a program", "iotape record -- {0}"},
    {"#!"sv, "a script", "iotape record -- {0}"},
    {"SQLite format 3"sv, "an SQLite database", ""},
    {"\x89PNG"sv, "a PNG picture", ""},
    {"<svg"sv, "an SVG picture", ""},
    {"<?xml"sv, "an XML document", ""},
    {"<!DOCTYPE"sv, "an HTML document", ""},
    {"\xd4\xc3\xb2\xa1"sv, "a pcap capture", ""},
}};

std::string stem_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t dot = path.rfind('.');
  const bool has_ending =
      dot != std::string_view::npos && dot > 0 && (slash == std::string_view::npos || dot > slash + 1);
  return std::string(has_ending ? path.substr(0, dot) : path);
}

std::size_t skip_digits(std::string_view line, std::size_t at) {
  while (at < line.size() && std::isdigit(static_cast<unsigned char>(line[at])) != 0) ++at;
  return at;
}

// "1234 1700000000.123456 openat(" or "[pid 12] openat(" or "openat(".
bool looks_like_strace(std::string_view line) {
  const std::size_t open = line.find('(');
  if (open == std::string_view::npos || open == 0) return false;
  std::size_t start = open;
  while (start > 0 && (std::isalnum(static_cast<unsigned char>(line[start - 1])) != 0 || line[start - 1] == '_'))
    --start;
  if (start == open || std::isdigit(static_cast<unsigned char>(line[start])) != 0) return false;
  const std::string_view lead = line.substr(0, start);
  const bool lead_is_time = std::all_of(lead.begin(), lead.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0 || " .:[]pid"sv.find(c) != std::string_view::npos;
  });
  return lead_is_time && line.find(" = ", open) != std::string_view::npos;
}

// "  8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]".
bool looks_like_blkparse(std::string_view line) {
  std::size_t at = line.find_first_not_of(' ');
  if (at == std::string_view::npos) return false;
  const std::size_t comma = skip_digits(line, at);
  if (comma == at || comma >= line.size() || line[comma] != ',') return false;
  at = skip_digits(line, comma + 1);
  if (at == comma + 1) return false;
  const std::string_view rest = line.substr(at);
  return std::count(rest.begin(), rest.end(), ' ') >= 5 && rest.find('.') != std::string_view::npos;
}

std::optional<ForeignFile> recognise_text(std::string_view beginning, std::string_view path) {
  if (beginning.front() == '{')
    return ForeignFile{"JSON", fmt::format("if it is the output of iotape dump --format json: iotape convert {} {}",
                                           shell_word(path), shell_word(stem_of(path) + ".iotape"))};
  std::size_t start = 0;
  for (int lines = 0; lines < 5 && start < beginning.size(); ++lines) {
    const std::size_t end = std::min(beginning.find('\n', start), beginning.size());
    const std::string_view line = beginning.substr(start, end - start);
    if (looks_like_strace(line)) return ForeignFile{"strace output", "record the workload with iotape record instead"};
    if (looks_like_blkparse(line))
      return ForeignFile{"blkparse output", "give the blktrace files it was made from to iotape convert"};
    start = end + 1;
  }
  if (is_utf8(beginning.substr(0, beginning.size() > 4 ? beginning.size() - 4 : beginning.size())) &&
      beginning.find('\0') == std::string_view::npos)
    return ForeignFile{"a text file", ""};
  return std::nullopt;
}

}  // namespace

std::optional<ForeignFile> recognise_foreign(std::string_view beginning, std::string_view path) {
  if (beginning.empty()) return ForeignFile{"empty", "the recording may have been stopped before its first byte"};
  for (const Magic& magic : kMagics) {
    if (!beginning.starts_with(magic.bytes)) continue;
    const std::string stem = stem_of(path);
    return ForeignFile{std::string(magic.what),
                       fmt::format(fmt::runtime(magic.remedy), shell_word(path), shell_word(stem + ".iotape"),
                                   shell_word(stem == path ? stem + ".out" : stem))};
  }
  return recognise_text(beginning, path);
}

std::optional<ForeignFile> recognise_foreign_file(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  // A pipe's bytes would be gone; a directory or device has its own message.
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::array<char, kForeignProbeBytes> bytes{};
  const ssize_t got = ::read(file.get(), bytes.data(), bytes.size());
  if (got < 0) return std::nullopt;
  return recognise_foreign({bytes.data(), static_cast<std::size_t>(got)}, path);
}

}  // namespace iotape
