#!/usr/bin/env bash
# Constructs the project does without, each with its reason. Comments and string literals are not looked at.
. "$(dirname "${BASH_SOURCE[0]}")/lint.sh"

# Where it counts (pathspecs) | what is banned (extended regular expression) | why
rules() {
  cat <<'TABLE'
*.cc *.h|std::sto(i|l|ll|ul|ull|f|d)\(|throws, and takes "12abc" for 12; use std::from_chars or format/base/units.h
*.cc *.h|(^|[^_[:alnum:]])ato(i|l|ll|f)\(|cannot tell 0 from an error; use std::from_chars
*.cc *.h *.c|(^|[^_[:alnum:]])(strcpy|strcat|sprintf|vsprintf|gets)\(|writes without a bound; use std::string or fmt
*.cc *.h|(^|[^_[:alnum:]])(strtok|localtime|gmtime|asctime|ctime)\(|keeps its answer in one place for all threads; use the _r form
*.cc *.h|(^|[^_[:alnum:]])(rand|srand)\(|differs between C libraries; workloads and tests are deterministic by seed
*.cc *.h|std::(normal|uniform_int|uniform_real|lognormal|exponential)_(int_|real_)?distribution|differs between C++ libraries; a seed must give the same run everywhere
*.cc *.h|std::system\(|(^|[^_[:alnum:]:])system\(|goes through a shell; use fork and exec with an argument vector
format analysis recorder replayer traces|std::(cout|cerr|clog)|a library never prints; a command writes to the Terminal it is given
format analysis recorder replayer traces|(^|[^_[:alnum:]f])(printf|puts|putchar|perror)\(|a library never prints; a command writes to the Terminal it is given
format analysis recorder replayer traces|fmt::print\((stdout|stderr|"|FMT)|a library never prints; a command writes to the Terminal it is given
format analysis recorder replayer traces|(^|[^_[:alnum:]])(std::|::)?(exit|quick_exit)\(|a library never ends the process; return an Error
format analysis recorder replayer traces|using namespace (std;|[^s]|s[^t])|hides where a name comes from
format analysis recorder replayer traces|(^|[^_[:alnum:]("])(delete|new) [A-Za-z_:]+|ownership lives in RAII types; use std::make_unique (a factory with a private constructor may say unique_ptr<T>(new T))
format analysis recorder replayer traces|#[[:space:]]*include <iostream>|a library never prints
TABLE
}

# The code of a file as FILE:LINE:TEXT, with // comments, one-line /* */ comments and string literals emptied.
code_only() {
  sed -E 's/"([^"\\]|\\.)*"/""/g; s@//.*@@; s@/\*.*\*/@@g; s/^[[:space:]]*\*.*//' "$1"
}

mapfile -t sources < <(tree_files 'format/*' 'analysis/*' 'recorder/*' 'replayer/*' 'traces/*' 'tests/*' iotape.cc | grep -E '\.(cc|h|c)$')
code=$(mktemp -d)
trap 'rm -rf "$code"' EXIT
for file in "${sources[@]}"; do
  mkdir -p "$code/$(dirname "$file")"
  code_only "$file" >"$code/$file"
done

in_scope() { # FILE SCOPE...
  local file=$1 scope
  shift
  for scope in "$@"; do
    # shellcheck disable=SC2254 # the scope is a pattern
    case $file in
      $scope | $scope/*) return 0 ;;
    esac
  done
  return 1
}

while IFS= read -r rule; do
  scope=${rule%%|*}
  rest=${rule#*|}
  why=${rest##*|}
  pattern=${rest%|*}
  set -f
  # shellcheck disable=SC2086
  while IFS=: read -r file line text; do
    in_scope "$file" $scope || continue
    # An eBPF program prints and ends by its own rules.
    [[ $file == recorder/bpf/* ]] && continue
    # A line may say why it is an exception.
    sed -n "${line}p" "$file" | grep -q 'lint: allowed' && continue
    finding "$file:$line: $(sed 's/^[[:space:]]*//' <<<"$text") -- $why"
  done < <(cd "$code" && grep -rnE -- "$pattern" . | sed 's@^\./@@')
  set +f
done < <(rules)
finish
