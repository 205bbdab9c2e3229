#!/usr/bin/env bash
# make_corpus.sh DIR [TRACE...]: seeds for the fuzz programs, made from the traces given (default: those of the repository).
# DIR/trace holds small cuts of them, DIR/json_line their events as JSON, one per file, DIR/words a few words.
# iotape must be on the PATH, or IOTAPE name it.
set -euo pipefail
[[ $# -ge 1 && $1 != -* ]] || { sed -n '2,4s/^# //p' "$0"; exit 2; }
iotape=${IOTAPE:-iotape}
out=$1
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
if [[ $# -eq 0 ]]; then
  shopt -s nullglob
  set -- "$root"/tests/data/*.iotape "$root"/traces/*.iotape
fi
mkdir -p "$out"/{trace,block_body,json_line,words}
seeds=0
for trace in "$@"; do
  name=$(basename "$trace" .iotape)
  for range in "0 1ms" "1ms 10ms" "100ms 110ms"; do
    read -r from to <<<"$range"
    "$iotape" cut -q --force --from "$from" --to "$to" "$trace" -o "$out/trace/$name-$from.iotape"
    seeds=$((seeds + 1))
  done
  line=0
  # head closes the pipe early; that is no failure.
  { "$iotape" dump -q --format json "$trace" || true; } | head -200 | while IFS= read -r event; do
    line=$((line + 1))
    printf '%s' "$event" >"$out/json_line/$name-$line"
  done
done
for word in 64K 1.5G 100ns 5us 2x 0.5x 10m; do printf '%s' "$word" >"$out/words/$word"; done
echo "$seeds trace seeds in $out" >&2
