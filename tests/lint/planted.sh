#!/usr/bin/env bash
# The lints find what they are for: each planted fault, in a scratch tree, must be told; the sound tree must pass.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

fresh_tree() {
  rm -rf "$scratch/tree"
  mkdir -p "$scratch/tree/tests" "$scratch/tree/format/base" "$scratch/tree/analysis" "$scratch/tree/replayer/engine"
  cp -r "$here" "$scratch/tree/tests/lint"
  cp "$here/../../setup.sh" "$here/../../.clang-format" "$scratch/tree/"
  printf '// A sound header.\n#pragma once\n' >"$scratch/tree/format/base/leaf.h"
  printf '#include "format/base/leaf.h"\n' >"$scratch/tree/analysis/sound.cc"
  git -C "$scratch/tree" init -q
}

expect() { # LINT WORDS-THAT-MUST-APPEAR
  local status=0
  (cd "$scratch/tree" && bash "tests/lint/$1.sh") >"$scratch/out" 2>&1 || status=$?
  if [ "$status" -eq 77 ]; then return; fi
  if [ "$status" -ne 1 ] || ! grep -qF -- "$2" "$scratch/out"; then
    printf 'lint: %s does not find "%s" (exit %s):\n' "$1" "$2" "$status"
    cat "$scratch/out"
    failures=$((failures + 1))
  fi
}
plant() { # FILE TEXT LINT WORDS
  fresh_tree
  mkdir -p "$scratch/tree/$(dirname "$1")"
  printf '%b' "$2" >"$scratch/tree/$1"
  expect "$3" "$4"
}

fresh_tree
for lint in layers banned names docs style functions packages; do
  status=0
  (cd "$scratch/tree" && bash "tests/lint/$lint.sh") >"$scratch/out" 2>&1 || status=$?
  [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || { printf 'lint: %s complains of a sound tree:\n' "$lint" && cat "$scratch/out" && failures=$((failures + 1)); }
done

plant analysis/up.cc '#include "replayer/engine/x.h"\n' layers 'analysis must not include from replayer/engine'
plant format/base/up.h '// up\n#include "format/event.h"\n' layers 'format/base must not include from format'
plant recorder/side.cc '#include "analysis/x.h"\n' layers 'recorder must not include from analysis'
plant replayer/ext3/up.cc '#include "replayer/target/x.h"\n' layers 'replayer/ext3 must not include from replayer/target'
plant analysis/proto.cc '#include <google/protobuf/message.h>\n' layers 'protobuf stays inside format/'
plant replayer/bpf.cc '#include <bpf/libbpf.h>\n' layers 'libbpf and bcc stay inside recorder/'
plant analysis/a.cc 'int f() { return std::stoi(text); }\n' banned 'std::from_chars'
plant format/a.cc 'void f() { strcpy(a, b); }\n' banned 'without a bound'
plant format/a.cc 'void f() { ::exit(1); }\n' banned 'never ends the process'
plant recorder/a.cc 'void f() { std::cout << 1; }\n' banned 'never prints'
plant analysis/a.cc 'void f() { printf("x"); }\n' banned 'never prints'
plant traces/a.cc 'void f() { fmt::print("x"); }\n' banned 'never prints'
plant extra.txt 'x' names 'the top level is closed'
plant format/CamelCase.cc '' names 'snake_case'
plant format/bare.h 'int x;\n' names 'no #pragma once'
plant README.md 'see `format/nothing.h`\n' docs 'names format/nothing.h'
plant README.md '[x](format/none.md)\n' docs 'link to format/none.md'
plant README.md 'in format/event.cc:12\n' docs 'cites a line number'
plant format/a.sh 'cd /ho''me/somebody/tree\n' paths 'somebody'
plant analysis/a.cc 'int  f( ) {return 1;}\n' style 'not formatted'
plant analysis/a.cc "int f() {\n$(printf '  ++x;\\n%.0s' $(seq 90))}\n" functions 'f has 92 lines'
plant format/CMakeLists.txt 'find_package(Qt6 REQUIRED)\n' packages 'find_package(Qt6)'
plant format/CMakeLists.txt 'pkg_check_modules(X REQUIRED IMPORTED_TARGET libnl-3.0)\n' packages 'pkg_check_modules(libnl-3.0)'

[ "$failures" -eq 0 ] || exit 1
