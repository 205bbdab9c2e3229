#!/usr/bin/env bash
# No function is longer than 80 lines.
. "$(dirname "${BASH_SOURCE[0]}")/lint.sh"

cap=80
ctags --version 2>/dev/null | grep -q 'Universal Ctags' || { echo 'lint: universal-ctags is not installed (./setup.sh)' && exit 77; }
while IFS= read -r hit; do
  finding "$hit (cap $cap lines)"
done < <(tree_files '*.cc' '*.h' '*.c' | ctags -L - --fields=+ne --languages=C,C++ --kinds-C=f --kinds-C++=f -f - |
  awk -F'\t' -v cap=$cap '{begin = end = 0
    for (i = 4; i <= NF; i++) { if ($i ~ /^line:/) begin = substr($i, 6); if ($i ~ /^end:/) end = substr($i, 5) }
    if (end - begin + 1 > cap) print $2 ": " $1 " has " end - begin + 1 " lines"}')
finish
