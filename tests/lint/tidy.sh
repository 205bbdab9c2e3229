#!/usr/bin/env bash
# tidy.sh BUILD: clang-tidy 14 over every source of a configured build folder. Slow: part of ./tests/run.sh --long.
build=$(cd "${1:?usage: tests/lint/tidy.sh BUILD}" && pwd)
. "$(dirname "${BASH_SOURCE[0]}")/lint.sh"

tidy=
for candidate in clang-tidy-14 clang-tidy; do
  if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then tidy=$candidate && break; fi
done
[ -n "$tidy" ] || { echo 'lint: clang-tidy 14 is not installed (./setup.sh)' && exit 77; }
tree_files '*.cc' ':!tests/*' | tr '\n' '\0' | xargs -0 -P "$(nproc)" -n 1 "$tidy" -p "$build" --quiet 2>/dev/null
