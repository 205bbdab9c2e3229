#!/usr/bin/env bash
# clang-format 14 has nothing to change.
. "$(dirname "${BASH_SOURCE[0]}")/lint.sh"

# The pinned version: another one formats differently.
formatter=
for candidate in clang-format-14 clang-format; do
  if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then formatter=$candidate && break; fi
done
[ -n "$formatter" ] || { echo 'lint: clang-format 14 is not installed (./setup.sh)' && exit 77; }

mapfile -t sources < <(tree_files '*.cc' '*.h' '*.c')
while IFS= read -r file; do
  finding "$file: not formatted; run $formatter -i $file"
done < <(printf '%s\0' "${sources[@]}" | xargs -0 -P "$(nproc)" -n 16 "$formatter" --dry-run --ferror-limit=1 2>&1 | grep -oE '^[^:]+:[0-9]+:[0-9]+: warning: code should be clang-formatted' | cut -d: -f1 | sort -u)
finish
