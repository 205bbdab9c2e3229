// The errno of every call that POSIX gives rules for, asked of a mount of ours and of the kernel's own ext3: the same
// answers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuse_mount/support/fuse_mount.h"
#include "tests/fuse_mount/support/outcomes.h"

namespace iotape::fuse_mount::test {
namespace {

using Call = std::pair<const char*, std::function<int(const std::string&)>>;

std::vector<Call> calls_on_one_path() {
  return {
      {"open read", [](auto& p) { return ::close(::open(p.c_str(), O_RDONLY | O_NONBLOCK)); }},
      {"open write",
       [](auto& p) {
         const int f = ::open(p.c_str(), O_RDWR | O_NONBLOCK);
         return f < 0 ? f : ::close(f);
       }},
      {"open creat excl",
       [](auto& p) {
         const int f = ::open(p.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
         return f < 0 ? f : ::close(f);
       }},
      {"open directory",
       [](auto& p) {
         const int f = ::open(p.c_str(), O_DIRECTORY);
         return f < 0 ? f : ::close(f);
       }},
      {"open nofollow",
       [](auto& p) {
         const int f = ::open(p.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
         return f < 0 ? f : ::close(f);
       }},
      {"stat",
       [](auto& p) {
         struct stat s {};
         return ::stat(p.c_str(), &s);
       }},
      {"chmod", [](auto& p) { return ::chmod(p.c_str(), 0640); }},
      {"chmod special", [](auto& p) { return ::chmod(p.c_str(), 06750); }},
      {"chown", [](auto& p) { return ::chown(p.c_str(), kSomebody, kAGroup); }},
      {"lchown group", [](auto& p) { return ::lchown(p.c_str(), static_cast<uid_t>(-1), kAGroup); }},
      {"chown nothing", [](auto& p) { return ::chown(p.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(-1)); }},
      {"truncate", [](auto& p) { return ::truncate(p.c_str(), 77); }},
      {"truncate negative", [](auto& p) { return ::truncate(p.c_str(), -1); }},
      {"truncate huge", [](auto& p) { return ::truncate(p.c_str(), LONG_MAX); }},
      {"utimens now", [](auto& p) { return ::utimensat(AT_FDCWD, p.c_str(), nullptr, 0); }},
      {"utimens given",
       [](auto& p) {
         const timespec t[2] = {{1, 2}, {3, 4}};
         return ::utimensat(AT_FDCWD, p.c_str(), t, AT_SYMLINK_NOFOLLOW);
       }},
      {"utimens omit",
       [](auto& p) {
         const timespec t[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
         return ::utimensat(AT_FDCWD, p.c_str(), t, 0);
       }},
      {"mkdir", [](auto& p) { return ::mkdir(p.c_str(), 0751); }},
      {"mkfifo", [](auto& p) { return ::mkfifo(p.c_str(), 0644); }},
      {"mknod", [](auto& p) { return ::mknod(p.c_str(), S_IFCHR | 0600, makedev(300, 70000)); }},
      {"symlink", [](auto& p) { return ::symlink("target", p.c_str()); }},
      {"readlink",
       [](auto& p) {
         char b[300];
         return static_cast<int>(::readlink(p.c_str(), b, sizeof b));
       }},
      {"setxattr user", [](auto& p) { return ::lsetxattr(p.c_str(), "user.a", "v", 1, 0); }},
      {"getxattr user",
       [](auto& p) {
         char b[9];
         return static_cast<int>(::lgetxattr(p.c_str(), "user.a", b, sizeof b));
       }},
      {"getxattr short",
       [](auto& p) {
         char b[1];
         ::lsetxattr(p.c_str(), "user.b", "long", 4, 0);
         return static_cast<int>(::lgetxattr(p.c_str(), "user.b", b, 1));
       }},
      {"setxattr create", [](auto& p) { return ::lsetxattr(p.c_str(), "user.a", "v", 1, XATTR_CREATE); }},
      {"removexattr", [](auto& p) { return ::lremovexattr(p.c_str(), "user.none"); }},
      {"rmdir", [](auto& p) { return ::rmdir(p.c_str()); }},
      {"unlink", [](auto& p) { return ::unlink(p.c_str()); }},
  };
}

std::vector<std::string> hard_paths() {
  const std::string longest(NAME_MAX, 'n');
  return {"file",        "dir",       "full",         "link",        "dangling",   "loop1",
          "fifo",        "missing",   "file/x",       "missing/x",   "dir/.",      "dir/..",
          "full/.",      "link/",     "file/",        "missing/",    "loop1/x",    longest,
          longest + "n", "private/x", "sticky/roots", "sticky/mine", "readonly/x", "setgid/x",
          "noexec/file", ""};
}

void lay_out(const Outcomes& out) {
  ::umask(0);
  const auto make = [&](const char* name, mode_t mode, uid_t owner) {
    ::close(::open(out.at(name).c_str(), O_CREAT | O_WRONLY, 0600));
    (void)!::chown(out.at(name).c_str(), owner, owner);
    ::chmod(out.at(name).c_str(), mode);
  };
  const auto make_directory = [&](const char* name, mode_t mode, uid_t owner) {
    ::mkdir(out.at(name).c_str(), 0700);
    (void)!::chown(out.at(name).c_str(), owner, owner);
    ::chmod(out.at(name).c_str(), mode);
  };
  make("file", 0644, kSomebody);
  make_directory("dir", 0755, kSomebody);
  make_directory("full", 0777, 0);
  make("full/x", 0600, 0);
  (void)!::symlink("file", out.at("link").c_str());
  (void)!::symlink("nowhere", out.at("dangling").c_str());
  (void)!::symlink("loop2", out.at("loop1").c_str());
  (void)!::symlink("loop1", out.at("loop2").c_str());
  ::mkfifo(out.at("fifo").c_str(), 0644);
  make_directory("private", 0700, 0);
  make("private/x", 0666, 0);
  make_directory("sticky", 01777, 0);
  make("sticky/roots", 0666, 0);
  make("sticky/mine", 0666, kSomebody);
  make_directory("readonly", 0555, 0);
  make_directory("setgid", 02777, 0);
  (void)!::chown(out.at("setgid").c_str(), 0, kAGroup);
  ::chmod(out.at("setgid").c_str(), 02777);
  make_directory("noexec", 0644, 0);
  make("noexec/file", 0666, 0);
}

// Every call on every path, the tree laid out anew for each, by root and by somebody.
void try_single_paths(Outcomes& all, const std::string& top) {
  int number = 0;
  for (const uid_t user : {uid_t{0}, kSomebody}) {
    for (const auto& [what, call] : calls_on_one_path()) {
      const std::string place = top + "/s" + std::to_string(number++);
      ::mkdir(place.c_str(), 0777);
      ::chmod(place.c_str(), 0777);
      Outcomes here(place);
      lay_out(here);
      all.as(user, user);
      for (const std::string& path : hard_paths()) {
        errno = 0;
        all.note(std::string(what) + " " + path.substr(0, 20), call(path.empty() ? "" : here.at(path)));
      }
      all.as(0, 0);
      for (const char* left : {"file", "dir", "link", "missing", "setgid/x", "sticky/mine"}) {
        Outcomes seen(place);
        seen.look(left);
        all.note(std::string(what) + " leaves " + seen.lines().back(), 0);
      }
    }
  }
}

void try_pairs(Outcomes& all, const std::string& top) {
  using Pair = std::pair<const char*, std::function<int(const char*, const char*)>>;
  const auto renames = [](unsigned flags) {
    return [flags](const char* a, const char* b) { return ::renameat2(AT_FDCWD, a, AT_FDCWD, b, flags); };
  };
  const std::vector<Pair> calls{{"rename", renames(0)},
                                {"rename noreplace", renames(RENAME_NOREPLACE)},
                                {"rename exchange", renames(RENAME_EXCHANGE)},
                                {"link", [](auto a, auto b) { return ::link(a, b); }}};
  const std::vector<std::string> paths{"file",       "dir",     "full",   "link",         "missing",
                                       "missing/x",  "dir/sub", "full/x", "sticky/roots", "sticky/mine",
                                       "readonly/x", "file/x",  "dir/.",  "dir/.."};
  int number = 0;
  for (const uid_t user : {uid_t{0}, kSomebody}) {
    for (const auto& [what, call] : calls) {
      for (const std::string& from : paths) {
        for (const std::string& to : paths) {
          const std::string place = top + "/p" + std::to_string(number++);
          ::mkdir(place.c_str(), 0777);
          ::chmod(place.c_str(), 0777);
          Outcomes here(place);
          lay_out(here);
          all.as(user, user);
          errno = 0;
          all.note(std::string(what) + " " + from + " " + to, call(here.at(from).c_str(), here.at(to).c_str()));
          all.as(0, 0);
          for (const std::string& left : {from, to}) {
            Outcomes seen(place);
            seen.look(left);
            all.note(seen.lines().back(), 0);
          }
        }
      }
    }
  }
}

void try_times(Outcomes& all, const std::string& top) {
  Outcomes here(top + "/t");
  ::mkdir(here.at("").c_str(), 0777);
  lay_out(here);
  const std::string file = here.at("file");
  const auto on = [&](const char* what, const char* name, const std::function<void()>& call) {
    here.changed_times(what, name, call);
  };
  on("chmod", "file", [&] { ::chmod(file.c_str(), 0600); });
  on("chown", "file", [&] { (void)!::chown(file.c_str(), 1, 1); });
  on("chown of nothing", "file", [&] { (void)!::chown(file.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(-1)); });
  on("link", "file", [&] { (void)!::link(file.c_str(), here.at("second").c_str()); });
  on("link", ".", [&] { (void)!::link(file.c_str(), here.at("third").c_str()); });
  on("unlink", "file", [&] { ::unlink(here.at("second").c_str()); });
  on("rename", "moved", [&] { ::rename(here.at("third").c_str(), here.at("moved").c_str()); });
  on("rename", "file", [&] { ::rename(here.at("moved").c_str(), here.at("moved2").c_str()); });
  on("truncate", "file", [&] { (void)!::truncate(file.c_str(), 100); });
  on("truncate to the same", "file", [&] { (void)!::truncate(file.c_str(), 100); });
  on("open with O_TRUNC", "file", [&] { ::close(::open(file.c_str(), O_WRONLY | O_TRUNC)); });
  on("open with O_TRUNC of an empty file", "file", [&] { ::close(::open(file.c_str(), O_WRONLY | O_TRUNC)); });
  on("write", "file", [&] {
    const int f = ::open(file.c_str(), O_WRONLY);
    (void)!::write(f, "x", 1);
    ::close(f);
  });
  on("write of nothing", "file", [&] {
    const int f = ::open(file.c_str(), O_WRONLY);
    (void)!::write(f, "x", 0);
    ::close(f);
  });
  on("setxattr", "file", [&] { ::setxattr(file.c_str(), "user.t", "v", 1, 0); });
  on("mkdir", "dir", [&] { ::mkdir(here.at("dir/sub").c_str(), 0700); });
  on("rmdir", "dir", [&] { ::rmdir(here.at("dir/sub").c_str()); });
  on("rename out of it", "full", [&] { ::rename(here.at("full/x").c_str(), here.at("y").c_str()); });
  on("read", "file", [&] { iotape::test::read_file(file); });
  for (const std::string& line : here.lines()) all.note(line, 0);
}

// The bits that go when somebody else than root writes.
void try_set_id_bits(Outcomes& all, const std::string& top) {
  for (const mode_t mode : {06777U, 02766U, 04777U}) {
    for (const char* how : {"write", "truncate", "chown"}) {
      Outcomes here(top);
      const std::string file = here.at("setid");
      ::close(::open(file.c_str(), O_CREAT | O_WRONLY, 0600));
      (void)!::chown(file.c_str(), kSomebody, kSomebody);
      ::chmod(file.c_str(), mode);
      all.as(kSomebody, kSomebody);
      if (std::string_view(how) == "write") {
        const int f = ::open(file.c_str(), O_WRONLY);
        (void)!::write(f, "x", 1);
        ::close(f);
      } else if (std::string_view(how) == "truncate") {
        (void)!::truncate(file.c_str(), 5);
      } else {
        (void)!::chown(file.c_str(), kSomebody, kSomebody);
      }
      all.as(0, 0);
      here.look("setid");
      all.note(std::string(how) + " " + here.lines().back(), 0);
      ::unlink(file.c_str());
    }
  }
}

std::vector<std::string> outcomes_on(const std::string& top) {
  ::chmod(top.c_str(), 0777);
  Outcomes all(top);
  try_single_paths(all, top);
  try_pairs(all, top);
  try_times(all, top);
  try_set_id_bits(all, top);
  return all.lines();
}

TEST(PosixLive, EveryCallAnswersAsOnTheKernelsExt3) { expect_the_kernels_answers(&outcomes_on, "-t ext3 -N 60000"); }

}  // namespace
}  // namespace iotape::fuse_mount::test
