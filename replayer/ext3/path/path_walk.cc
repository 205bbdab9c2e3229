#include "replayer/ext3/path/path_walk.h"

#include <unistd.h>

#include "replayer/ext3/directory/directory.h"
#include "replayer/ext3/operations/attribute_operations.h"
#include "replayer/ext3/operations/file_operations.h"
#include "replayer/ext3/operations/namespace_operations.h"
#include "replayer/ext3/volume.h"

namespace iotape::ext3 {
namespace {

class Walk {
 public:
  Walk(Volume& volume, const WalkStart& start, LastSymlink last, const Credentials& credentials)
      : volume_(volume), start_(start), last_(last), credentials_(credentials) {}

  Answer<PathEnd> run(std::string_view path) {
    if (path.empty()) return refuse(ENOENT);
    if (path.size() >= kPathLimit) return refuse(ENAMETOOLONG);
    left_ = path;
    EXT3_TRY(begin());
    while (true) {
      const std::string_view component = next();
      if (component.empty()) return end_here();
      EXT3_TRY(enter_directory());
      const bool is_last = left_.find_first_not_of('/') == std::string_view::npos;
      if (component == "." || component == "..") {
        EXT3_TRY(dots(component));
        continue;
      }
      // Too long to be there; that it is too long is said when it is looked for, maybe after something else.
      if (is_last && last_ == LastSymlink::kNever && component.size() > kNameLimit)
        return PathEnd{at_, std::string(component), {}, !left_.empty(), false};
      auto found = look_up(volume_, *at_, component);
      if (!found && found.error().value != ENOENT) return tl::make_unexpected(found.error());
      if (!found && !is_last) return refuse(ENOENT);
      if (found && (*found)->is_symlink() && (!is_last || follows_last())) {
        EXT3_TRY(follow(**found));
        continue;
      }
      if (is_last) {
        PathEnd end{at_, std::string(component), {}, !left_.empty(), false};
        if (found) end.inode = std::move(*found);
        return end;
      }
      at_ = std::move(*found);
    }
  }

 private:
  Answer<void> begin() {
    at_ = start_.current;
    met_root_ = left_.front() == '/';
    return met_root_ ? enter_root() : Answer<void>{};
  }
  Answer<void> enter_root() {
    if (start_.beneath || (start_.no_crossing && !met_root_)) return refuse(EXDEV);
    met_root_ = true;
    at_ = start_.root;
    return {};
  }

  std::string_view next() {
    const std::size_t start = left_.find_first_not_of('/');
    if (start == std::string_view::npos) return {};
    const std::size_t end = left_.find('/', start);
    const std::string_view component = left_.substr(start, end == std::string_view::npos ? end : end - start);
    left_ = end == std::string_view::npos ? std::string_view{} : left_.substr(end);
    return component;
  }

  Answer<void> enter_directory() {
    if (!at_->is_directory()) return refuse(ENOTDIR);
    return check_access(*at_, X_OK, credentials_);
  }

  Answer<void> dots(std::string_view component) {
    if (component == ".") return {};
    met_root_ = true;  // looked at, to see whether it is here
    if (at_.get() == start_.root.get()) return start_.beneath ? Answer<void>(refuse(EXDEV)) : Answer<void>{};
    EXT3_ASSIGN(at_, parent_of(*at_));
    return {};
  }
  Answer<InodeReference> parent_of(Inode& directory) {
    const SleepLockGuard locked(volume_.host, directory.lock);
    if (directory.former_parent != nullptr) return InodeReference(directory.former_parent);
    if (directory.links == 0) return refuse(ENOENT);  // removed before this mount
    EXT3_ASSIGN(const InodeNumber parent, directory_parent(volume_, directory));
    return volume_.inodes->get(parent);
  }

  Answer<void> follow(Inode& symlink) {
    if (++followed_ > kSymlinkLimit || start_.no_symlinks) return refuse(ELOOP);
    EXT3_ASSIGN(std::string target, read_symlink(volume_, symlink));
    EXT3_TRY(touch_access_time(volume_, symlink));
    if (target.empty()) return refuse(ENOENT);
    target.append(left_);
    const bool absolute = target.front() == '/';
    text_ = std::move(target);
    left_ = text_;
    return absolute ? enter_root() : Answer<void>{};
  }

  [[nodiscard]] bool follows_last() const {
    return last_ == LastSymlink::kFollow || (last_ == LastSymlink::kKeep && !left_.empty());
  }

  Answer<PathEnd> end_here() {
    PathEnd end;
    end.inode = at_;
    end.must_be_directory = true;
    end.dots = true;
    return end;
  }

  Volume& volume_;
  const WalkStart& start_;
  LastSymlink last_;
  const Credentials& credentials_;
  InodeReference at_;
  std::string text_;  // what a followed link turned the rest into
  std::string_view left_;
  std::uint32_t followed_ = 0;
  bool met_root_ = false;
};

}  // namespace

Answer<PathEnd> walk_path(Volume& volume, const WalkStart& start, std::string_view path, LastSymlink last,
                          const Credentials& credentials) {
  return Walk(volume, start, last, credentials).run(path);
}

Answer<InodeReference> find_path(Volume& volume, const WalkStart& start, std::string_view path, LastSymlink last,
                                 const Credentials& credentials) {
  EXT3_ASSIGN(PathEnd end, walk_path(volume, start, path, last, credentials));
  if (!end.inode) return refuse(ENOENT);
  if (end.must_be_directory && !end.inode->is_directory()) return refuse(ENOTDIR);
  return std::move(end.inode);
}

}  // namespace iotape::ext3
