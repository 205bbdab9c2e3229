#!/usr/bin/env bash
# What a document names exists: relative links, and paths in `code` that begin with a room. No document cites line numbers.
. "$(dirname "${BASH_SOURCE[0]}")/lint.sh"

rooms='format|analysis|replayer|recorder|traces|tests'
mapfile -t documents < <(tree_files '*.md')
[ ${#documents[@]} -gt 0 ] || finish

exists_from() { # DOCUMENT PATH: from the document's folder or from the top
  [ -e "$(dirname "$1")/$2" ] || [ -e "$2" ]
}

for document in "${documents[@]}"; do
  while IFS= read -r target; do
    exists_from "$document" "${target%%#*}" || finding "$document: link to $target, which does not exist"
  done < <(grep -oE '\]\([^)#][^)]*\)' "$document" | sed -E 's/^\]\(//; s/\)$//' | grep -vE '^(https?|mailto):' || true)

  while IFS= read -r named; do
    # trace_{reader,writer}.h names two files.
    for path in $(eval "printf '%s\n' $named"); do
      exists_from "$document" "$path" || finding "$document: names $path, which does not exist"
    done
  done < <(grep -oE "\`(\./)?($rooms)/[A-Za-z0-9_./{},*-]+\`" "$document" | tr -d '`' | sort -u || true)

  while IFS= read -r hit; do
    finding "$document:$hit: cites a line number; name the identifier instead"
  done < <(grep -nE '\.(cc|h|c|sh|proto):[0-9]+' "$document" || true)
done
finish
