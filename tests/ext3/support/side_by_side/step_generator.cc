#include "tests/ext3/support/side_by_side/step_generator.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>

namespace iotape::ext3::test {
namespace {

constexpr std::size_t kMostOpen = 12;
constexpr std::size_t kMostDirectories = 40;
constexpr std::size_t kMostFiles = 200;
constexpr std::uint32_t kSomebody = 1000;

// What relative paths are relative to is not followed: only absolute ones are learnt.
bool known(const PathArgument& path) {
  return path.directory.number == kAtCurrentDirectory && path.absolute() && !path.bytes.ends_with('/');
}

}  // namespace

StepGenerator::StepGenerator(std::uint64_t seed, const StepMix& mix) : random_(seed), mix_(mix) {
  for (std::size_t i = 0; i < mix.names; ++i) names_.push_back(make_name());
}

std::string StepGenerator::make_name() {
  const std::size_t lengths[] = {1 + below(4), 1 + below(20), 1 + below(255), 1 + below(60), 255};
  std::string name(lengths[below(percent(3) ? 5 : 4)], '\0');
  const bool plain = percent(60);
  for (char& c : name) {
    c = static_cast<char>(plain ? 'a' + below(26) : 1 + below(255));
    if (c == '/') c = '_';
  }
  return name == "." || name == ".." ? "dots" : name;
}

PathArgument StepGenerator::absolute(std::string bytes) const {
  PathArgument path;
  path.bytes = std::move(bytes);
  return path;
}

std::string StepGenerator::odd_path() {
  switch (below(12)) {
    case 0:
      return directory() + "/" + name() + "/";
    case 1:
      return directory() + "/.";
    case 2:
      return directory() + "/" + name() + "/..";
    case 3:
      return "";
    case 4:
      return directory() + "/" + std::string(256 + below(3), 'n');
    case 5:
      return directory() + "//" + name();
    case 6:
      return std::string(4090 + below(10), '/') + name();
    case 7:
      return "/../.." + existing_path();
    case 8:
      return name();  // from the working directory
    case 9:
      return directory() + "/" + name() + "/" + name();
    case 10:
      return "/";
    default:
      return existing_path() + "/" + name();
  }
}

std::string StepGenerator::existing_path() {
  if (files_.empty() || percent(10)) return directory().empty() ? "/" : directory();
  return files_[below(files_.size())];
}

PathArgument StepGenerator::some_path() {
  const std::uint64_t kind = below(100);
  if (kind < 60) return absolute(existing_path());
  if (kind < 88) return absolute(directory() + "/" + name());
  if (kind < 92) return absolute(odd_path());
  PathArgument path = absolute(name());
  path.directory = some_slot(true);
  if (path.directory.number < 0) path.directory.number = kAtCurrentDirectory;
  return path;
}

PathArgument StepGenerator::new_path() { return percent(85) ? absolute(directory() + "/" + name()) : some_path(); }

// Calls without a directory descriptor.
PathArgument StepGenerator::file_path() {
  PathArgument path = some_path();
  path.directory.number = kAtCurrentDirectory;
  return path;
}

Descriptor StepGenerator::some_slot(bool directory) {
  Descriptor descriptor;
  std::vector<std::int32_t> fitting;
  for (const OpenSlot& slot : open_)
    if (slot.is_directory == directory) fitting.push_back(slot.number);
  if (!fitting.empty()) descriptor.number = fitting[below(fitting.size())];
  if (percent(1)) descriptor.number = static_cast<std::int32_t>(kMostOpen + below(5));  // not open
  return descriptor;
}

std::uint64_t StepGenerator::offset() {
  if (percent(3)) return below(mix_.farthest_offset);
  return percent(50) ? below(8000) : below(400'000);
}

// Long past, far ahead, or before what inodes hold. Not after 2310, where e2fsck takes times for old ones.
TimeArgument StepGenerator::time() {
  const auto nanoseconds = static_cast<std::int64_t>(percent(50) ? 0 : below(1'000'000'000));
  switch (below(8)) {
    case 0:
      return {0, UTIME_NOW};
    case 1:
      return {0, UTIME_OMIT};
    case 2:
      return {static_cast<std::int64_t>(below(1'000'000'000)) + 2'200'000'000, nanoseconds};
    case 3:
      return {static_cast<std::int64_t>(below(30'000'000'000)) - 20'000'000'000, nanoseconds};
    case 4:
      return {0, percent(50) ? -1 : 1'000'000'000};
    default:
      return {static_cast<std::int64_t>(below(1'400'000'000)), nanoseconds};
  }
}

Text StepGenerator::attribute_name() {
  static constexpr const char* kOdd[] = {"user.",          "nothing", "security.thing", "other.name", "trusted.t",
                                         "system.unknown", ""};
  if (percent(6)) return Text::of(kOdd[below(std::size(kOdd))]);
  if (percent(2)) return Text::of("user." + std::string(200 + below(60), 'x'));
  return Text::of((percent(85) ? "user.attribute" : "trusted.one") + std::string(1, static_cast<char>('a' + below(6))));
}

Step StepGenerator::next() {
  struct Choice {
    std::uint32_t weight;
    Step (StepGenerator::*draw)();
  };
  const std::uint32_t removals = mix_.fills_up ? 7U : 11U;
  const Choice choices[] = {
      {16, &StepGenerator::open},          {8, &StepGenerator::close},        {removals, &StepGenerator::remove},
      {7, &StepGenerator::rename},         {4, &StepGenerator::link},         {4, &StepGenerator::symlink},
      {6, &StepGenerator::make_directory}, {3, &StepGenerator::make_node},    {5, &StepGenerator::truncate},
      {5, &StepGenerator::seek},           {4, &StepGenerator::look},         {4, &StepGenerator::list},
      {3, &StepGenerator::change_mode},    {3, &StepGenerator::change_owner}, {4, &StepGenerator::set_times},
      {8, &StepGenerator::attribute},      {1, &StepGenerator::process},      {1, &StepGenerator::sync}};
  std::uint32_t whole = 24;
  for (const Choice& choice : choices) whole += choice.weight;
  auto drawn = static_cast<std::uint32_t>(below(whole));
  Step step;
  const Choice* chosen = nullptr;
  for (const Choice& choice : choices) {
    if (chosen == nullptr && drawn < choice.weight) chosen = &choice;
    drawn -= std::min(drawn, choice.weight);
    if (chosen != nullptr) break;
  }
  step = chosen != nullptr ? (this->*chosen->draw)() : read_or_write(percent(65));
  step.fill = random_();
  // Links to others' files are a matter of fs.protected_hardlinks.
  if (percent(6) && !std::holds_alternative<HardLink>(step.operation)) step.user = kSomebody;
  return step;
}

// Always with O_NONBLOCK: nobody is at the other end of a fifo.
Step StepGenerator::open() {
  if (open_.size() >= kMostOpen) return close();
  Open op;
  op.path = percent(50) ? new_path() : some_path();
  op.flags = O_NONBLOCK | static_cast<std::int64_t>(below(3));
  if (percent(60)) op.flags |= O_CREAT;
  for (const std::int64_t flag : {O_EXCL, O_TRUNC, O_APPEND, O_NOFOLLOW, O_DIRECTORY, O_SYNC})
    if (percent(flag == O_SYNC ? 2 : 10)) op.flags |= flag;
  if (percent(2)) op.flags |= O_PATH;
  if (percent(15)) {
    op.path = absolute(directory().empty() ? "/" : directory());
    op.flags = O_RDONLY | O_NONBLOCK | O_DIRECTORY;
  }
  // Without O_CREAT's meaning the pair says EINVAL in newer kernels.
  if ((op.flags & (O_CREAT | O_DIRECTORY)) == (O_CREAT | O_DIRECTORY)) op.flags &= ~std::int64_t{O_DIRECTORY};
  op.mode = static_cast<std::int64_t>(percent(70) ? 0644 : below(010000));
  if (percent(10)) return open_bound(op);
  return {SYS_openat, op};
}

// By openat2: the walk is bound to a directory, or follows no links.
Step StepGenerator::open_bound(Open op) {
  static constexpr std::int64_t kResolves[] = {RESOLVE_BENEATH,
                                               RESOLVE_IN_ROOT,
                                               RESOLVE_NO_SYMLINKS,
                                               RESOLVE_NO_XDEV,
                                               RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
                                               RESOLVE_IN_ROOT | RESOLVE_BENEATH};
  op.resolve = kResolves[below(std::size(kResolves))];
  if ((op.flags & O_CREAT) == 0 && percent(90)) op.mode = 0;
  if (percent(70)) op.path.bytes.erase(0, op.path.bytes.find_first_not_of('/'));
  if (percent(20)) op.path.bytes.insert(0, "../");
  return {SYS_openat2, op};
}

Step StepGenerator::close() {
  Close op;
  op.descriptor = some_slot(percent(20));
  return {SYS_close, op};
}

Step StepGenerator::read_or_write(bool writes) {
  const Descriptor descriptor = some_slot(percent(2));
  const auto length = static_cast<std::int64_t>(percent(60) ? below(5000) : below(mix_.largest_write));
  FilePosition position;
  const bool positioned = percent(70);
  if (positioned) position.value = static_cast<std::int64_t>(offset());
  if (writes) {
    Write op;
    op.descriptor = descriptor;
    op.length = length;
    op.position = position;
    return {static_cast<std::uint32_t>(positioned ? SYS_pwrite64 : SYS_write), op};
  }
  Read op;
  op.descriptor = descriptor;
  op.length = length;
  op.position = position;
  return {static_cast<std::uint32_t>(positioned ? SYS_pread64 : SYS_read), op};
}

Step StepGenerator::seek() {
  static constexpr std::int64_t kWhences[] = {SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE, SEEK_DATA, SEEK_HOLE};
  Seek op;
  op.descriptor = some_slot(false);
  op.whence = kWhences[below(std::size(kWhences))];
  op.offset = static_cast<std::int64_t>(offset()) - (percent(20) ? 5000 : 0);
  return {SYS_lseek, op};
}

Step StepGenerator::truncate() {
  const auto length = static_cast<std::int64_t>(percent(30) ? 0 : offset()) - (percent(1) ? 1 : 0);
  if (percent(50)) {
    TruncateDescriptor op;
    op.descriptor = some_slot(false);
    op.length = length;
    return {SYS_ftruncate, op};
  }
  TruncatePath op;
  op.path = file_path();
  op.length = length;
  return {SYS_truncate, op};
}

Step StepGenerator::sync() {
  if (percent(3)) return {SYS_sync, SyncAll{}};
  Sync op;
  op.descriptor = some_slot(percent(20));
  return {static_cast<std::uint32_t>(percent(50) ? SYS_fsync : SYS_fdatasync), op};
}

Step StepGenerator::look() {
  switch (below(5)) {
    case 0: {
      StatDescriptor op;
      op.descriptor = some_slot(percent(20));
      return {SYS_fstat, op};
    }
    case 1: {
      CheckAccess op;
      op.path = some_path();
      op.mode = static_cast<std::int64_t>(below(8));
      op.flags = AT_EACCESS;
      return {439, op};
    }
    case 2: {
      ReadLink op;
      op.path = some_path();
      op.length = percent(90) ? 4096 : static_cast<std::int64_t>(below(10));
      return {SYS_readlinkat, op};
    }
    default: {
      StatPath op;
      op.path = some_path();
      op.flags = percent(50) ? AT_SYMLINK_NOFOLLOW : 0;
      return {SYS_newfstatat, op};
    }
  }
}

Step StepGenerator::rename() {
  Rename op;
  op.from = percent(90) ? absolute(existing_path()) : some_path();
  op.to = percent(50) ? new_path() : some_path();
  const std::uint64_t kind = below(10);
  if (kind == 0) op.flags = RENAME_NOREPLACE;
  if (kind == 1) op.flags = RENAME_EXCHANGE;
  if (kind == 2 && percent(20)) op.flags = RENAME_NOREPLACE | RENAME_EXCHANGE;
  if (kind == 3) op.flags = RENAME_WHITEOUT | (percent(30) ? RENAME_NOREPLACE : 0);
  return {SYS_renameat2, op};
}

Step StepGenerator::link() {
  HardLink op;
  op.existing = some_path();
  op.created = new_path();
  op.flags = percent(20) ? AT_SYMLINK_FOLLOW : 0;
  return {SYS_linkat, op};
}

Step StepGenerator::symlink() {
  SymbolicLink op;
  switch (below(4)) {
    case 0:
      op.target = Text::of(name());
      break;
    case 1:
      op.target = Text::of(existing_path());
      break;
    case 2:
      op.target = Text::of(std::string(55 + below(8), 't'));
      break;
    default:
      op.target = Text::of(percent(30) ? std::string(1000 + below(3200), 'l') : "../" + name());
      break;
  }
  op.created = new_path();
  return {SYS_symlinkat, op};
}

Step StepGenerator::remove() {
  Unlink op;
  op.path = some_path();
  if (percent(35)) op.path = absolute(directory().empty() ? "/nothing" : directory());
  op.flags = percent(35) ? AT_REMOVEDIR : 0;
  return {SYS_unlinkat, op};
}

Step StepGenerator::make_directory() {
  MakeDirectory op;
  op.path = new_path();
  op.mode = static_cast<std::int64_t>(percent(80) ? 0755 : below(010000));
  return {SYS_mkdirat, op};
}

Step StepGenerator::make_node() {
  static constexpr std::int64_t kTypes[] = {S_IFIFO, S_IFCHR, S_IFBLK, S_IFSOCK, S_IFREG, 0};
  MakeNode op;
  op.path = new_path();
  op.mode = kTypes[below(std::size(kTypes))] | static_cast<std::int64_t>(below(010000));
  const bool small = percent(50);
  op.device = static_cast<std::int64_t>(gnu_dev_makedev(static_cast<unsigned>(below(small ? 256 : 4096)),
                                                        static_cast<unsigned>(below(small ? 256 : 1 << 20))));
  return {SYS_mknodat, op};
}

Step StepGenerator::list() {
  ReadDirectory op;
  op.descriptor = some_slot(true);
  op.length = static_cast<std::int64_t>(percent(50) ? 32 << 10 : 24 + below(2000));
  if (percent(30)) {
    Seek rewind;
    rewind.descriptor = op.descriptor;
    rewind.offset = 0;
    rewind.whence = SEEK_SET;
    return {SYS_lseek, rewind};
  }
  return {SYS_getdents64, op};
}

Step StepGenerator::change_mode() {
  const auto mode = static_cast<std::int64_t>(percent(50) ? 0755 : below(010000));
  if (percent(30)) {
    ChangeModeDescriptor op;
    op.descriptor = some_slot(percent(20));
    op.mode = mode;
    return {SYS_fchmod, op};
  }
  ChangeModePath op;
  op.path = some_path();
  op.mode = mode;
  return {SYS_fchmodat, op};
}

Step StepGenerator::change_owner() {
  static constexpr std::int64_t kOwners[] = {-1, 0, kSomebody, 65'535, 65'536, 70'000, 4'000'000'000};
  const std::int64_t user = kOwners[below(std::size(kOwners))];
  const std::int64_t group = kOwners[below(std::size(kOwners))];
  if (percent(30)) {
    ChangeOwnerDescriptor op;
    op.descriptor = some_slot(percent(20));
    op.user = user;
    op.group = group;
    return {SYS_fchown, op};
  }
  ChangeOwnerPath op;
  op.path = some_path();
  op.user = user;
  op.group = group;
  op.flags = percent(50) ? AT_SYMLINK_NOFOLLOW : 0;
  return {SYS_fchownat, op};
}

Step StepGenerator::set_times() {
  SetTimes op;
  op.path = some_path();
  op.now = percent(10);
  op.access = time();
  op.modification = time();
  op.flags = percent(50) ? AT_SYMLINK_NOFOLLOW : 0;
  return {SYS_utimensat, op};
}

Step StepGenerator::attribute() {
  const bool follows = percent(50);
  const std::uint64_t kind = below(10);
  if (kind < 6) {
    SetXattrPath op;
    op.path = file_path();
    op.name = attribute_name();
    const std::uint64_t sizes[] = {below(20), below(100), below(1000), below(mix_.largest_attribute)};
    op.size = static_cast<std::int64_t>(percent(1) ? 65'537 : sizes[below(std::size(sizes))]);
    op.flags = percent(15) ? XATTR_CREATE : percent(15) ? XATTR_REPLACE : 0;
    return {static_cast<std::uint32_t>(follows ? SYS_setxattr : SYS_lsetxattr), op};
  }
  if (kind < 8) {
    RemoveXattrPath op;
    op.path = file_path();
    op.name = attribute_name();
    return {static_cast<std::uint32_t>(follows ? SYS_removexattr : SYS_lremovexattr), op};
  }
  QueryXattrPath op;
  op.path = file_path();
  op.name = attribute_name();
  op.size = percent(80) ? 65'536 : static_cast<std::int64_t>(below(300));
  const bool lists = kind == 9;
  if (lists) return {static_cast<std::uint32_t>(follows ? SYS_listxattr : SYS_llistxattr), op};
  return {static_cast<std::uint32_t>(follows ? SYS_getxattr : SYS_lgetxattr), op};
}

Step StepGenerator::process() {
  switch (below(3)) {
    case 0: {
      SetFileCreationMask op;
      op.mask = static_cast<std::int64_t>(percent(70) ? 022 : below(01000));
      return {SYS_umask, op};
    }
    case 1: {
      ChangeDirectoryPath op;
      op.path = absolute(directory().empty() ? "/" : directory());
      return {SYS_chdir, op};
    }
    default: {
      GetWorkingDirectory op;
      op.length = percent(80) ? 4096 : static_cast<std::int64_t>(below(40));
      return {SYS_getcwd, op};
    }
  }
}

// ---- what became of it ----

void StepGenerator::learn_made(const std::string& path, bool directory) {
  std::vector<std::string>& list = directory ? directories_ : files_;
  const std::size_t most = directory ? kMostDirectories : kMostFiles;
  if (list.size() < most)
    list.push_back(path);
  else if (!directory || path.size() < 1500)
    list[1 + below(list.size() - 1)] = path;
}

void StepGenerator::learn_removed(const std::string& path) {
  std::erase(files_, path);
  if (!path.empty()) std::erase(directories_, path);
}

void StepGenerator::learn(const Step& step, const StepOutcome& outcome) {
  if (!outcome.ok()) return;
  if (const auto* opened = std::get_if<Open>(&step.operation)) {
    open_.push_back({static_cast<std::int32_t>(outcome.value), outcome.opened_directory});
    if ((opened->flags & O_CREAT) != 0 && known(opened->path)) learn_made(opened->path.bytes, false);
  }
  if (const auto* closed = std::get_if<Close>(&step.operation))
    std::erase_if(open_, [&](const OpenSlot& slot) { return slot.number == closed->descriptor.number; });
  if (const auto* made = std::get_if<MakeDirectory>(&step.operation); made != nullptr && known(made->path))
    learn_made(made->path.bytes, true);
  if (const auto* made = std::get_if<MakeNode>(&step.operation); made != nullptr && known(made->path))
    learn_made(made->path.bytes, false);
  if (const auto* made = std::get_if<SymbolicLink>(&step.operation); made != nullptr && known(made->created))
    learn_made(made->created.bytes, false);
  if (const auto* made = std::get_if<HardLink>(&step.operation); made != nullptr && known(made->created))
    learn_made(made->created.bytes, false);
  if (const auto* removed = std::get_if<Unlink>(&step.operation); removed != nullptr && known(removed->path))
    learn_removed(removed->path.bytes);
  const auto* renamed = std::get_if<Rename>(&step.operation);
  if (renamed == nullptr || !known(renamed->from) || !known(renamed->to) || renamed->flags == RENAME_EXCHANGE) return;
  const bool directory = std::find(directories_.begin(), directories_.end(), renamed->from.bytes) != directories_.end();
  learn_removed(renamed->from.bytes);
  learn_made(renamed->to.bytes, directory);
}

}  // namespace iotape::ext3::test
