// NameSpace: which names led to which files, as the trace's calls made and removed them.
//
// A path string is no identity: directories are renamed, names are reused, calls are relative to descriptors. So names
// are entries (directory, name) -> file, files are found by the identity the recorder saw, and a path is only computed
// when one is needed. The same pass that follows the calls learns what must have existed before the first of them:
// every file remembers under which directory and name it was first met.
//
// Size: one record per file and one entry per name; nothing grows with the number of calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/event.h"
#include "replayer/engine/growing_table.h"

namespace iotape {

using FileIndex = StrongId<struct FileIndexTag, std::uint32_t>;
inline constexpr FileIndex kNoFile{0xFFFFFFFFU};
inline constexpr FileIndex kTopDirectory{0};  // "/" of the initial mount namespace

// Whether a file was there before the first call.
enum class Origin : std::uint8_t {
  kUnknown,
  kExisted,
  kCreated,  // by the trace, or inside something the trace created
  kVoid,     // this record turned out to be another file; it stands for nothing
};

// Facts about a file as it was before the run, and how good each is.
struct InitialFacts {
  StateSource source = StateSource::kInferred;
  Nanoseconds first_seen;
  std::optional<std::uint64_t> size;
  std::optional<std::uint32_t> mode;
  std::optional<std::uint32_t> user;
  std::optional<std::uint32_t> group;
  std::optional<std::int64_t> modification_time;
  std::optional<std::uint64_t> special_device;
  std::optional<std::string> link_target;
  std::optional<std::uint64_t> directory_position;
  std::vector<std::pair<std::string, std::string>> xattrs;
};

struct FileRecord {
  FileReference reference;  // identity, when the recorder showed it
  Origin origin = Origin::kUnknown;
  bool content_changed = false;  // by the trace: later sizes are not initial ones
  bool mount_point = false;
  bool pseudo = false;       // lies at the top of proc, sysfs, ...
  bool provisional = false;  // met by a state event only: the call that follows may have created it
  bool replay_root = false;  // set by ReplayRoots
  FileIndex parent = kNoFile;
  FileIndex initial_parent = kNoFile;
  std::string name;  // current, one of them for hard links
  std::string initial_name;
  std::uint64_t minimum_size = 0;  // what reads prove of the initial size
  std::uint64_t written_end = 0;   // the furthest byte the trace wrote
  std::unique_ptr<InitialFacts> facts;
  std::unique_ptr<std::string> current_link_target;

  [[nodiscard]] bool directory() const { return reference.kind == FileKind::kDirectory; }
};

struct InitialLink {  // a further name a file had before the run
  FileIndex file;
  FileIndex directory;
  std::string name;
};

// How a path was resolved.
struct Resolution {
  FileIndex directory = kNoFile;  // where the last component lies; kNoFile when the start is unknown
  std::string name;               // the last component; empty when the path names a directory itself (".", "..", "/")
  FileIndex file = kNoFile;       // what is there, as far as known
  std::string unresolved;         // from the first component that is not known to exist; includes the last one
  bool left_root = false;         // some step climbed out of a replay root
  bool absolute_link = false;     // some step followed a symbolic link to an absolute path
  bool trailing_slash = false;
  bool loop = false;  // too many symbolic links
};

struct ResolveRequest {
  FileIndex start = kTopDirectory;
  FileIndex process_root = kTopDirectory;
  std::string_view bytes;
  bool follow_last = true;
  bool create_directories = false;  // the call succeeded, so every directory on the way existed
};

class NameSpace {
 public:
  NameSpace();

  [[nodiscard]] FileRecord& record(FileIndex file) { return files_[file.value]; }
  [[nodiscard]] const FileRecord& record(FileIndex file) const { return files_[file.value]; }
  [[nodiscard]] std::size_t size() const { return files_.size(); }
  [[nodiscard]] const std::vector<InitialLink>& initial_links() const { return initial_links_; }

  // By identity; kNoFile when it was never met. A reference of unknown kind finds nothing.
  [[nodiscard]] FileIndex find(const FileReference& reference) const;
  // By identity, making a file without a place in the tree when it was never met.
  FileIndex find_or_float(const FileReference& reference);
  // Where directories without a place stand; kNoFile while there are none.
  [[nodiscard]] FileIndex unplaced() const;
  [[nodiscard]] FileIndex child(FileIndex directory, std::string_view name) const;

  // A file met at (directory, name) for which no identity is known yet.
  FileIndex add(FileIndex directory, std::string_view name, FileKind kind, Origin origin);
  // Says that (directory, name) leads to the file of this identity; joins it with what was known of either. origin is
  // what the caller knows of a file not met before.
  FileIndex bind(FileIndex directory, std::string_view name, const FileReference& reference, Origin origin);
  // Gives an identity to a file that was so far known by its place only.
  void identify(FileIndex file, const FileReference& reference) { set_reference(file, reference); }
  void mark_existed(FileIndex file);
  void mark_created(FileIndex file);

  void remove_entry(FileIndex directory, std::string_view name);
  void link(FileIndex directory, std::string_view name, FileIndex file);
  void rename(FileIndex from, std::string_view from_name, FileIndex to, std::string_view to_name);
  void exchange(FileIndex from, std::string_view from_name, FileIndex to, std::string_view to_name);

  [[nodiscard]] Resolution resolve(const ResolveRequest& request);
  // Absolute path today; empty for a file without a place in the tree.
  [[nodiscard]] std::string path(FileIndex file) const;
  // The mount point the file lies under.
  [[nodiscard]] FileIndex mount_of(FileIndex file) const;
  // Makes (or finds) the directory at an absolute path, every part of it taken as existing.
  FileIndex place(std::string_view absolute_path, FileKind kind);

  // The same files as they were before the first call: the start of the second pass.
  [[nodiscard]] NameSpace rewound() const;

 private:
  struct EntryKey {
    std::uint32_t directory;
    std::string name;
  };
  struct EntryView {
    std::uint32_t directory;
    std::string_view name;
  };
  struct EntryHash {
    using is_transparent = void;
    std::size_t operator()(const EntryKey& key) const { return (*this)(EntryView{key.directory, key.name}); }
    std::size_t operator()(const EntryView& key) const {
      constexpr std::size_t kOdd = 0x9E3779B97F4A7C15ULL;
      return (std::hash<std::string_view>{}(key.name) ^ key.directory) * kOdd;
    }
  };
  struct EntryEqual {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const { return a.directory == b.directory && a.name == b.name; }
  };

  struct Walk;
  void set_entry(FileIndex directory, std::string_view name, FileIndex file);
  void set_reference(FileIndex file, const FileReference& reference);
  FileIndex bind_created(FileIndex directory, std::string_view name, const FileReference& reference);
  FileIndex join(FileIndex directory, std::string_view name, FileIndex known, FileIndex here, Origin origin);
  bool step(Walk& walk, std::string_view component, bool last);
  bool follow(Walk& walk, FileIndex link, bool last);

  GrowingTable<FileRecord> files_;
  std::unordered_map<EntryKey, FileIndex, EntryHash, EntryEqual> entries_;
  std::unordered_map<FileIdentity, FileIndex> by_identity_;
  std::vector<InitialLink> initial_links_;
};

}  // namespace iotape
