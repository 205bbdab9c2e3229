#include "tests/ext3/support/volume_image.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <vector>

#include "format/base/file_descriptor.h"

namespace iotape::ext3::test {

using iotape::test::CommandOutput;
using iotape::test::run_program;
using iotape::test::run_shell;
using iotape::test::ScratchDirectory;

TestVolumeImage::TestVolumeImage(std::uint64_t bytes, const FilesystemOptions& options)
    : device_(std::make_unique<MemoryDevice>(bytes)) {
  auto made = make_filesystem(*device_, options);
  if (made)
    made_ = *made;
  else
    ADD_FAILURE() << made.error().message;
}

void TestVolumeImage::save_device(MemoryDevice& device, const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  ASSERT_TRUE(file);
  ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(device.size())), 0);
  device.for_each_written([&](std::uint64_t offset, std::span<const std::byte> bytes) {
    ASSERT_EQ(::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(bytes.size()));
  });
}

CommandOutput TestVolumeImage::e2fsck(MemoryDevice& device) {
  const ScratchDirectory scratch;
  save_device(device, scratch / "image");
  return e2fsck_file(scratch / "image");
}

// A wrong count is answered "Fix? no", and then the exit status is 0.
CommandOutput e2fsck_file(const std::string& path) {
  CommandOutput judged = run_program({"/sbin/e2fsck", "-fn", path});
  constexpr int kUncorrected = 4;
  if (judged.status == 0 && judged.out.find("? no") != std::string::npos) judged.status = kUncorrected;
  return judged;
}

std::unique_ptr<MemoryDevice> load_device(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    ADD_FAILURE() << "cannot open " << path;
    return std::make_unique<MemoryDevice>(0);
  }
  auto device = std::make_unique<MemoryDevice>(static_cast<std::uint64_t>(status.st_size));
  std::vector<std::byte> bytes(1 << 20);
  for (off_t at = ::lseek(file.get(), 0, SEEK_DATA); at >= 0; at = ::lseek(file.get(), at, SEEK_DATA)) {
    const off_t end = ::lseek(file.get(), at, SEEK_HOLE);
    while (at < end) {
      const ssize_t got = ::pread(file.get(), bytes.data(), std::min<std::size_t>(bytes.size(), end - at), at);
      if (got <= 0) break;
      const std::array<IoPart, 1> parts{{{bytes.data(), static_cast<std::uint32_t>(got), {}}}};
      EXPECT_TRUE(device->write(static_cast<std::uint64_t>(at), parts, IoReason::kDemand));
      at += got;
    }
  }
  return device;
}

bool run_mke2fs(const std::string& path, std::uint64_t bytes, const std::string& words) {
  std::filesystem::remove(path);
  const CommandOutput made =
      run_shell(fmt::format("truncate -s {} {} && /sbin/mke2fs -F -q {} {}", bytes, path, words, path));
  if (made.status != 0) ADD_FAILURE() << words << ": " << made.err;
  return made.status == 0;
}

std::string run_debugfs(const std::string& path, const std::vector<std::string>& requests) {
  const ScratchDirectory scratch;
  std::string script;
  for (const std::string& request : requests) script += request + "\n";
  iotape::test::write_file(scratch / "script", script);
  const CommandOutput said = run_program({"/sbin/debugfs", "-w", "-f", scratch / "script", path});
  return said.out + said.err;
}

std::string check_text(BlockDevice& device) {
  const CheckReport report = check_filesystem(device);
  std::string text;
  for (const Problem& problem : report.problems)
    text += fmt::format("{}: {}\n", problem_kind_name(problem.kind), problem.what);
  if (!report.complete) text += "not complete\n";
  return text;
}

}  // namespace iotape::ext3::test
