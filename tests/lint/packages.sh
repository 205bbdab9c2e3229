#!/usr/bin/env bash
# setup.sh installs whatever the build files look for and whatever programs the tests and scripts call.
. "$(dirname "${BASH_SOURCE[0]}")/lint.sh"

listed=$(./setup.sh --list | awk '{print $2}')
wants() { # WHERE WHAT PACKAGE...
  local where=$1 what=$2 package
  shift 2
  for package in "$@"; do
    grep -qxF "$package" <<<"$listed" || finding "$where: needs $what, and setup.sh lists no $package"
  done
}

# What CMake looks for -> the packages that bring it.
package_of_cmake() {
  case $1 in
    PkgConfig) echo pkg-config ;;
    Protobuf) echo protobuf-compiler libprotobuf-dev ;;
    fmt) echo libfmt-dev ;;
    CLI11) echo libcli11-dev ;;
    PNG) echo libpng-dev ;;
    ZLIB) echo zlib1g-dev ;;
    GTest) echo libgtest-dev libgmock-dev ;;
    benchmark) echo libbenchmark-dev ;;
    nlohmann_json) echo nlohmann-json3-dev ;;
    tl-expected) echo libexpected-dev ;;
    Threads) echo g++ ;;
    libzstd) echo libzstd-dev ;;
    libxxhash) echo libxxhash-dev ;;
    libbpf) echo libbpf-dev ;;
    libbcc | libbcc_bpf) echo libbpfcc-dev ;;
    libelf) echo libelf-dev ;;
    zlib) echo zlib1g-dev ;;
    libpng) echo libpng-dev ;;
    fuse3) echo libfuse3-dev ;;
    Boost) echo libboost-context-dev ;;
    *) return 1 ;;
  esac
}
# A program that is run -> the package that brings it. Those of every Debian (coreutils, tar, findutils) are not listed.
package_of_program() {
  case $1 in
    ccache | bpftool | strace | blktrace | rsync | jq) echo "$1" ;;
    blkparse) echo blktrace ;;
    clang | clang++) echo clang ;;
    ctags) echo universal-ctags ;;
    perf) echo linux-perf ;;
    clang-format | clang-format-14) echo clang-format ;;
    clang-tidy | clang-tidy-14) echo clang-tidy ;;
    mkfs.ext* | mke2fs | debugfs | e2fsck | dumpe2fs | tune2fs) echo e2fsprogs ;;
    genext2fs) echo genext2fs ;;
    fusermount3) echo fuse3 ;;
    mkfs.xfs | xfs_repair | xfs_io | xfs_db) echo xfsprogs ;;
    mkfs.btrfs | btrfs) echo btrfs-progs ;;
    getfattr | setfattr) echo attr ;;
    getfacl | setfacl) echo acl ;;
    losetup | mount | umount) echo mount ;;
    *) return 1 ;;
  esac
}

while IFS=: read -r file line text; do
  for found in $(grep -oE 'find_package\([A-Za-z0-9_-]+' <<<"$text" | sed 's/.*(//'); do
    packages=$(package_of_cmake "$found") || { finding "$file:$line: find_package($found): tests/lint/packages.sh does not know its package" && continue; }
    # shellcheck disable=SC2086
    wants "$file:$line" "$found" $packages
  done
  if [[ $text == *pkg_check_modules\(* ]]; then
    for found in $(sed -E 's/.*pkg_check_modules\([A-Za-z0-9_]+//; s/\).*//' <<<"$text"); do
      case $found in REQUIRED | IMPORTED_TARGET | QUIET | GLOBAL) continue ;; esac
      packages=$(package_of_cmake "${found%%[<>=]*}") || { finding "$file:$line: pkg_check_modules($found): tests/lint/packages.sh does not know its package" && continue; }
      # shellcheck disable=SC2086
      wants "$file:$line" "$found" $packages
    done
  fi
  if [[ $text == *find_program\(* ]]; then
    found=$(sed -E 's/.*find_program\([A-Za-z0-9_]+ +(NAMES +)?([^ )]+).*/\2/' <<<"$text")
    packages=$(package_of_program "$found") || { finding "$file:$line: find_program($found): tests/lint/packages.sh does not know its package" && continue; }
    wants "$file:$line" "$found" $packages
  fi
done < <(tree_grep '^[^#]*(find_package|pkg_check_modules|find_program)\(' -- '*CMakeLists.txt' '*.cmake')

# Programs that tests, scripts and targets name, as a word of a shell line or as an argument vector's first string.
programs='strace|perf|blkparse|blktrace|rsync|jq|ctags|mkfs\.ext[234]|mke2fs|debugfs|e2fsck|dumpe2fs|mkfs\.xfs|xfs_repair|mkfs\.btrfs|btrfs|getfattr|setfattr|getfacl|setfacl|losetup'
for found in $(git grep --untracked -ohIE "(\"|[|;&] *|^ *|\\\$\\()($programs)[ \"]" -- 'tests/*.cc' 'tests/*.sh' 'traces/*.sh' 'replayer/*.cc' | grep -oE "($programs)" | sort -u); do
  packages=$(package_of_program "$found")
  wants 'tests, scripts or targets' "$found" $packages
done
finish
