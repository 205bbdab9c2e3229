#include "format/file_identity.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

namespace iotape {
namespace {

constexpr std::array<std::pair<std::uint32_t, FileKind>, 7> kKinds{{{S_IFREG, FileKind::kRegular},
                                                                    {S_IFDIR, FileKind::kDirectory},
                                                                    {S_IFLNK, FileKind::kSymbolicLink},
                                                                    {S_IFIFO, FileKind::kFifo},
                                                                    {S_IFSOCK, FileKind::kSocket},
                                                                    {S_IFCHR, FileKind::kCharacterDevice},
                                                                    {S_IFBLK, FileKind::kBlockDevice}}};

}  // namespace

FileKind file_kind_of_mode(std::uint32_t mode, FileKind otherwise) {
  const auto* found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& kind) { return kind.first == (mode & S_IFMT); });
  return found == kKinds.end() ? otherwise : found->second;
}

}  // namespace iotape
