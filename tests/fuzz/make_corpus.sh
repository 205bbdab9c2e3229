#!/usr/bin/env bash
# make_corpus.sh DIR [TRACE...]: seeds for the fuzz programs, made from the traces given (default: those of the repository).
# DIR/trace holds small cuts of them, DIR/block_body the uncompressed blocks of those, DIR/json_line their events as JSON,
# one per file, DIR/blktrace the beginning of a blktrace file, DIR/words and DIR/target a few words.
# iotape and block_bodies (built beside the fuzz programs) must be on the PATH, or IOTAPE and BLOCK_BODIES name them.
set -euo pipefail
[[ $# -ge 1 && $1 != -* ]] || { sed -n '2,6s/^# //p' "$0"; exit 2; }
iotape=${IOTAPE:-iotape}
block_bodies=${BLOCK_BODIES:-block_bodies}
out=$1
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
if [[ $# -eq 0 ]]; then
  shopt -s nullglob
  set -- "$root"/tests/data/*.iotape "$root"/traces/*.iotape
fi
mkdir -p "$out"/{trace,block_body,blktrace,json_line,words,record,target,ext3_check,ext3_volume}
seeds=0
for trace in "$@"; do
  name=$(basename "$trace" .iotape)
  for range in "0 1ms" "1ms 10ms" "100ms 110ms"; do
    read -r from to <<<"$range"
    "$iotape" cut -q --force --from "$from" --to "$to" "$trace" -o "$out/trace/$name-$from.iotape"
    "$block_bodies" "$out/trace/$name-$from.iotape" "$out/block_body/$name-$from" || true  # a cut may hold no event
    seeds=$((seeds + 1))
  done
  line=0
  # head closes the pipe early; that is no failure.
  { "$iotape" dump -q --format json "$trace" || true; } | head -200 | while IFS= read -r event; do
    line=$((line + 1))
    printf '%s' "$event" >"$out/json_line/$name-$line"
  done
done
# Cuts of traces that begin with a whole tree carry it: seconds for each run, where thousands of runs find more.
find "$out/trace" "$out/block_body" -type f -size +64k -delete
{ zcat "$root"/tests/data/*.blktrace.gz || true; } | head -c 16384 >"$out/blktrace/head"
for word in dir:/tmp 'kernel:xfs,size=8G' 'null:' 'dir:/a,,b' dir:help; do
  printf '%s' "$word" >"$out/target/$(printf '%s' "$word" | tr -c 'a-z' _)"
done
# Patches: block, place and length, then the bytes.
printf '\1\0\070\0\001\123\357' >"$out/ext3_volume/superblock"
printf '\43\0\0\0\7\0\0\0\0\14\0\1\2' >"$out/ext3_volume/directory"
# Zeros behind a sound head, for every kind of record of recorder/wire.h: little-endian kind and size, then the CPU.
for kind in 1 2 3 4 5 6 7; do
  { printf "\\x0$kind\\x00\\x00\\x02"; head -c 508 /dev/zero; } >"$out/record/kind-$kind"
done
for word in 64K 1.5G 100ns 5us 2x 0.5x 10m; do printf '%s' "$word" >"$out/words/$word"; done
echo "$seeds trace seeds in $out" >&2
