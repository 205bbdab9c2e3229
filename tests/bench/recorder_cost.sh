#!/usr/bin/env bash
# What recording costs: an untar on tmpfs and on ext4 (a loop device, sync included), plain and recorded in turns, and
# what a process that is not traced pays for each call meanwhile. Medians; figures only: nothing passes or fails.
# usage: recorder_cost.sh IOTAPE [ROUNDS [FILES [BYTES]]]
set -euo pipefail
iotape=$(realpath "$1")
rounds=${2:-11}
files=${3:-17000}
bytes=${4:-120M}
where=$(mktemp -d /tmp/iotape-bench.XXXXXX)
memory=$(mktemp -d /dev/shm/iotape-bench.XXXXXX)
cleanup() {
  ! mountpoint -q "$where/mnt" || umount "$where/mnt"
  rm -rf "${where:?}" "${memory:?}"
}
trap cleanup EXIT

median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
tell() { # WHAT SECONDS-PLAIN... and SECONDS-RECORDED... as files
  local plain recorded
  plain=$(median <"$2")
  recorded=$(median <"$3")
  awk -v w="$1" -v p="$plain" -v r="$recorded" -v n="$rounds" \
    'BEGIN {printf "%-34s plain %7.3f s, recorded %7.3f s, ratio %.3f (medians of %d)\n", w, p, r, r / p, n}'
}

"$iotape" workload -q tree --files "$files" --bytes "$bytes" "$memory/tree" >/dev/null
tar -C "$memory/tree" -cf "$memory/tree.tar" .
rm -rf "${memory:?}/tree"

# The untar itself writes down how long it took: loading the programs before it and the last writing after it apart.
cat >"$where/untar.sh" <<'UNTAR'
from=$(date +%s%N)
tar -C "$1" -xf "$2"
[ "$3" = no ] || sync -f "$1"
to=$(date +%s%N)
echo "$from $to" | awk '{printf "%.6f\n", ($2 - $1) / 1e9}' >>"$4"
UNTAR
wall() { # FILE COMMAND...
  local from to file=$1
  shift
  from=$(date +%s%N)
  "$@"
  to=$(date +%s%N)
  echo "$from $to" | awk '{printf "%.6f\n", ($2 - $1) / 1e9}' >>"$file"
}
rounds_of() { # NAME TARGET SYNC
  local name=$1 target=$2 round
  for ((round = 0; round < rounds; ++round)); do
    mkdir "$target/t"
    wall "$where/$name.plain.whole" sh "$where/untar.sh" "$target/t" "$memory/tree.tar" "$3" "$where/$name.plain"
    rm -rf "${target:?}/t" && sync -f "$target" && mkdir "$target/t"
    wall "$where/$name.recorded.whole" "$iotape" record -q --force -o "$where/trace.iotape" -- \
      sh "$where/untar.sh" "$target/t" "$memory/tree.tar" "$3" "$where/$name.recorded"
    rm -rf "${target:?}/t" && sync -f "$target"
  done
  tell "$name, the untar" "$where/$name.plain" "$where/$name.recorded"
  tell "$name, with loading and closing" "$where/$name.plain.whole" "$where/$name.recorded.whole"
  "$iotape" info "$where/trace.iotape" 2>/dev/null | grep -E '^(events|size|lost|cost per call|recorder CPU)' | sed 's/^/    /'
}

rounds_of tmpfs "$memory" no
mkdir "$where/mnt"
truncate -s 2G "$where/image"
mkfs.ext4 -q -F "$where/image"
mount -o loop "$where/image" "$where/mnt"
rounds_of ext4-loop "$where/mnt" yes
umount "$where/mnt"

# A process that is not traced, beside a recording: nanoseconds of one lseek, in turns without and with.
cat >"$where/lseek.cc" <<'LSEEK'
#include <sys/syscall.h>
#include <unistd.h>
#include <cstdio>
#include <ctime>
int main() {
  constexpr int kCalls = 5'000'000;
  timespec from{};
  timespec to{};
  ::clock_gettime(CLOCK_MONOTONIC, &from);
  for (int i = 0; i < kCalls; ++i) ::syscall(SYS_lseek, 0, 0, SEEK_CUR);
  ::clock_gettime(CLOCK_MONOTONIC, &to);
  std::printf("%.2f\n", (1e9 * static_cast<double>(to.tv_sec - from.tv_sec) + static_cast<double>(to.tv_nsec - from.tv_nsec)) / kCalls);
}
LSEEK
"${CXX:-g++}" -std=c++20 -O2 -o "$where/lseek" "$where/lseek.cc"
mkfifo "$where/hold"
for ((round = 0; round < rounds; ++round)); do
  "$where/lseek" </dev/null >>"$where/lseek.plain"
  "$iotape" record -q --force -o "$where/trace.iotape" -- cat "$where/hold" >/dev/null &
  exec 7>"$where/hold" # Opens when the recorded command does: the recording runs.
  "$where/lseek" </dev/null >>"$where/lseek.beside"
  exec 7>&-
  wait $!
done
awk -v a="$(median <"$where/lseek.plain")" -v b="$(median <"$where/lseek.beside")" -v n="$rounds" \
  'BEGIN {printf "an untraced process                %.0f ns a call without, %.0f ns with a recording: %.0f ns more (medians of %d)\n", a, b, b - a, n}'
