#!/usr/bin/env bash
# The whole loop in one command: record an untar and an rm -rf on ext3, replay both elsewhere, compare by seeks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'USAGE'
usage: traces/demo.sh [--files N] [--no-record] [--no-build]

Sets up and builds iotape, shows a picture made from a recording that comes with
it, and replays the shipped untar and rm -rf on the built-in ext3 with and without
the Orlov allocator, on a simulated laptop of 2002 (no privileges needed for any of
that). Then it records a real untar and a real rm -rf on ext3, replays them on ext3,
ext4, xfs and btrfs, and compares by seek distance.

Recording and making filesystems need root: as another user that one step asks
through sudo. Where it is not possible the demo says why and ends without it.

  --files N     files in the archive (default 17000)
  --no-record   only what needs no privileges
  --no-build    use build/release/iotape as it is
USAGE
}

files=17000
record=yes
build=yes
stage=all
while [ $# -gt 0 ]; do
  case $1 in
    --files) [ $# -ge 2 ] || { usage >&2 && exit 2; }; files=$2 && shift ;;
    --no-record) record=no ;;
    --no-build) build=no ;;
    --privileged-stage) stage=privileged ;; # how the script calls itself again
    -h | --help) usage && exit 0 ;;
    *) printf 'demo.sh: unknown option %s\n' "$1" >&2 && usage >&2 && exit 2 ;;
  esac
  shift
done

iotape=$PWD/build/release/iotape
out=$PWD/build/demo
filesystems='ext3 ext4 xfs btrfs'

say() { printf '\n== %s\n' "$*"; }
# Says a command as a user would type it, then runs it.
show() {
  local word line='$'
  for word in "$@"; do
    word=${word//"$iotape"/iotape}
    word=${word//"$out"\//}
    case $word in
      *[!A-Za-z0-9_./:,=+@%-]*) line+=" \"$word\"" ;;
      *) line+=" $word" ;;
    esac
  done
  printf '\n%s\n' "$line"
  "$@"
}
# A replay whose outcomes differ here and there still is one: it says so itself and the comparison carries it.
show_replay() {
  local status=0
  show "$@" >"$out/replay.txt" || status=$?
  # The command, and of its answer what is before the table of calls.
  sed '/^call  /,$d' "$out/replay.txt"
  [ "$status" -eq 0 ] || [ "$status" -eq 3 ] || return "$status"
}

build() {
  say 'set-up and build'
  ./setup.sh --demo
  cmake --preset release -DIOTAPE_BENCHMARKS=OFF -DIOTAPE_PRECOMPILE=ON -DIOTAPE_UNITY=ON >/dev/null
  [ -t 1 ] || echo 'compiling: a few minutes, without a word until it is done'
  cmake --build --preset release -j "$(nproc)" --target iotape 2>&1 | { [ -t 1 ] && cat || tail -n 1; }
}

show_shipped_trace() {
  say 'a recording that came with iotape: rm -rf of 17,000 files on ext3, disk cold'
  if [ ! -r traces/rm.iotape ]; then
    echo 'traces/rm.iotape is missing from this copy; as root, traces/make_samples.sh rm makes it again'
    return 0
  fi
  show "$iotape" seeks traces/rm.iotape
  show "$iotape" plot -q traces/rm.iotape --force -o "$out/shipped-rm-heads.svg"
  show "$iotape" plot -q traces/rm.iotape --force -o "$out/shipped-rm-heads.txt"
  cat "$out/shipped-rm-heads.txt"
}

# The question of 2002 on the machine of 2002: the same calls, one allocator or the other. Virtual time, so seconds here.
simulate_2002() {
  say 'ext3 with and without the Orlov allocator, on a simulated laptop of 2002 (virtual time, no privileges)'
  local workload allocator cold groups
  for workload in untar rm; do
    if [ ! -r "traces/$workload.iotape" ]; then
      echo "traces/$workload.iotape is missing from this copy; as root, traces/make_samples.sh $workload makes it again"
      continue
    fi
    cold=()
    [ "$workload" = untar ] || cold=(--cold)
    groups=()
    for allocator in orlov classic; do
      show_replay "$iotape" replay -q "traces/$workload.iotape" \
        "ext3:,size=13G,alloc=$allocator,disk=laptop-2002,memory=192M" "${cold[@]}" \
        --force -o "$out/2002-$workload-$allocator.iotape"
      groups+=("$allocator:" "$out/2002-$workload-$allocator.iotape")
    done
    show "$iotape" compare -q "${groups[@]}" >"$out/2002-$workload-compare.txt"
    grep -E '^\$|^metric|^(wall_time|requests|seek|mean_d|median_d|sequ|backw)[a-z_0-9]* {2,}|^$' "$out/2002-$workload-compare.txt" | cat -s
    sed -n "/^simulated in virtual/,\$p" "$out/2002-$workload-compare.txt"
    show "$iotape" plot -q "$out/2002-$workload-orlov.iotape" "$out/2002-$workload-classic.iotape" --what heads --force \
      -o "$out/2002-$workload-heads.svg"
  done
}

why_no_recording() {
  if [ "$record" = no ]; then
    echo 'you asked for none (--no-record)'
  elif [ ! -r /sys/kernel/btf/vmlinux ]; then
    echo 'this kernel offers no BTF (/sys/kernel/btf/vmlinux); iotape doctor tells more'
  elif [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    echo 'recording needs root, and there is no sudo'
  elif [ "$(id -u)" -ne 0 ] && ! { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
    echo 'recording needs root, and there is no terminal on which sudo could ask'
  fi
}

# What is possible without privileges: the shipped recording replayed into a directory, in a user namespace.
replay_shipped_trace() {
  [ -r traces/rm.iotape ] || return 0
  rm -rf "$out/replayed"
  mkdir "$out/replayed"
  show_replay "$iotape" replay -q traces/rm.iotape "dir:$out/replayed" --force -o "$out/shipped-rm-replayed.iotape"
  show "$iotape" compare traces/rm.iotape "$out/shipped-rm-replayed.iotape"
  rm -rf "$out/replayed" "$out/replay.txt"
}

make_archive() {
  say "an archive of $files files to unpack"
  rm -rf "$out/tree" "$out/tree.tar"
  show "$iotape" workload tree "$out/tree" --files "$files" --bytes "$((files * 15))K" --times
  tar --create --file "$out/tree.tar" --sort=name --owner=root:0 --group=root:0 -C "$out" tree
  rm -rf "$out/tree"
}

as_root() {
  local words=(bash "$PWD/traces/demo.sh" --files "$files" --privileged-stage)
  if [ "$(id -u)" -eq 0 ]; then
    "${words[@]}"
  else
    say 'the next step records and makes filesystems: sudo'
    sudo "${words[@]}"
  fi
}

# As root, in a mount namespace of its own: what is mounted here goes away with the last process in it, whatever
# ends the script, and a loop device goes with its mount.
privileged_stage() {
  if [ -z "${IOTAPE_DEMO_NAMESPACE:-}" ]; then
    IOTAPE_DEMO_NAMESPACE=1 exec unshare --mount --propagation private bash "$PWD/traces/demo.sh" --files "$files" --privileged-stage
  fi
  trap 'clean_up' EXIT
  trap 'exit 130' INT TERM
  "$iotape" doctor >"$out/doctor.txt" 2>&1 || { say 'no recording: this machine lacks something' && cat "$out/doctor.txt" && return 0; }
  cd "$out"
  record_on_ext3
  replay_everywhere
  compare_all
}

clean_up() {
  cd /
  umount "$out/mnt" 2>/dev/null || true
  rm -rf "$out/mnt" "$out/disk.img" "$out/tree.tar" "$out/replay.txt"
  [ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$out"
}

record_on_ext3() {
  say 'record an untar and an rm -rf on ext3 (a loop image)'
  truncate -s 2G "disk.img"
  mkfs.ext3 -q -F "disk.img"
  mkdir -p "mnt"
  mount -t ext3 -o loop,noatime "disk.img" "mnt"
  local device
  device=$(findmnt -n -o SOURCE "mnt")
  show "$iotape" record --force -u root -d "$device" -o "untar.iotape" -- \
    sh -c "tar xf tree.tar -C mnt && sync -f mnt"
  show "$iotape" record --force -u root --cold -d "$device" -o "rm.iotape" -- \
    sh -c "rm -rf mnt/tree && sync -f mnt"
  umount "mnt"
  rm -f "disk.img"
  show "$iotape" info -q "untar.iotape"
  show "$iotape" seeks -q "rm.iotape"
}

replay_everywhere() {
  local filesystem workload cold
  for workload in untar rm; do
    cold=()
    [ "$workload" = untar ] || cold=(--cold)
    for filesystem in $filesystems; do
      say "replay $workload on a fresh $filesystem"
      show_replay "$iotape" replay -q "$workload.iotape" "kernel:$filesystem,size=2G" "${cold[@]}" \
        --force -o "$workload-$filesystem.iotape"
    done
  done
}

compare_all() {
  local workload filesystem groups results
  for workload in untar rm; do
    # Replays are compared with the replay on ext3: same calls, same machine, same moment.
    groups=()
    results=()
    for filesystem in $filesystems; do
      groups+=("$filesystem:" "$workload-$filesystem.iotape")
      results+=("$workload-$filesystem.iotape")
    done
    say "compare $workload: seeks and what goes with them (everything is in build/demo/$workload-compare.txt)"
    show "$iotape" compare -q "${groups[@]}" >"$workload-compare.txt"
    # The command as it was typed, the rows about the disk, the verdict.
    grep -E '^\$|^metric|^(wall_time|requests|device_|flushes|seek|mean_d|median_d|p90_d|sequ|backw)[a-z_0-9]* {2,}|^$' "$workload-compare.txt" | cat -s
    sed -n '/^median and half/,$p' "$workload-compare.txt"
    show "$iotape" plot -q "${results[@]}" --what histogram --force -o "$workload-seeks.svg"
    show "$iotape" plot -q "${results[@]}" --what heads --force -o "$workload-heads.svg"
  done
}

if [ "$stage" = privileged ]; then
  privileged_stage
  exit 0
fi

mkdir -p "$out"
[ "$build" = no ] || build
show_shipped_trace
simulate_2002
why_not=$(why_no_recording)
if [ -n "$why_not" ]; then
  say "no recording here: $why_not"
  say 'but the recording that came with iotape can be replayed, into a directory'
  replay_shipped_trace
else
  trap 'rm -rf "$out/tree" "$out/tree.tar"' EXIT
  trap 'exit 130' INT TERM
  make_archive
  as_root
fi
say "done in $((SECONDS / 60)) min $((SECONDS % 60)) s; traces and pictures are in build/demo"
echo 'next: build/release/iotape record -- YOUR-COMMAND'
