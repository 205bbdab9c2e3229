#!/usr/bin/env bash
# setup.sh does what it says, seen with stand-ins for dpkg-query, apt-get, id and sudo: nothing is installed here.
set -euo pipefail
setup=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/setup.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# The programs setup.sh may use, and nothing else of this machine.
stand_ins() { # WHO(root|user) WHAT-IS-INSTALLED(all|few) APT(works|fails|offline|none) SUDO(sudo|none)
  rm -rf "$scratch/bin" "$scratch/calls"
  mkdir "$scratch/bin"
  : >"$scratch/calls"
  local tool
  for tool in bash sh env awk sed grep comm sort cat printf mktemp rm tail head paste; do
    ln -s "$(command -v "$tool")" "$scratch/bin/$tool"
  done
  printf '#!/bin/sh\n[ %s = root ] && echo 0 || echo 1000\n' "$1" >"$scratch/bin/id"
  if [ "$2" = all ]; then
    printf '#!/bin/sh\nbash %q --list | awk '"'"'{print "installed", $2}'"'"'\n' "$setup" >"$scratch/bin/dpkg-query"
  else
    printf '#!/bin/sh\necho installed cmake\necho not-installed g++\n' >"$scratch/bin/dpkg-query"
  fi
  if [ "$3" != none ]; then
    cat >"$scratch/bin/apt-get" <<STUB
#!/bin/sh
echo "apt-get \$*" >>"$scratch/calls"
case "\$* $3" in
  *--print-uris*offline) echo "E: Unable to locate package g++"; exit 100 ;;
  *--print-uris*) echo "Need to get 175 MB of archives."; echo "After this operation, 754 MB of additional disk space will be used." ;;
  *install*fails) echo "E: Failed to fetch g++"; exit 100 ;;
esac
STUB
  fi
  [ "$4" = none ] || printf '#!/bin/sh\necho "sudo $*" >>%q\n[ "$1" != -n ] || shift\nexec "$@"\n' "$scratch/calls" >"$scratch/bin/sudo"
  chmod +x "$scratch"/bin/* 2>/dev/null || true
}

run() { # ARGUMENT...: what setup.sh says, and its status
  status=0
  PATH=$scratch/bin bash "$setup" "$@" >"$scratch/out" 2>&1 </dev/null || status=$?
}
must() { # WHAT CONDITION...
  local what=$1
  shift
  "$@" || { printf 'lint: setup.sh %s (exit %s):\n' "$what" "$status" && cat "$scratch/out" "$scratch/calls" && failures=$((failures + 1)); }
}
says() { grep -qF -- "$1" "$scratch/out"; }
called() { grep -qF -- "$1" "$scratch/calls"; }
not_called() { ! called "$1"; }

stand_ins root all works none
run
must 'is silent and quick when nothing is missing' test "$status" -eq 0 -a ! -s "$scratch/out" -a ! -s "$scratch/calls"

stand_ins root few works none
run
must 'installs without a terminal' test "$status" -eq 0
must 'says so' says 'no terminal to ask on; installing them'
must 'prints the sizes' says '754 MB of additional disk space'
must 'prints each package with its reason' says 'the C++20 compiler'
must 'leaves what is installed out' bash -c "! grep -q 'reads CMakeLists.txt' '$scratch/out'"
must 'calls apt-get install' called 'install -y --no-install-recommends'
run --build
must 'knows its groups' bash -c "! grep -q strace '$scratch/out'"

stand_ins user few works sudo
run --yes
must 'uses sudo when not root, and never lets it ask without a terminal' called 'sudo -n env DEBIAN_FRONTEND'

stand_ins user few works none
run --yes
must 'fails without sudo, naming the command to run as root' test "$status" -eq 1
must 'names the remedy' says 'as root run: apt-get install'
must 'installs nothing then' not_called 'install -y'

stand_ins root few offline none
run --yes
must 'fails when apt does not know the packages' test "$status" -eq 1
must 'fetches the lists first' called 'update'
must 'asks about the network' says 'is there a network'

stand_ins root few fails none
run --yes
must 'fails when apt fails' test "$status" -eq 1
must 'keeps the last words of apt' says 'Failed to fetch'

stand_ins root few none none
run --yes
must 'fails where there is no apt' test "$status" -eq 1
must 'names Debian 12' says 'Debian 12'

if command -v script >/dev/null; then
  stand_ins root few works none
  status=0
  printf 'n\n' | script -qec "env PATH=$scratch/bin bash '$setup'" /dev/null >"$scratch/out" 2>&1 || status=$?
  must 'asks on a terminal' says 'Install them now?'
  must 'installs nothing when told not to' not_called 'install -y'
  printf 'y\n' | script -qec "env PATH=$scratch/bin bash '$setup'" /dev/null >"$scratch/out" 2>&1 || status=$?
  must 'installs when told to' called 'install -y'
  stand_ins root few works none
  script -qec "env PATH=$scratch/bin bash '$setup' --yes" /dev/null >"$scratch/out" 2>&1 </dev/null || status=$?
  must 'does not ask with --yes' bash -c "! grep -q 'Install them now' '$scratch/out'"
fi

stand_ins root all works none
run --nonsense
must 'refuses an unknown option as usage' test "$status" -eq 2
[ "$failures" -eq 0 ] || exit 1
