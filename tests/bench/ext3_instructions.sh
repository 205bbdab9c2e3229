#!/usr/bin/env bash
# Instructions per create, stat and unlink of the built-in ext3 as its directory grows, counted by callgrind: exact, and
# the same on a loaded machine. Figures only: nothing passes or fails. A million names take six minutes.
# Needs valgrind, which setup.sh does not bring: nothing else does.
# usage: ext3_instructions.sh BUILD [NAMES...]      (default 10000 100000 1000000; the profiles are left in BUILD)
set -euo pipefail
build=$1
shift
command -v valgrind >/dev/null || { echo 'ext3_instructions.sh: valgrind is not installed (apt-get install valgrind)' >&2 && exit 1; }
[ $# -gt 0 ] || set -- 10000 100000 1000000
cmake --build "$build" --target ext3_instructions >/dev/null
profiles=$build/ext3_instructions
mkdir -p "$profiles"

declare -A first
printf '%10s %14s %14s %14s   (times the first line)\n' names create stat unlink
for names in "$@"; do
  rm -f "$profiles/$names".*
  valgrind --tool=callgrind --collect-atstart=no --toggle-collect='counted_*' --callgrind-out-file="$profiles/$names" \
    "$build/tests/bench/ext3_instructions" "$names" >"$profiles/$names.log" 2>&1 || { cat "$profiles/$names.log" && exit 1; }
  printf '%10s' "$names"
  callgrind_annotate --inclusive=yes --threshold=100 "$profiles/$names" >"$profiles/$names.inclusive"
  for what in create stat unlink; do
    count=$(awk -v n="$names" -v f="counted_$what" 'index($0, f) {gsub(",", "", $1); printf "%.1f", $1 / n; exit}' "$profiles/$names.inclusive")
    [ -n "${first[$what]:-}" ] || first[$what]=$count
    awk -v n="$count" -v f="${first[$what]}" 'BEGIN {printf " %8.0f (%.2f)", n, n / f}'
  done
  printf '\n'
done
