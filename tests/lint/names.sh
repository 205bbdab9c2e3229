#!/usr/bin/env bash
# The top level is closed, files are snake_case, every header has #pragma once and says first what it is for.
. "$(dirname "${BASH_SOURCE[0]}")/lint.sh"

while IFS= read -r entry; do
  case $entry in
    .* | LICENSE | CHANGELOG.md | CMakeLists.txt | CMakePresets.json | README.md | setup.sh | iotape.cc | format | analysis | replayer | recorder | traces | tests) ;;
    *) finding "$entry: the top level is closed (README.md, map of rooms)" ;;
  esac
done < <(tree_files . | cut -d/ -f1 | sort -u)

while IFS= read -r file; do
  [[ $(basename "$file") =~ ^[a-z][a-z0-9_]*(\.bpf)?\.(cc|h|c|proto|def|sh)$ ]] || finding "$file: C++, C, proto and shell files are named in snake_case"
done < <(tree_files '*.cc' '*.h' '*.c' '*.cpp' '*.hpp' '*.hh' '*.cxx' '*.proto' '*.sh')

while IFS= read -r header; do
  [[ $header == *.bpf.h ]] || grep -qE '^#pragma once|^#ifndef [A-Z_]+_H_?$' "$header" || finding "$header: no #pragma once"
  head -1 "$header" | grep -qE '^(//|/\*)' || finding "$header: the first line says what the header is for"
done < <(tree_files '*.h')

while IFS= read -r script; do
  [ "$(basename "$script")" = lint.sh ] || head -1 "$script" | grep -q '^#!' || continue
  case $script in
    setup.sh | tests/run.sh | traces/demo.sh | .ci/run) [ -x "$script" ] || finding "$script: has no run bit" ;;
  esac
done < <(tree_files '*.sh' '.ci/run')
finish
