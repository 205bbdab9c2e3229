#!/usr/bin/env bash
# Installs what iotape needs from Debian's own packages, and nothing else. Quick and silent when nothing is missing.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: ./setup.sh [--yes] [--build | --demo | --all] [--list]

Installs the Debian packages that are missing. Prints them with their size first,
asks when it runs on a terminal, and is done at once when nothing is missing.

  --build   what building iotape needs
  --demo    also what ./traces/demo.sh needs
  --all     also what ./tests/run.sh needs (the default)
  --yes     do not ask
  --list    print every package, its group and its reason, and install nothing
USAGE
}

# group, package, reason. A group includes the ones before it: build, demo, all.
packages() {
  cat <<'TABLE'
build cmake                reads CMakeLists.txt and CMakePresets.json
build ninja-build          the generator the presets name
build g++                  the C++20 compiler
build pkg-config           finds libbpf, zstd, xxhash
build clang                compiles the eBPF part (clang -target bpf)
build bpftool              turns BTF into a header and the eBPF object into a skeleton
build libbpf-dev           loads the eBPF part
build libbpfcc-dev         bcc's symbol tables: names for the addresses in stacks
build libelf-dev           libbpf reads ELF with it
build zlib1g-dev           libelf and libpng link it
build protobuf-compiler    compiles format/trace.proto
build libprotobuf-dev      what a trace is made of
build libzstd-dev          compresses the blocks of a trace
build libxxhash-dev        checksums the blocks of a trace
build libfmt-dev           text output
build libcli11-dev         command lines
build libexpected-dev      tl::expected, behind Result<T>
build nlohmann-json3-dev   --json output, and JSON that is read back
build libboost-context-dev fibers for the built-in ext3's virtual clock
build libpng-dev           plots as PNG
build libfuse3-dev         iotape mount: filesystems in a program
build libgtest-dev         the tests' framework
build libgmock-dev         matchers for the tests
build libbenchmark-dev     the benchmarks
build ccache               makes a second build quick
demo  e2fsprogs            mkfs.ext2, .ext3, .ext4 for kernel: targets
demo  xfsprogs             mkfs.xfs for kernel: targets
demo  btrfs-progs          mkfs.btrfs for kernel: targets
demo  mount                losetup and mount for kernel: targets
all   fuse3                fusermount3: mounts without root, and unmounts
all   git                  the lint tests list the tree with it
all   strace               the tests count system calls with it as well
all   linux-perf           the tests count block requests with it as well
all   blktrace             blkparse, the other reader of blktrace files
all   genext2fs            another maker of ext2 images for the built-in ext3 to read
all   attr                 extended attributes in the tests' trees
all   acl                  access control lists in the tests' trees
all   rsync                compares a replayed tree with the recorded one
all   jq                   reads --json output the way users do
all   clang-format         style, as a test
all   clang-tidy           ./tests/run.sh --long
all   universal-ctags      the test that caps the length of functions
TABLE
}

fail() {
  printf 'setup.sh: %s\n' "$*" >&2
  exit 1
}

group=all
assume_yes=no
list_only=no
for word in "$@"; do
  case $word in
    --build | --demo | --all) group=${word#--} ;;
    --yes | -y) assume_yes=yes ;;
    --list) list_only=yes ;;
    -h | --help) usage && exit 0 ;;
    *) printf 'setup.sh: unknown option %s\n' "$word" >&2 && usage >&2 && exit 2 ;;
  esac
done

if [ "$list_only" = yes ]; then
  packages
  exit 0
fi

case $group in
  build) wanted_groups='build' ;;
  demo) wanted_groups='build demo' ;;
  all) wanted_groups='build demo all' ;;
esac
wanted=$(packages | awk -v groups=" $wanted_groups " 'index(groups, " " $1 " ") {print $2}')

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  # Not Debian: the tools themselves decide. CMake names what it cannot find, so this is a note and no failure.
  if command -v cmake >/dev/null && command -v clang >/dev/null && command -v bpftool >/dev/null; then
    printf 'setup.sh: no apt here; going on with what is installed\n' >&2
    exit 0
  fi
  fail "this machine has no apt-get (iotape is built on Debian 12); install by hand the equivalents of: $(echo $wanted)"
fi

installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' 2>/dev/null | awk '$1 == "installed" {print $2}')
missing=$(comm -23 <(sort -u <<<"$wanted") <(sort -u <<<"$installed"))
[ -n "$missing" ] || exit 0
mapfile -t missing_list <<<"$missing"

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || fail "installing needs root and there is no sudo; as root run: apt-get install --no-install-recommends ${missing_list[*]}"
  as_root=(sudo)
  [ -t 0 ] || as_root=(sudo -n)
fi

say() { printf '%s\n' "$*" >&2; }
refresh_package_lists() {
  say "setup.sh: fetching Debian's package lists (apt-get update)"
  "${as_root[@]}" apt-get -qq update >&2 || true # judged by what it brought, in plan_packages
}
plan_packages() { plan=$(LC_ALL=C apt-get install --no-install-recommends --print-uris "${missing_list[@]}" 2>&1); }

plan_packages || { refresh_package_lists && plan_packages; } ||
  fail "apt cannot install: $(grep '^E: ' <<<"$plan" | sed 's/^E: //' | head -3 | paste -sd ';'); is there a network, and is this Debian 12 with its main archive in apt's sources?"

say "iotape needs ${#missing_list[@]} packages that are not installed:"
for package in "${missing_list[@]}"; do
  say "$(packages | awk -v p="$package" '$2 == p {r = ""; for (i = 3; i <= NF; i++) r = r " " $i; printf "  %-20s%s", p, r}')"
done
say "$(grep -E '^(Need to get|After this operation)' <<<"$plan")"

if [ "$assume_yes" = no ]; then
  if [ -t 0 ] && [ -t 2 ]; then
    read -r -p 'Install them now? [Y/n] ' answer
    case $answer in
      '' | [yY]*) ;;
      *) fail 'nothing installed, as you asked' ;;
    esac
  else
    say 'setup.sh: no terminal to ask on; installing them'
  fi
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
install_packages() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends "${missing_list[@]}" >"$log" 2>&1
}
# Old lists name files the archive no longer has; fresh ones cure that, so one second try.
install_packages || { refresh_package_lists && install_packages; } || {
  tail -15 "$log" >&2
  fail "apt could not install the packages; its own last words are above (no network, no right to become root, or another apt running)"
}
say 'setup.sh: done'
