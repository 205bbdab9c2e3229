#!/usr/bin/env bash
# The README's "One event's walk", for real: record an untar and an rm -rf on ext3, replay them into a directory and onto
# a fresh filesystem, compare. Trees must be equal, every call accounted for, figures be numbers.
#   one_events_walk.sh IOTAPE
set -euo pipefail
iotape=$(readlink -f "${1:?usage: one_events_walk.sh IOTAPE}")

if [ "$(id -u)" -ne 0 ] || [ ! -r /sys/kernel/btf/vmlinux ]; then
  echo 'skipped: needs root and /sys/kernel/btf/vmlinux'
  exit 77
fi
# What is mounted goes away with the last process of this namespace, whatever ends the test.
[ -n "${IOTAPE_TEST_NAMESPACE:-}" ] || IOTAPE_TEST_NAMESPACE=1 exec unshare --mount --propagation private bash "$0" "$iotape"

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/iotape-e2e-XXXXXX")
trap 'cd /; umount "$scratch/mnt" 2>/dev/null || true; rm -rf "$scratch"' EXIT
cd "$scratch"

failures=0
expect() { # WHAT COMMAND...
  local what=$1
  shift
  "$@" || { printf 'FAILED: %s: %s\n' "$what" "$*" && failures=$((failures + 1)); }
}
# A number out of a JSON document; anything that is not a JSON number is an error.
number() { jq -e "$2 | if type == \"number\" then . else error(\"not a number\") end" "$1"; }
equal() { [ "$1" = "$2" ] || { printf '%s is not %s\n' "$1" "$2" && false; }; }

# Names, types, sizes, modes, whole seconds of file times, link counts and targets of a tree. Directory sizes are the
# filesystem's own business, as are link counts of directories.
describe() { # DIRECTORY
  (cd "$1" && find . -mindepth 1 \( -type d -printf '%p d %m\n' \) -o \( -printf '%p %y %s %m %T@ %n %l\n' \) | sort)
}

make_archive() {
  "$iotape" workload -q tree tree --files 400 --bytes 4M --times >/dev/null
  ln -s ../nowhere tree/a_symbolic_link
  ln tree/arch/Makefile tree/a_hard_link
  mkfifo tree/a_fifo
  printf x >"tree/a name with spaces, \"quotes\" and"$'\n'"a newline"
  chmod 0751 tree/arch
  setfattr -n user.note -v kept tree/arch/Makefile
  tar --create --xattrs --file tree.tar --sort=name --owner=root:0 --group=root:0 tree
}

accounted_for() { # INFO-OF-THE-RECORDING REPLAY-JSON
  # Skipped calls are told by reason.
  equal "$(number "$1" .syscalls)" "$(number "$2" '.replay.issued + ([.replay.skipped_by_reason[]] | add)')"
}

make_archive
mkdir mnt
truncate -s 256M disk.img
mkfs.ext3 -q -F disk.img
mount -t ext3 -o loop,noatime disk.img mnt
device=$(findmnt -n -o SOURCE mnt)

status=0
"$iotape" record -q -u root -d "$device" -o untar.iotape -- sh -c "tar xf $scratch/tree.tar --xattrs -C $scratch/mnt && sync -f $scratch/mnt && exit 7" || status=$?
expect 'record passes on the status of the command' equal "$status" 7
describe mnt/tree >untar.expected
"$iotape" record -q -u root -d "$device" -o rm.iotape -- rm -rf "$scratch/mnt/tree"
umount mnt

"$iotape" info untar.iotape --json >untar.info
expect 'nothing is lost' equal "$(number untar.info .lost)" 0
expect 'requests are recorded' test "$(number untar.info .requests)" -gt 0

mkdir here
"$iotape" replay -q untar.iotape "dir:$scratch/here" --json >untar.dir.json
expect 'every call of the untar is issued or skipped' accounted_for untar.info untar.dir.json
describe here/tree >untar.dir || true
expect 'a replayed untar gives the same tree' diff untar.expected untar.dir
expect 'extended attributes are replayed' equal "$(getfattr --only-values -n user.note here/tree/arch/Makefile 2>&1)" kept
expect 'a directory that is not empty is refused' bash -c "! '$iotape' replay -q untar.iotape 'dir:$scratch/here' 2>/dev/null"

for filesystem in ext4 xfs btrfs; do
  size=512M
  "$iotape" replay -q untar.iotape "kernel:$filesystem,size=$size" -o "untar-$filesystem.iotape" --json >"untar.$filesystem.json"
  expect "every call is accounted for on $filesystem" accounted_for untar.info "untar.$filesystem.json"
  "$iotape" seeks "untar-$filesystem.iotape" --json >"seeks.$filesystem.json"
  expect "$filesystem made requests" test "$(number "seeks.$filesystem.json" '[.. | .requests? | numbers] | max')" -gt 0
done

mkdir there
"$iotape" replay -q rm.iotape "dir:$scratch/there" --json >rm.dir.json
expect 'a replayed rm -rf leaves nothing' equal "$(find there -mindepth 1 | wc -l)" 0

"$iotape" compare recorded: untar.iotape ext4: untar-ext4.iotape xfs: untar-xfs.iotape --json >compare.json
expect 'compare speaks JSON of its schema' equal "$(jq -r .schema compare.json)" iotape.compare/1
"$iotape" compare recorded: untar.iotape ext4: untar-ext4.iotape >compare.txt
expect 'compare fits 72 columns when not on a terminal' bash -c "! grep -E '^.{73,}' compare.txt"
"$iotape" plot untar.iotape untar-ext4.iotape -o heads.svg -q
expect 'plot draws' grep -q '<svg' heads.svg

expect 'no mount is left' bash -c "! grep -q '$scratch' /proc/self/mounts"
[ "$failures" -eq 0 ] || exit 1
