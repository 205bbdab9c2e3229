// A block device made of a file, and the nameless file below it.
//
// Nothing has to be undone by hand: the file has no name, and the device lets go of it when the last user of the device
// (an open descriptor, a mount) is gone, also when the process was killed.
#pragma once

#include <cstdint>
#include <string>

#include "format/base/file_descriptor.h"
#include "format/base/result.h"
#include "format/base/strong_id.h"

namespace iotape {

class LoopDevice {
 public:
  // A new image of this size in a directory, attached to a free loop device. Needs root.
  static Result<LoopDevice> make(const std::string& directory, std::uint64_t bytes, bool direct);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] DeviceId id() const { return id_; }
  [[nodiscard]] bool direct() const { return direct_; }  // whether it really bypasses the image's cache
  [[nodiscard]] int descriptor() const { return device_.get(); }
  // Forgets what the machine caches of the image.
  void drop_image_cache() const;

 private:
  LoopDevice() = default;
  FileDescriptor image_;
  FileDescriptor device_;
  std::string path_;
  DeviceId id_;
  bool direct_ = false;
};

}  // namespace iotape
