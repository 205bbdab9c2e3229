// What a traced thread is to the built-in filesystem: its open files, its directories, its rights. Shared between
// threads exactly as the clone flags say.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/inode.h"
#include "replayer/ext3/operations/file_operations.h"
#include "replayer/ext3/path/path_walk.h"

namespace iotape::ext3 {

// What open(2) made; dup(2) and fork(2) share it.
struct OpenFile {
  InodeReference inode;
  std::int64_t flags = 0;    // O_*
  std::uint64_t offset = 0;  // bytes; of a directory: the cookie
  ReadAheadState ahead;
  DirectoryPosition directory;  // where a reader of names stands

  [[nodiscard]] bool readable() const;
  [[nodiscard]] bool writable() const;
};

struct DescriptorSlot {
  std::shared_ptr<OpenFile> file;
  bool close_on_exec = false;
};

// Numbers are given out lowest first, as the kernel does.
class DescriptorTable {
 public:
  // -1 when too many are open.
  int add(std::shared_ptr<OpenFile> file, bool close_on_exec, int lowest = 0);
  void replace(int number, std::shared_ptr<OpenFile> file, bool close_on_exec);
  [[nodiscard]] DescriptorSlot* find(int number);
  // False when it was not open.
  bool close(int number);
  void close_on_exec();
  [[nodiscard]] std::size_t size() const { return slots_.size(); }

 private:
  std::vector<DescriptorSlot> slots_;
  std::size_t lowest_free_ = 0;
};

struct FilesystemView {  // CLONE_FS
  WalkStart start;       // root and working directory
  std::uint32_t umask = 022;
};

struct CallThread {
  std::shared_ptr<DescriptorTable> descriptors;
  std::shared_ptr<FilesystemView> view;
  Credentials credentials;
};

}  // namespace iotape::ext3
