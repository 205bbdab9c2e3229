#!/usr/bin/env bash
# tidy.sh BUILD [FILE...]: clang-tidy 14 over every source (or those named) of a configured build folder. Slow: part of
# ./tests/run.sh --long.
build=$(cd "${1:?usage: tests/lint/tidy.sh BUILD [FILE...]}" && pwd)
shift
. "$(dirname "${BASH_SOURCE[0]}")/lint.sh"

tidy=
for candidate in clang-tidy-14 clang-tidy; do
  if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then tidy=$candidate && break; fi
done
[ -n "$tidy" ] || { echo 'lint: clang-tidy 14 is not installed (./setup.sh)' && exit 77; }

# clang cannot read what g++ precompiled, and knows some of g++'s warnings by no name.
database=$(mktemp -d)
trap 'rm -rf "$database"' EXIT
sed -E 's/ -Winvalid-pch//; s/ (-Xclang )?-include(-pch)? (-Xclang )?[^ ]*cmake_pch\.[^ ]*//g' "$build/compile_commands.json" >"$database/compile_commands.json"

files() { if [ $# -gt 0 ]; then printf '%s\n' "$@"; else tree_files '*.cc' ':!tests/*'; fi; }
files "$@" | tr '\n' '\0' |
  xargs -0 -P "$(nproc)" -n 1 "$tidy" -p "$database" --extra-arg=-Wno-unknown-warning-option --quiet 2>/dev/null
