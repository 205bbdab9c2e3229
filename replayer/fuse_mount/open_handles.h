// OpenHandles: what the kernel has open, so that it can be let go of also when the kernel does not say so any more (a
// connection that was cut). REQUIRES of every call: inside the monitor.
#pragma once

#include <cstdint>
#include <list>

#include "replayer/ext3/inode.h"

namespace iotape::fuse_mount {

template <typename State>
class OpenHandles {
 public:
  struct Handle {
    ext3::InodeReference inode;
    State state;
    typename std::list<Handle>::iterator place;
  };

  // The number by which the kernel will name it.
  std::uint64_t open(const ext3::InodeReference& inode) {
    handles_.push_front({inode, {}, {}});
    handles_.front().place = handles_.begin();
    return reinterpret_cast<std::uint64_t>(&handles_.front());
  }
  static Handle& of(std::uint64_t number) { return *reinterpret_cast<Handle*>(number); }
  // May wait: the last one of a file without a name deletes it.
  void close(std::uint64_t number) { drop(of(number).place); }
  void close_all() {
    while (!handles_.empty()) drop(handles_.begin());
  }

 private:
  // Out of the list first: others come in while the reference goes.
  void drop(typename std::list<Handle>::iterator place) {
    std::list<Handle> going;
    going.splice(going.begin(), handles_, place);
  }

  std::list<Handle> handles_;
};

}  // namespace iotape::fuse_mount
