// iotape mkfs: an ext3 filesystem in an image, as mke2fs would make it.
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "format/base/units.h"
#include "format/quoting.h"
#include "format/trace_files.h"
#include "replayer/command/filesystem_commands.h"
#include "replayer/command/mkfs_options.h"
#include "replayer/command/traced_image.h"

namespace iotape {
namespace {

using ext3::MadeFilesystem;

std::string uuid_text(const ext3::Uuid& uuid) {
  std::string text = to_hex(std::string_view(reinterpret_cast<const char*>(uuid.data()), uuid.size()));
  for (const std::size_t at : {20, 16, 12, 8}) text.insert(at, "-");
  return text;
}

std::string made_text(const std::string& path, const MadeFilesystem& made) {
  const ext3::Geometry& g = made.geometry;
  const std::uint64_t journal_bytes = std::uint64_t{made.journal_blocks} * g.block_size;
  return fmt::format(
      "{}: {}, {} blocks of {} in {} groups, {} free, {} reserved\n  {} inodes of {} bytes, {}\n  UUID {}\n", path,
      made.features.has_journal ? "ext3" : "ext2", format_count(g.block_count), format_size(g.block_size),
      format_count(g.group_count), format_count(made.free_blocks), format_count(made.reserved_blocks),
      format_count(g.inode_count), g.inode_size,
      made.journal_blocks != 0 ? fmt::format("a journal of {}", format_size(journal_bytes)) : "no journal",
      uuid_text(made.uuid));
}

std::string made_json(const std::string& path, const MadeFilesystem& made, const ext3::FilesystemOptions& options) {
  const ext3::Geometry& g = made.geometry;
  const nlohmann::ordered_json document{{"schema", "iotape.mkfs/1"},
                                        {"image", path},
                                        {"block_size", g.block_size},
                                        {"blocks", g.block_count},
                                        {"free_blocks", made.free_blocks},
                                        {"reserved_blocks", made.reserved_blocks},
                                        {"groups", g.group_count},
                                        {"blocks_per_group", g.blocks_per_group},
                                        {"inode_size", g.inode_size},
                                        {"inodes", g.inode_count},
                                        {"free_inodes", made.free_inodes},
                                        {"inodes_per_group", g.inodes_per_group},
                                        {"journal_blocks", made.journal_blocks},
                                        {"uuid", uuid_text(made.uuid)},
                                        {"seed", options.seed},
                                        {"clock", options.now}};
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<MadeFilesystem> make_traced(ext3::FileDevice& image, const MkfsOptions& options) {
  const std::string command = "mkfs " + file_name_of(options.place.path);
  IOTAPE_ASSIGN(TracedImage traced, TracedImage::begin(image, {options.trace, options.place.force, command}));
  IOTAPE_ASSIGN(MadeFilesystem made, make_filesystem(traced.device(), options.filesystem));
  IOTAPE_TRY(traced.finish());
  return made;
}

}  // namespace

int run_mkfs(CommandCall& call) {
  const Terminal& terminal = *call.terminal;
  int status = kExitOk;
  const auto options = parse_mkfs_options(call, status);
  if (!options) return status;
  if (const auto apart = check_output(options->trace, {options->place.path}); !apart)
    return report_error(terminal, "mkfs", apart.error());
  const bool existed = ::access(options->place.path.c_str(), F_OK) == 0;
  auto device = open_for_new_filesystem(options->place);
  if (!device) return report_error(terminal, "mkfs", device.error());
  const auto made = make_traced(*device, *options);
  if (!made) {
    if (!existed) ::unlink(options->place.path.c_str());
    return report_error(terminal, "mkfs", made.error());
  }
  if (options->json)
    fmt::print(terminal.out, "{}", made_json(options->place.path, *made, options->filesystem));
  else if (!terminal.quiet)
    fmt::print(terminal.out, "{}", made_text(options->place.path, *made));
  if (options->filesystem.features.has_journal && made->journal_blocks == 0 && !terminal.quiet)
    fmt::print(terminal.err, "iotape mkfs: too small for a journal, so it has none\n");
  return kExitOk;
}

}  // namespace iotape
