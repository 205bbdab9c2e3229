#include <algorithm>
#include <string>
#include <vector>

#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/directory/directory_block.h"
#include "replayer/ext3/directory/directory_file.h"
#include "replayer/ext3/directory/htree.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

using Take = std::function<bool(const DirectoryListing&)>;

// The order in which a reader by hash gives names. Equal hashes by name, so that the order does not depend on where
// they lie.
struct NameOrder {
  NameHash hash;
  std::string_view name;
  constexpr auto operator<=>(const NameOrder&) const = default;
};

// The least names after a given one, however many are offered.
class NameSelection {
 public:
  struct Entry {
    NameHash hash;
    InodeNumber inode;
    std::uint8_t file_type = 0;
    std::uint8_t name_length = 0;
    std::uint32_t name_offset = 0;
  };

  void start_after(const NameOrder& start) {
    start_hash_ = start.hash;
    start_name_ = start.name;
    entries_.clear();
    names_.clear();
    more_ = false;
  }
  void offer(const NameOrder& order, InodeNumber inode, std::uint8_t file_type) {
    if (order <= NameOrder{start_hash_, start_name_}) return;
    if (more_ && order >= order_of(entries_[kLimit - 1])) return;
    entries_.push_back({order.hash, inode, file_type, static_cast<std::uint8_t>(order.name.size()),
                        static_cast<std::uint32_t>(names_.size())});
    names_ += order.name;
    if (entries_.size() == 2 * kLimit) cut();
  }
  // In order. more(): there were others beyond the last of them.
  const std::vector<Entry>& sorted() {
    sort();
    if (entries_.size() > kLimit) cut();
    return entries_;
  }
  [[nodiscard]] bool more() const { return more_; }
  [[nodiscard]] NameOrder order_of(const Entry& entry) const {
    return {entry.hash, std::string_view(names_).substr(entry.name_offset, entry.name_length)};
  }

 private:
  static constexpr std::size_t kLimit = 2048;
  void sort() {
    std::sort(entries_.begin(), entries_.end(),
              [this](const Entry& a, const Entry& b) { return order_of(a) < order_of(b); });
  }
  // Keeps the least kLimit, the greatest of them last.
  void cut() {
    sort();
    entries_.resize(kLimit);
    std::string names;
    for (Entry& entry : entries_) {
      const std::string_view name = order_of(entry).name;
      entry.name_offset = static_cast<std::uint32_t>(names.size());
      names += name;
    }
    names_ = std::move(names);
    more_ = true;
  }

  NameHash start_hash_;
  std::string start_name_;
  std::vector<Entry> entries_;
  std::string names_;
  bool more_ = false;
};

bool listable(std::string_view name) {
  return !name.empty() && name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

// What a cookie says, and what is told as one.
class Cookies {
 public:
  explicit Cookies(bool short_ones) : short_(short_ones) {}
  [[nodiscard]] std::uint64_t of(NameHash hash) const {
    return short_ ? hash.major >> 1U : std::uint64_t{hash.major >> 1U} << 32U | hash.minor;
  }
  [[nodiscard]] NameHash hash(std::uint64_t cookie) const {
    if (short_) return {static_cast<std::uint32_t>(cookie) << 1U, 0};
    return {static_cast<std::uint32_t>(cookie >> 32U) << 1U, static_cast<std::uint32_t>(cookie)};
  }
  [[nodiscard]] std::uint64_t end() const { return short_ ? 0x7FFFFFFF : 0x7FFFFFFFFFFFFFFF; }
  [[nodiscard]] bool beyond(std::uint64_t cookie) const { return (short_ ? cookie : cookie >> 32U) >= 0x7FFFFFFF; }

 private:
  bool short_;
};

// One call that reads by hash.
class HashReader {
 public:
  HashReader(Volume& volume, Inode& directory, DirectoryPosition& position, const Take& take)
      : volume_(volume),
        directory_(directory),
        position_(position),
        take_(take),
        cookies_(volume.options.short_cookies),
        hasher_(default_hasher(volume)) {}

  Answer<std::uint64_t> read(std::uint64_t cookie) {
    if (cookies_.beyond(cookie)) return finish();
    seek(cookie);
    if (!uses_index(volume_, directory_)) return read_unindexed();
    EXT3_ASSIGN(IndexState state, open_index(volume_, directory_, path_, hasher_));
    dots_first_ = true;
    if (state == IndexState::kSound) {
      EXT3_ASSIGN(state, descend_index(volume_, directory_, start_hash_.major, path_));
    }
    while (state == IndexState::kSound && !done_) {
      EXT3_ASSIGN(state, read_run());
    }
    if (state == IndexState::kSound) return stopped_ ? position_.cookie : finish();
    ++volume_.damage_count;
    return read_unindexed();
  }

 private:
  void seek(std::uint64_t cookie) {
    if (cookie == position_.cookie && position_.name_length != 0) {
      set_start({position_.last, {position_.name.data(), position_.name_length}});
      return;
    }
    position_.cookie = cookie;
    position_.name_length = 0;
    set_start({cookies_.hash(cookie), {}});
  }
  void set_start(const NameOrder& start) {
    start_hash_ = start.hash;
    start_name_ = start.name;
  }
  Answer<std::uint64_t> finish() {
    position_.cookie = cookies_.end();
    position_.name_length = 0;
    return position_.cookie;
  }

  // Under an index "." and ".." come first, whatever their hashes.
  void offer(std::string_view name, InodeNumber inode, std::uint8_t file_type) {
    if (dots_first_ && (name == "." || name == "..")) {
      selection_.offer({NameHash{name == "." ? 0U : 2U, 0}, name}, inode, file_type);
    } else {
      selection_.offer({hasher_(name), name}, inode, file_type);
    }
  }

  Answer<void> offer_block(const std::byte* block) {
    bool damaged = false;
    const auto offer_record = [&](std::uint32_t offset, const RecordHead& head) {
      if (head.inode == 0) return true;
      const std::string_view name = record_name(block, offset, head);
      damaged = !listable(name);
      if (!damaged) offer(name, InodeNumber(head.inode), volume_.has_filetype() ? head.file_type : 0);
      return !damaged;
    };
    if (!for_each_record(block, volume_.geometry.block_size, offer_record) || damaged)
      return volume_.damaged(directory_.number, "a directory record cannot be");
    return {};
  }

  // Every block as one run: the only block, or all of a directory whose index is damaged.
  Answer<std::uint64_t> read_unindexed() {
    const std::uint32_t blocks = directory_blocks(volume_, directory_);
    do {
      selection_.start_after({start_hash_, start_name_});
      for (std::uint32_t i = 0; i < blocks; ++i) {
        EXT3_ASSIGN(const BufferReference buffer, read_next_block(volume_, directory_, FileBlock(i)));
        if (buffer) EXT3_TRY(offer_block(buffer->data));
      }
    } while (give());
    return stopped_ ? position_.cookie : finish();
  }

  // The leaves that share hashes with the path's, and the path on to the next run.
  Answer<IndexState> read_run() {
    const HtreePath run_start = path_;
    std::optional<std::uint32_t> next;
    do {
      path_ = run_start;
      selection_.start_after({start_hash_, start_name_});
      EXT3_ASSIGN(const IndexState state, offer_run(next));
      if (state == IndexState::kDamaged) return state;
    } while (give());
    done_ = stopped_ || !next;
    if (done_) return IndexState::kSound;
    if (*next <= start_hash_.major) return IndexState::kDamaged;
    set_start({NameHash{*next, 0}, {}});
    return advance_leaf(volume_, directory_, path_);
  }

  Answer<IndexState> offer_run(std::optional<std::uint32_t>& next) {
    for (;;) {
      EXT3_ASSIGN(const bool sound, offer_leaf());
      if (!sound) return IndexState::kDamaged;
      next = next_leaf_hash(path_);
      if (!next || (*next & 1U) == 0) break;
      EXT3_ASSIGN(const IndexState state, advance_leaf(volume_, directory_, path_));
      if (state == IndexState::kDamaged) return state;
    }
    offer_dots(next);
    return IndexState::kSound;
  }

  Answer<bool> offer_leaf() {
    const FileBlock leaf = leaf_of(path_);
    if (leaf.value == 0 || leaf.value >= directory_blocks(volume_, directory_)) return false;
    EXT3_ASSIGN(const BufferReference buffer,
                read_directory_block(volume_, directory_, leaf, BlockCause::kDirectoryLeaf));
    if (!buffer) return false;
    EXT3_TRY(offer_block(buffer->data));
    return true;
  }

  // They lie in the root, and are read with the run that their places are in.
  void offer_dots(const std::optional<std::uint32_t>& run_end) {
    if (start_hash_.major > 2) return;
    const std::byte* const root = path_.frames[0].buffer->data;
    for (const std::string_view name : {".", ".."}) {
      const std::uint32_t place = name == "." ? 0 : 2;
      if (run_end && place >= *run_end) continue;
      const RecordHead head = record_head(root, name == "." ? 0 : kSmallestRecord);
      offer(name, InodeNumber(head.inode), volume_.has_filetype() ? head.file_type : 0);
    }
  }

  // Gives what was selected. True: there is more to select.
  bool give() {
    const std::vector<NameSelection::Entry>& entries = selection_.sorted();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const NameOrder order = selection_.order_of(entries[i]);
      const std::uint64_t cookie = cookies_.of(order.hash);
      // What follows may have the same cookie; what was not selected, too.
      const bool shared = i + 1 < entries.size() ? cookies_.of(entries[i + 1].hash) == cookie : selection_.more();
      const std::uint64_t next_cookie = shared ? cookie : cookie + 1;
      stopped_ = !take_({order.name, entries[i].inode, entries[i].file_type, next_cookie});
      if (stopped_) return false;
      remember(order, next_cookie);
    }
    return selection_.more();
  }
  void remember(const NameOrder& order, std::uint64_t next_cookie) {
    position_.cookie = next_cookie;
    position_.last = order.hash;
    position_.name_length = static_cast<std::uint8_t>(order.name.size());
    std::copy(order.name.begin(), order.name.end(), position_.name.begin());
    set_start(order);
  }

  Volume& volume_;
  Inode& directory_;
  DirectoryPosition& position_;
  const Take& take_;
  Cookies cookies_;
  NameHasher hasher_;
  HtreePath path_;
  NameSelection selection_;
  NameHash start_hash_;
  std::string start_name_;
  bool dots_first_ = false;
  bool stopped_ = false;
  bool done_ = false;
};

// One call that reads as the names lie; a cookie is a position in bytes, and a record between two is passed over.
class BlockReader {
 public:
  BlockReader(Volume& volume, Inode& directory, DirectoryPosition& position, const Take& take)
      : volume_(volume), directory_(directory), position_(position), take_(take) {}

  Answer<std::uint64_t> read(std::uint64_t cookie) {
    const std::uint32_t block_size = volume_.geometry.block_size;
    const std::uint64_t end = std::uint64_t{directory_blocks(volume_, directory_)} * block_size;
    position_.name_length = 0;
    position_.cookie = std::min(cookie, end);
    while (position_.cookie < end) {
      const std::uint64_t block = position_.cookie / block_size;
      EXT3_TRY(read_block(FileBlock(static_cast<std::uint32_t>(block)), position_.cookie % block_size));
      if (stopped_) break;
      position_.cookie = (block + 1) * block_size;
    }
    return position_.cookie;
  }

 private:
  Answer<void> read_block(FileBlock file_block, std::uint64_t from) {
    EXT3_ASSIGN(const BufferReference buffer, read_next_block(volume_, directory_, file_block));
    if (!buffer) return {};
    const std::uint32_t block_size = volume_.geometry.block_size;
    const std::uint64_t base = std::uint64_t{file_block.value} * block_size;
    bool damaged = false;
    const auto give = [&](std::uint32_t offset, const RecordHead& head) {
      if (head.inode == 0 || offset < from) return true;
      const std::string_view name = record_name(buffer->data, offset, head);
      damaged = !listable(name);
      if (damaged) return false;
      const std::uint64_t next = base + offset + head.record_length;
      stopped_ =
          !take_({name, InodeNumber(head.inode), volume_.has_filetype() ? head.file_type : std::uint8_t{0}, next});
      if (!stopped_) position_.cookie = next;
      return !stopped_;
    };
    if (!for_each_record(buffer->data, block_size, give) || damaged)
      return volume_.damaged(directory_.number, "a directory record cannot be");
    return {};
  }

  Volume& volume_;
  Inode& directory_;
  DirectoryPosition& position_;
  const Take& take_;
  bool stopped_ = false;
};

// What the kernel's is_dx_dir says: on a volume with indexes, a single block is read as if it had one.
bool reads_by_hash(const Volume& volume, const Inode& directory) {
  if (!volume.has_dir_index() || !volume.options.htree) return false;
  return directory.has_flag(kInodeIndex) || directory_blocks(volume, directory) == 1;
}

}  // namespace

Answer<std::uint64_t> read_directory(Volume& volume, Inode& directory, DirectoryPosition& position,
                                     std::uint64_t cookie, const Take& take) {
  if (reads_by_hash(volume, directory)) return HashReader(volume, directory, position, take).read(cookie);
  return BlockReader(volume, directory, position, take).read(cookie);
}

Answer<std::uint64_t> read_directory(Volume& volume, Inode& directory, std::uint64_t cookie, const Take& take) {
  DirectoryPosition position;
  return read_directory(volume, directory, position, cookie, take);
}

}  // namespace iotape::ext3
