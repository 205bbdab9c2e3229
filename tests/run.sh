#!/usr/bin/env bash
# Builds iotape with warnings as errors and runs every test. --long adds what takes longer than ten minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'USAGE'
usage: tests/run.sh [--long] [-R REGEX]

Sets up, builds (preset check) and runs the lint, unit and end-to-end tests.

  --long     also: clang-tidy, the tests under ASan+UBSan (built by clang, as
             the fuzzers are) and under TSan, the fuzzers for a minute each,
             and the tests that are long by nature (label long: kill -9 fifty
             times, a trace of 100 million events); hours on two cores
  -R REGEX   only tests whose name matches, as ctest takes it

With CI=true in the environment a test that skips itself is a failure.
USAGE
}

long=no
filter=()
while [ $# -gt 0 ]; do
  case $1 in
    --long) long=yes ;;
    -R) [ $# -ge 2 ] || { usage >&2 && exit 2; }; filter=(-R "$2") && shift ;;
    -h | --help) usage && exit 0 ;;
    *) printf 'tests/run.sh: unknown option %s\n' "$1" >&2 && usage >&2 && exit 2 ;;
  esac
  shift
done

jobs=$(nproc)
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
failed=()

step() { printf '== %s\n' "$*"; }

build() { # PRESET
  step "build, preset $1"
  cmake --preset "$1" >"$results/configure" 2>&1 || { cat "$results/configure" && return 1; }
  cmake --build --preset "$1" -j "$jobs" >"$results/build" 2>&1 || { grep -vE '^\[[0-9]+/[0-9]+\]' "$results/build" | head -100 && return 1; }
}

# Runs ctest on a preset and keeps its words; ctest's own closing lines are what this script ends with.
run_tests() { # PRESET CTEST-OPTION...
  local preset=$1
  shift
  step "tests, preset $preset $*"
  # A replay's sandboxed process starts its threads after a fork, of a process that has some.
  export TSAN_OPTIONS=die_after_fork=0
  ctest --preset "$preset" -j "$jobs" "${filter[@]}" "$@" >"$results/$preset.log" 2>&1 || failed+=("tests under $preset")
  # Passed tests are many and say nothing; what the others printed is what a reader needs.
  grep -vE '( Passed +[0-9.]+ sec|^ *Start +[0-9]+: )' "$results/$preset.log" | sed '/^[0-9]*% tests passed/,$d' | sed -n '1,400p'
  if [ "${CI:-}" = true ] && grep -q '\*\*\*Skipped' "$results/$preset.log"; then
    printf 'skipped tests are failures under CI=true\n'
    failed+=("skipped tests under $preset")
  fi
  cp "$results/$preset.log" "build/$preset/ctest.log"
}

closing_lines() { # PRESET
  [ -f "$results/$1.log" ] || return 0
  sed -n '/^[0-9]*% tests passed/,$p' "$results/$1.log" | grep -vE '^(Label Time Summary|[a-z0-9_]+ += )' | grep -v '^$' || tail -3 "$results/$1.log"
}

step 'set-up'
./setup.sh

build check || exit 1
short=(-LE long)
[ "$long" = no ] || short=()
run_tests check "${short[@]}"

if [ "$long" = yes ]; then
  step 'clang-tidy'
  tests/lint/tidy.sh build/check || failed+=(clang-tidy)
  # Each file alone: preset check compiles them by the half dozen, where one may live on what another includes.
  build dev || failed+=('build, preset dev')
  # The fuzzers' build has ASan and UBSan in it: the tests of that one stand for preset asan, which is one build less.
  for preset in fuzz tsan; do
    if build "$preset"; then run_tests "$preset" -LE 'long|lint'; else failed+=("build, preset $preset"); fi
  done
  IOTAPE=build/fuzz/iotape BLOCK_BODIES=build/fuzz/tests/fuzz/block_bodies tests/fuzz/make_corpus.sh "$results/corpus" || failed+=('seeds for the fuzzers')
  while IFS= read -r fuzzer; do
    step "fuzz $(basename "$fuzzer"), 60 s"
    seeds=$results/corpus/$(basename "$fuzzer" _fuzz)
    mkdir -p "$seeds"
    "$fuzzer" -max_total_time=60 -timeout=30 -rss_limit_mb=1024 -print_final_stats=1 \
      -artifact_prefix=build/fuzz/ "$seeds" >"$results/fuzz" 2>&1 || { tail -40 "$results/fuzz" && failed+=("$(basename "$fuzzer")"); }
    grep -E 'number_of_executed_units' "$results/fuzz" || true
  done < <(find build/fuzz -type f -perm -u+x -name '*_fuzz' | sort)
  for preset in fuzz tsan; do step "$preset" && closing_lines "$preset"; done
fi

step "$(date -u -d "@$SECONDS" +%T) for everything; build/check/ctest.log has every word"
closing_lines check
if [ ${#failed[@]} -gt 0 ]; then
  printf 'FAILED: %s\n' "${failed[@]}"
  exit 1
fi
