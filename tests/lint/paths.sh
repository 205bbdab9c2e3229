#!/usr/bin/env bash
# Nothing in the tree depends on, or tells of, the machine it was written on; nothing big or generated is kept in it.
. "$(dirname "${BASH_SOURCE[0]}")/lint.sh"

while IFS= read -r hit; do
  finding "$hit"
done < <(tree_grep '(^|[^A-Za-z0-9_.])/(root|home/[a-z]+|Users/[a-z]+|work)/' -- . ':!LICENSE' ':!tests/lint/paths.sh' | grep -v 'lint: allowed' | cut -c1-160)

# The checkout's own place, whatever it is, when it is specific enough to be told from prose.
top=$(pwd -P)
if [ ${#top} -gt 8 ]; then
  while IFS= read -r hit; do finding "$hit: the path of this checkout"; done < <(git grep --untracked -nIF -e "$top/" -- . | cut -c1-160 || true)
fi

traces_bytes=0
while IFS= read -r file; do
  size=$(stat -c %s "$file")
  case $file in
    traces/*.iotape) traces_bytes=$((traces_bytes + size)) ;;
    *) [ "$size" -le 1048576 ] || finding "$file: $size bytes; only traces/ may hold files above 1 MiB" ;;
  esac
done < <(tree_files .)
[ "$traces_bytes" -le 8388608 ] || finding "traces/: $traces_bytes bytes of recordings; 8 MiB is the cap"
finish
