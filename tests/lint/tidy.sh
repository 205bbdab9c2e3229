#!/usr/bin/env bash
# tidy.sh BUILD [FILE...]: clang-tidy 14 over every source but the tests (or those named) of a configured build folder.
# Most of its time goes into headers: a build of IOTAPE_UNITY, where half a dozen sources share them, takes a fifth of
# the time. Even so it is part of ./tests/run.sh --long.
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

# What the build compiles, without what it generated itself.
compiled() {
  sed -nE 's/^ *"file": "(.*)",?$/\1/p' "$database/compile_commands.json" | grep -E '\.(cc|cxx)$' | grep -vE '/tests/|\.pb\.cc$|/built_in_[^/]*\.cc$' | sort -u
}
files() { if [ $# -gt 0 ]; then printf '%s\n' "$@"; else compiled; fi; }
# A source that is compiled through another is, to clang-tidy, one of that one's headers.
files "$@" | tr '\n' '\0' |
  xargs -0 -P "$(nproc)" -n 1 "$tidy" -p "$database" --extra-arg=-Wno-unknown-warning-option --quiet \
    --checks=-bugprone-suspicious-include \
    --header-filter='/(format|analysis|replayer|recorder|traces|tests)/.*\.(h|cc)$' 2>/dev/null
