// POSIX's finer rules, one table for each, on a mount of ours and on the kernel's own ext3.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuse_mount/support/outcomes.h"

namespace iotape::fuse_mount::test {
namespace {

// A directory of its own for each case, everybody's.
class Place {
 public:
  explicit Place(const std::string& top) : top_(top) {}
  Outcomes next() {
    const std::string path = top_ + "/c" + std::to_string(number_++);
    ::mkdir(path.c_str(), 0777);
    ::chmod(path.c_str(), 0777);
    return Outcomes(path);
  }

 private:
  std::string top_;
  int number_ = 0;
};

int made(const std::string& path, mode_t mode, uid_t user, gid_t group) {
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY, 0600);
  if (file >= 0) ::close(file);
  (void)!::chown(path.c_str(), user, group);
  return ::chmod(path.c_str(), mode);
}
int made_directory(const std::string& path, mode_t mode, uid_t user, gid_t group) {
  ::mkdir(path.c_str(), 0700);
  (void)!::chown(path.c_str(), user, group);
  return ::chmod(path.c_str(), mode);
}
int made_socket(const std::string& path) {
  // Longer than sun_path: by way of the directory.
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t slash = path.rfind('/');
  const int here = ::open(".", O_RDONLY | O_DIRECTORY);
  (void)!::chdir(path.substr(0, slash).c_str());
  std::strncpy(address.sun_path, path.c_str() + slash + 1, sizeof address.sun_path - 1);
  const int answer = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address);
  (void)!::fchdir(here);
  ::close(here);
  ::close(socket);
  return answer;
}

// Opens, notes, closes.
int opened(const std::string& path, int flags, mode_t mode = 0600) {
  const int file = ::open(path.c_str(), flags, mode);
  return file < 0 ? file : ::close(file);
}

// What happened in a case's own directory, told among all.
void tell(Outcomes& all, const std::string& what, Outcomes& here) {
  for (const std::string& line : here.lines()) all.note(what + " | " + line, 0);
}

// ---- who owns, and which bits stay ----

struct Who {
  uid_t user;
  gid_t group;
  std::vector<gid_t> groups;
};
const std::vector<Who>& everybody() {
  static const std::vector<Who> all{{0, 0, {}},
                                    {kSomebody, kSomebody, {}},
                                    {kSomebody, kSomebody, {kAGroup}},
                                    {kSomebody, kAGroup, {}},
                                    {kAnother, kAnother, {kAGroup}}};
  return all;
}

std::vector<std::string> owners_and_bits(const std::string& top) {
  Outcomes all(top);
  Place place(top);
  using Change = std::pair<const char*, std::function<int(const std::string&)>>;
  constexpr auto kNobody = static_cast<uid_t>(-1);
  const std::vector<Change> changes{
      {"chmod 6777", [](auto& p) { return ::chmod(p.c_str(), 06777); }},
      {"chmod 2755", [](auto& p) { return ::chmod(p.c_str(), 02755); }},
      {"chmod 1700", [](auto& p) { return ::chmod(p.c_str(), 01700); }},
      {"chown to self", [](auto& p) { return ::chown(p.c_str(), kSomebody, kNobody); }},
      {"chown to root", [](auto& p) { return ::chown(p.c_str(), 0, kNobody); }},
      {"chgrp to own", [](auto& p) { return ::chown(p.c_str(), kNobody, kSomebody); }},
      {"chgrp to further", [](auto& p) { return ::chown(p.c_str(), kNobody, kAGroup); }},
      {"chgrp to foreign", [](auto& p) { return ::chown(p.c_str(), kNobody, 777); }},
      {"chown both", [](auto& p) { return ::chown(p.c_str(), kSomebody, kAGroup); }},
      {"chown nobody", [](auto& p) { return ::chown(p.c_str(), kNobody, kNobody); }},
      {"lchown", [](auto& p) { return ::lchown(p.c_str(), kNobody, kAGroup); }},
      {"write",
       [](auto& p) {
         const int f = ::open(p.c_str(), O_WRONLY);
         const auto wrote = static_cast<int>(::write(f, "x", 1));
         ::close(f);
         return wrote;
       }},
      {"truncate", [](auto& p) { return ::truncate(p.c_str(), 3); }},
      {"open truncating", [](auto& p) { return opened(p, O_WRONLY | O_TRUNC); }},
      {"setxattr", [](auto&) { return 0; }},
  };
  for (const Who& who : everybody())
    for (const gid_t group : {kSomebody, kAGroup})
      for (const bool directory : {false, true})
        for (const mode_t mode : {06777U, 02767U, 04711U, 0777U})
          for (const auto& [what, change] : changes) {
            Outcomes here = place.next();
            if (directory)
              made_directory(here.at("x"), mode, kSomebody, group);
            else
              made(here.at("x"), mode, kSomebody, group);
            all.as(who.user, who.group, who.groups);
            errno = 0;
            const int answer = change(here.at("x"));
            all.note(std::string(what) + (directory ? " directory " : " file ") + std::to_string(mode) + " of group " +
                         std::to_string(group),
                     answer);
            all.as(0, 0);
            here.look("x");
            tell(all, what, here);
          }
  return all.lines();
}

// New files of every kind in directories with the set-group-ID bit, by members and others.
std::vector<std::string> new_files(const std::string& top) {
  Outcomes all(top);
  Place place(top);
  for (const Who& who : everybody())
    for (const mode_t directory_mode : {0777U, 02777U, 01777U, 0755U})
      for (const mode_t umask : {0U, 027U})
        for (const mode_t mode : {0666U, 02777U, 06755U}) {
          Outcomes here = place.next();
          made_directory(here.at("d"), directory_mode, 0, kAGroup);
          all.as(who.user, who.group, who.groups);
          ::umask(umask);
          const auto deed = [&](const char* name, int answer) {
            all.note(std::string(name) + " " + std::to_string(mode) + " in " + std::to_string(directory_mode), answer);
          };
          deed("open", opened(here.at("d/file"), O_CREAT | O_WRONLY, mode));
          deed("mkdir", ::mkdir(here.at("d/directory").c_str(), mode));
          deed("mkfifo", ::mkfifo(here.at("d/fifo").c_str(), mode));
          deed("socket", made_socket(here.at("d/socket")));
          deed("symlink", ::symlink("t", here.at("d/symlink").c_str()));
          deed("mknod regular", ::mknod(here.at("d/regular").c_str(), S_IFREG | mode, 0));
          deed("mknod plain", ::mknod(here.at("d/plain").c_str(), mode, 0));
          deed("mknod fifo", ::mknod(here.at("d/fifo2").c_str(), S_IFIFO | mode, 0));
          deed("mknod socket", ::mknod(here.at("d/socket2").c_str(), S_IFSOCK | mode, 0));
          deed("mknod character", ::mknod(here.at("d/character").c_str(), S_IFCHR | mode, makedev(1, 3)));
          deed("mknod large", ::mknod(here.at("d/large").c_str(), S_IFBLK | mode, makedev(4095, 1048575)));
          deed("mknod whiteout", ::mknod(here.at("d/whiteout").c_str(), S_IFCHR, makedev(0, 0)));
          deed("mknod directory", ::mknod(here.at("d/directory2").c_str(), S_IFDIR | mode, 0));
          deed("mknod symlink", ::mknod(here.at("d/symlink2").c_str(), S_IFLNK | mode, 0));
          deed("mknod nothing", ::mknod(here.at("d/nothing").c_str(), 0170000 | mode, 0));
          ::umask(0);
          all.as(0, 0);
          for (const char* name : {"file", "directory", "fifo", "socket", "symlink", "regular", "plain", "fifo2",
                                   "socket2", "character", "large", "whiteout"})
            here.look(std::string("d/") + name);
          tell(all, "new", here);
        }
  return all.lines();
}

// ---- sticky directories ----

std::vector<std::string> sticky_directories(const std::string& top) {
  Outcomes all(top);
  Place place(top);
  using Deed = std::pair<const char*, std::function<int(const Outcomes&)>>;
  const auto renamed = [](const char* from, const char* to, unsigned flags = 0) {
    return [=](const Outcomes& here) {
      return ::renameat2(AT_FDCWD, here.at(from).c_str(), AT_FDCWD, here.at(to).c_str(), flags);
    };
  };
  const std::vector<Deed> deeds{
      {"unlink", [](auto& here) { return ::unlink(here.at("d/file").c_str()); }},
      {"rmdir", [](auto& here) { return ::rmdir(here.at("d/sub").c_str()); }},
      {"rename within", renamed("d/file", "d/other")},
      {"rename out", renamed("d/file", "other")},
      {"rename into", renamed("mine", "d/other")},
      {"rename over", renamed("mine", "d/file")},
      {"rename directory within", renamed("d/sub", "d/sub2")},
      {"rename directory out", renamed("d/sub", "sub2")},
      {"rename directory over", renamed("mydir", "d/sub")},
      {"exchange", renamed("mine", "d/file", RENAME_EXCHANGE)},
      {"exchange directories", renamed("mydir", "d/sub", RENAME_EXCHANGE)},
      {"whiteout", renamed("d/file", "d/other", RENAME_WHITEOUT)},
      {"link", [](auto& here) { return ::link(here.at("d/file").c_str(), here.at("d/link").c_str()); }},
      {"create", [](auto& here) { return opened(here.at("d/new"), O_CREAT | O_WRONLY); }},
      {"open what is there", [](auto& here) { return opened(here.at("d/file"), O_CREAT | O_WRONLY); }}};
  for (const mode_t mode : {01777U, 01755U, 0777U})
    for (const uid_t directory_owner : {uid_t{0}, kSomebody, kAnother})
      for (const uid_t file_owner : {uid_t{0}, kSomebody, kAnother})
        for (const uid_t user : {uid_t{0}, kSomebody})
          for (const auto& [what, deed] : deeds) {
            Outcomes here = place.next();
            made_directory(here.at("d"), mode, directory_owner, directory_owner);
            made(here.at("d/file"), 0666, file_owner, file_owner);
            made_directory(here.at("d/sub"), 0777, file_owner, file_owner);
            made(here.at("mine"), 0666, user, user);
            made_directory(here.at("mydir"), 0777, user, user);
            all.as(user, user);
            errno = 0;
            all.note(std::string(what) + " in " + std::to_string(mode) + " of " + std::to_string(directory_owner) +
                         ", file of " + std::to_string(file_owner),
                     deed(here));
            all.as(0, 0);
          }
  return all.lines();
}

// ---- links and long names ----

std::vector<std::string> long_walks(const std::string& top) {
  Outcomes all(top);
  made(all.at("end"), 0666, 0, 0);
  (void)!::symlink("end", all.at("chain0").c_str());
  for (int i = 1; i <= 45; ++i)
    (void)!::symlink(("chain" + std::to_string(i - 1)).c_str(), all.at("chain" + std::to_string(i)).c_str());
  for (int i = 36; i <= 45; ++i) {
    const std::string path = all.at("chain" + std::to_string(i));
    all.note("open chain" + std::to_string(i), opened(path, O_RDONLY));
    all.note("unlinked one", ::access((path + "/").c_str(), F_OK));
  }
  (void)!::symlink(".", all.at("dot").c_str());
  for (const int times : {39, 40, 41, 80}) {
    std::string path = top;
    for (int i = 0; i < times; ++i) path += "/dot";
    all.note("dots " + std::to_string(times), ::access((path + "/end").c_str(), F_OK));
  }
  for (const std::size_t length : {254U, 255U, 256U, 300U, 1000U}) {
    const std::string name = all.at(std::string(length, 'n'));
    const std::string what = std::to_string(length);
    all.note("create " + what, opened(name, O_CREAT | O_WRONLY));
    all.note("stat " + what, ::access(name.c_str(), F_OK));
    all.note("mkdir " + what, ::mkdir((name + "/").c_str(), 0700));
    all.note("within " + what, ::access((name + "/x").c_str(), F_OK));
    all.note("symlink " + what, ::symlink("t", name.c_str()));
    all.note("rename to " + what, ::rename(all.at("end").c_str(), name.c_str()));
    all.note("rename back " + what, ::rename(name.c_str(), all.at("end").c_str()));
    all.note("unlink " + what, ::unlink(name.c_str()));
  }
  made(all.at("end"), 0666, 0, 0);
  for (const std::size_t length : {4090U, 4094U, 4095U, 4096U, 5000U}) {
    std::string path = top;
    while (path.size() + 4 < length) path += "/";
    path.resize(length - 4, '/');
    path += "/end";
    all.note("path of " + std::to_string(length), ::access(path.c_str(), F_OK));
    all.note("symlink of " + std::to_string(length),
             ::symlink(path.c_str(), all.at("long" + std::to_string(length)).c_str()));
    all.note("through it", ::access(all.at("long" + std::to_string(length)).c_str(), F_OK));
  }
  for (const char* empty : {"", "/"}) all.note("symlink to nothing", ::symlink(empty, all.at("nothing").c_str()));
  return all.lines();
}

// ---- times ----

std::vector<std::string> times_that_may_be_set(const std::string& top) {
  Outcomes all(top);
  Place place(top);
  const std::vector<timespec> kinds{
      {0, UTIME_NOW}, {0, UTIME_OMIT}, {1000000000, 123456789}, {5, 1'000'000'000}, {5, -1}};
  for (const Who& who : everybody())
    for (const mode_t mode : {0666U, 0444U, 0600U})
      for (const char* kind : {"file", "directory", "symlink"})
        for (std::size_t a = 0; a <= kinds.size(); ++a)
          for (std::size_t m = 0; m < kinds.size(); ++m) {
            if (a == kinds.size() && m > 0) continue;  // no times at all
            Outcomes here = place.next();
            if (std::string_view(kind) == "file")
              made(here.at("x"), mode, kSomebody, kAGroup);
            else if (std::string_view(kind) == "directory")
              made_directory(here.at("x"), mode, kSomebody, kAGroup);
            else
              (void)!::symlink("gone", here.at("x").c_str());
            const timespec times[2]{a < kinds.size() ? kinds[a] : kinds[0], kinds[m]};
            all.as(who.user, who.group, who.groups);
            errno = 0;
            all.note(
                std::string("utimensat ") + kind + " " + std::to_string(mode) + " " + std::to_string(a) +
                    std::to_string(m),
                ::utimensat(AT_FDCWD, here.at("x").c_str(), a < kinds.size() ? times : nullptr, AT_SYMLINK_NOFOLLOW));
            all.as(0, 0);
          }
  return all.lines();
}

std::string seen_times(const std::string& path) {
  struct stat s {};
  ::lstat(path.c_str(), &s);
  return std::to_string(s.st_atim.tv_sec) + "." + std::to_string(s.st_atim.tv_nsec) + " " +
         std::to_string(s.st_mtim.tv_sec) + "." + std::to_string(s.st_mtim.tv_nsec);
}

std::vector<std::string> times_that_are_kept(const std::string& top) {
  Outcomes all(top);
  made(all.at("x"), 0666, 0, 0);
  const std::vector<std::int64_t> seconds{0,
                                          1,
                                          -1,
                                          -2147483648LL,
                                          -2147483649LL,
                                          2147483647,
                                          2147483648LL,
                                          4294967295LL,
                                          4294967296LL,
                                          6442450943LL,
                                          6442450944LL,
                                          8589934591LL,
                                          10737418239LL,
                                          15032385535LL,
                                          15032385536LL};
  for (const std::int64_t second : seconds)
    for (const long nanosecond : {0L, 1L, 999'999'999L, 500'000'001L}) {
      const timespec times[2]{{second, nanosecond}, {second, 999'999'999L - nanosecond}};
      all.note("utimensat " + std::to_string(second), ::utimensat(AT_FDCWD, all.at("x").c_str(), times, 0));
      all.note("seen " + seen_times(all.at("x")), 0);
    }
  return all.lines();
}

// ---- names of all kinds that change places ----

const std::vector<std::string>& kinds_of_files() {
  static const std::vector<std::string> all{"file",   "directory", "full",    "symlink", "fifo",
                                            "socket", "character", "missing", "same"};
  return all;
}

void make_kind(Outcomes& here, const std::string& kind, const std::string& name) {
  const std::string path = here.at(name);
  if (kind == "file") made(path, 0644, kSomebody, kSomebody);
  if (kind == "directory" || kind == "full") made_directory(path, 0755, kSomebody, kSomebody);
  if (kind == "full") made_directory(path + "/in", 0755, kSomebody, kSomebody);
  if (kind == "symlink") (void)!::symlink("nowhere", path.c_str());
  if (kind == "fifo") ::mkfifo(path.c_str(), 0600);
  if (kind == "socket") ::mknod(path.c_str(), S_IFSOCK | 0600, 0);
  if (kind == "character") ::mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 5));
}

std::vector<std::string> renames_of_kinds(const std::string& top) {
  Outcomes all(top);
  Place place(top);
  constexpr std::array<unsigned, 7> kFlags{0,
                                           RENAME_NOREPLACE,
                                           RENAME_EXCHANGE,
                                           RENAME_WHITEOUT,
                                           RENAME_WHITEOUT | RENAME_NOREPLACE,
                                           RENAME_WHITEOUT | RENAME_EXCHANGE,
                                           8};
  for (const unsigned flags : kFlags)
    for (const bool apart : {false, true})
      for (const std::string& from : kinds_of_files())
        for (const std::string& to : kinds_of_files()) {
          if (from == "same") continue;
          Outcomes here = place.next();
          made_directory(here.at("a"), 0777, 0, 0);
          made_directory(here.at("b"), 0777, 0, 0);
          const std::string target = apart ? "b/to" : "a/to";
          make_kind(here, from, "a/from");
          if (to == "same")
            (void)!::link(here.at("a/from").c_str(), here.at(target).c_str());
          else
            make_kind(here, to, target);
          errno = 0;
          all.note("rename " + std::to_string(flags) + (apart ? " apart " : " within ") + from + " to " + to,
                   ::renameat2(AT_FDCWD, here.at("a/from").c_str(), AT_FDCWD, here.at(target).c_str(), flags));
          for (const std::string& name : {std::string("a"), std::string("b"), std::string("a/from"), target})
            here.look(name);
          tell(all, "after", here);
          all.note("into itself",
                   ::renameat2(AT_FDCWD, here.at("a").c_str(), AT_FDCWD, here.at("a/sub").c_str(), flags));
          all.note("link of it", ::link(here.at("a/from").c_str(), here.at("b/link").c_str()));
        }
  return all.lines();
}

// ---- opening and cutting ----

std::vector<std::string> open_flags(const std::string& top) {
  Outcomes all(top);
  Place place(top);
  const std::vector<std::pair<const char*, int>> flags{{"read", O_RDONLY},
                                                       {"write", O_WRONLY},
                                                       {"both", O_RDWR},
                                                       {"three", 3},
                                                       {"truncating read", O_RDONLY | O_TRUNC},
                                                       {"truncating", O_WRONLY | O_TRUNC},
                                                       {"create", O_WRONLY | O_CREAT},
                                                       {"create read", O_RDONLY | O_CREAT},
                                                       {"exclusive", O_WRONLY | O_CREAT | O_EXCL},
                                                       {"directory", O_DIRECTORY},
                                                       {"directory write", O_DIRECTORY | O_WRONLY},
                                                       {"directory create", O_DIRECTORY | O_CREAT},
                                                       {"no follow", O_NOFOLLOW},
                                                       {"path", O_PATH},
                                                       {"path no follow", O_PATH | O_NOFOLLOW},
                                                       {"path directory", O_PATH | O_DIRECTORY},
                                                       {"append", O_WRONLY | O_APPEND},
                                                       {"no atime", O_RDONLY | O_NOATIME},
                                                       {"direct", O_RDONLY | O_DIRECT},
                                                       {"synchronous", O_WRONLY | O_SYNC},
                                                       {"exclusive alone", O_RDONLY | O_EXCL}};
  const std::vector<std::string> paths{
      "file",    "directory", "full",        "symlink",    "fifo",     "socket",       "character",
      "missing", "tofile",    "todirectory", "tomissing",  "file/",    "directory/",   "missing/",
      "tofile/", "file/x",    "directory/x", "tomissing/", "secret/x", "readonly/new", "."};
  for (const uid_t user : {uid_t{0}, kSomebody, kAnother})
    for (const auto& [what, flag] : flags)
      for (const std::string& path : paths) {
        Outcomes here = place.next();
        for (const std::string& kind : kinds_of_files()) make_kind(here, kind, kind);
        (void)!::symlink("file", here.at("tofile").c_str());
        (void)!::symlink("directory", here.at("todirectory").c_str());
        (void)!::symlink("missing", here.at("tomissing").c_str());
        made_directory(here.at("secret"), 0700, 0, 0);
        made(here.at("secret/x"), 0666, 0, 0);
        made_directory(here.at("readonly"), 0555, 0, 0);
        all.as(user, user);
        errno = 0;
        all.note(std::string("open ") + what + " " + path, opened(here.at(path), flag | O_NONBLOCK));
        all.as(0, 0);
        for (const char* left : {"file", "missing"}) here.look(left);
        tell(all, what, here);
      }
  return all.lines();
}

std::vector<std::string> cutting(const std::string& top) {
  Outcomes all(top);
  Place place(top);
  const std::vector<std::int64_t> sizes{0,  1,        4096,      100'000,         5'000'000'000LL,
                                        -1, LONG_MAX, 1LL << 41, (1LL << 41) + 1, (1LL << 42)};
  for (const uid_t user : {uid_t{0}, kSomebody, kAnother})
    for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR, O_PATH})
      for (const std::int64_t size : sizes) {
        Outcomes here = place.next();
        made(here.at("x"), 0644, kSomebody, kSomebody);
        (void)!::truncate(here.at("x").c_str(), 5000);
        const int file = ::open(here.at("x").c_str(), flags);
        all.as(user, user);
        errno = 0;
        all.note("ftruncate " + std::to_string(flags) + " " + std::to_string(size), ::ftruncate(file, size));
        all.note("truncate " + std::to_string(size), ::truncate(here.at("x").c_str(), size));
        all.as(0, 0);
        here.look("x");
        tell(all, "cut", here);
        ::close(file);
      }
  for (const std::string& kind : kinds_of_files()) {
    Outcomes here = place.next();
    make_kind(here, kind, "x");
    all.note("truncate " + kind, ::truncate(here.at("x").c_str(), 5));
    const int file = ::open(here.at("x").c_str(), O_RDONLY | O_NONBLOCK);
    all.note("open " + kind, file);
    all.note("ftruncate " + kind, file < 0 ? 0 : ::ftruncate(file, 5));
    if (file >= 0) ::close(file);
  }
  return all.lines();
}

// ---- chattr ----

int set_flags(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  if (file < 0) return file;
  const int answer = ::ioctl(file, FS_IOC_SETFLAGS, &flags);
  ::close(file);
  return answer;
}

std::string shown_flags(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  int flags = 0;
  fsxattr extended{};
  const int answer = file < 0 ? -1 : ::ioctl(file, FS_IOC_GETFLAGS, &flags);
  std::string text = answer < 0 ? ::strerrorname_np(errno) : std::to_string(flags);
  if (file >= 0 && ::ioctl(file, FS_IOC_FSGETXATTR, &extended) == 0)
    text += " " + std::to_string(extended.fsx_xflags) + " " + std::to_string(extended.fsx_extsize);
  if (file >= 0) ::close(file);
  return text;
}

using Try = std::pair<const char*, std::function<int(const Outcomes&)>>;
std::vector<Try> tries_on_bound_files() {
  return {{"read", [](auto& h) { return opened(h.at("x"), O_RDONLY); }},
          {"write", [](auto& h) { return opened(h.at("x"), O_WRONLY); }},
          {"append", [](auto& h) { return opened(h.at("x"), O_WRONLY | O_APPEND); }},
          {"cut open", [](auto& h) { return opened(h.at("x"), O_WRONLY | O_APPEND | O_TRUNC); }},
          {"truncate", [](auto& h) { return ::truncate(h.at("x").c_str(), 0); }},
          {"chmod", [](auto& h) { return ::chmod(h.at("x").c_str(), 0600); }},
          {"chown", [](auto& h) { return ::chown(h.at("x").c_str(), 1, 1); }},
          {"touch", [](auto& h) { return ::utimensat(AT_FDCWD, h.at("x").c_str(), nullptr, 0); }},
          {"link", [](auto& h) { return ::link(h.at("x").c_str(), h.at("y").c_str()); }},
          {"rename", [](auto& h) { return ::rename(h.at("x").c_str(), h.at("z").c_str()); }},
          {"rename over", [](auto& h) { return ::rename(h.at("other").c_str(), h.at("x").c_str()); }},
          {"create in", [](auto& h) { return opened(h.at("x/new"), O_CREAT | O_WRONLY); }},
          {"mkdir in", [](auto& h) { return ::mkdir(h.at("x/newdir").c_str(), 0700); }},
          {"unlink in", [](auto& h) { return ::unlink(h.at("x/new").c_str()); }},
          {"unlink", [](auto& h) { return ::unlink(h.at("x").c_str()); }},
          {"rmdir", [](auto& h) { return ::rmdir(h.at("x").c_str()); }}};
}

std::vector<std::string> attributes_of_chattr(const std::string& top) {
  Outcomes all(top);
  Place place(top);
  for (const Who& who : everybody())
    for (const char* kind : {"file", "directory", "fifo"})
      // Not 0x4000, data journaling: it takes CAP_SYS_RESOURCE, which root may lack.
      for (const int bit :
           {0x1, 0x2, 0x4, 0x8, 0x10, 0x20, 0x40, 0x80, 0x100, 0x1000, 0x8000, 0x10000, 0x20000, 0x800, 0x1000000}) {
        Outcomes here = place.next();
        make_kind(here, kind, "x");
        all.as(who.user, who.group, who.groups);
        all.note(std::string("set ") + kind + " " + std::to_string(bit), set_flags(here.at("x"), bit));
        all.as(0, 0);
        all.note("shows " + shown_flags(here.at("x")), 0);
        all.note("set both", set_flags(here.at("x"), bit | 0x40));
        all.note("shows " + shown_flags(here.at("x")), 0);
        all.note("set none", set_flags(here.at("x"), 0));
        all.note("shows " + shown_flags(here.at("x")), 0);
      }
  for (const int bit : {0x10, 0x20, 0x40})
    for (const char* kind : {"file", "directory"}) {
      Outcomes here = place.next();
      make_kind(here, kind, "x");
      make_kind(here, "file", "other");
      if (std::string_view(kind) == "directory") make_kind(here, "directory", "x/before");
      set_flags(here.at("x"), bit);
      for (const auto& [what, deed] : tries_on_bound_files()) {
        errno = 0;
        all.note(std::string(what) + " " + kind + " with " + std::to_string(bit), deed(here));
      }
      set_flags(here.at("x"), 0);
      set_flags(here.at("z"), 0);
    }
  Outcomes here = place.next();
  made_directory(here.at("d"), 0777, 0, 0);
  set_flags(here.at("d"), 0x1 | 0x8 | 0x40 | 0x80 | 0x10000 | 0x20000);
  make_kind(here, "file", "d/file");
  make_kind(here, "directory", "d/directory");
  all.note("inherits " + shown_flags(here.at("d/file")), 0);
  all.note("inherits " + shown_flags(here.at("d/directory")), 0);
  return all.lines();
}

// Flags that bind are ours to look at, kinds are looked at before by the kernel in front of us: where a call fails for
// both reasons, the other one is told.
std::string bound_and_of_the_wrong_kind(const std::string& ours, const std::string& kernels) {
  const bool wrong_kind = ours.ends_with("ENOTDIR") || ours.ends_with("EISDIR");
  return wrong_kind && kernels.ends_with("EPERM") && ours.find(" with ") != std::string::npos
             ? "which of two errors is told of a bound file of the wrong kind"
             : "";
}

constexpr const char* kWords = "-t ext3 -N 62000";

TEST(PosixRulesLive, OwnersAndSetIdBits) { expect_the_kernels_answers(&owners_and_bits, kWords); }
TEST(PosixRulesLive, NewFilesOfEveryKind) { expect_the_kernels_answers(&new_files, kWords); }
TEST(PosixRulesLive, StickyDirectories) { expect_the_kernels_answers(&sticky_directories, kWords); }
TEST(PosixRulesLive, LoopsAndOversizedNames) { expect_the_kernels_answers(&long_walks, kWords); }
TEST(PosixRulesLive, TimesThatMayBeSet) { expect_the_kernels_answers(&times_that_may_be_set, kWords); }
TEST(PosixRulesLive, TimesThatAreKept) {
  for (const char* words : {"-t ext3 -I 256", "-t ext3 -I 128"})
    expect_the_kernels_answers(&times_that_are_kept, words);
}
TEST(PosixRulesLive, RenamesOfEveryKind) { expect_the_kernels_answers(&renames_of_kinds, kWords); }
TEST(PosixRulesLive, OpenFlags) { expect_the_kernels_answers(&open_flags, kWords); }
TEST(PosixRulesLive, Cutting) { expect_the_kernels_answers(&cutting, kWords); }
TEST(PosixRulesLive, AttributesOfChattr) {
  expect_the_kernels_answers(&attributes_of_chattr, kWords, &bound_and_of_the_wrong_kind);
}

}  // namespace
}  // namespace iotape::fuse_mount::test
