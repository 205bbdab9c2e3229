#!/usr/bin/env bash
# Makes the sample recordings of this folder again. Needs root, about 5 GB of disk and ten minutes.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
  cat <<'USAGE'
usage: traces/make_samples.sh [--iotape BINARY] [--out DIR] [NAME...]

Records the samples (all, or those named: untar traverse_cold traverse_hot rm
files300k dd p1_untar p1_traverse_cold p1_rm) on an ext3 loop image. Paths are neutral: everything happens below /srv in a mount namespace of
its own, as root, on a host called "sample".
USAGE
}

iotape=$here/../build/release/iotape
out=$here
names=()
inside=no
while [ $# -gt 0 ]; do
  case $1 in
    --iotape) iotape=$2 && shift ;;
    --out) out=$2 && shift ;;
    --inside) inside=yes ;; # how the script calls itself again
    -h | --help) usage && exit 0 ;;
    -*) printf 'make_samples.sh: unknown option %s\n' "$1" >&2 && usage >&2 && exit 2 ;;
    *) names+=("$1") ;;
  esac
  shift
done
iotape=$(readlink -f "$iotape")
out=$(readlink -f "$out")
[ -x "$iotape" ] || { echo "make_samples.sh: no iotape at $iotape; build it first: cmake --preset release && cmake --build --preset release" >&2 && exit 1; }
[ "$(id -u)" -eq 0 ] || { echo 'make_samples.sh: recording needs root; run it with sudo' >&2 && exit 1; }

scratch=${IOTAPE_SAMPLE_SCRATCH:-}
if [ "$inside" = no ]; then
  scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/iotape-samples-XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT TERM
  # Mounts and the host's name are private and go away with the last process inside.
  env -u SUDO_USER -u SUDO_UID -u SUDO_GID IOTAPE_SAMPLE_SCRATCH="$scratch" IOTAPE_SAMPLE_HOST="$(hostname)" \
    unshare --mount --uts --propagation private bash "$here/make_samples.sh" --inside --iotape "$iotape" --out "$scratch" "${names[@]}"
  for trace in "$scratch"/*.iotape; do
    install -m 0644 -o "${SUDO_UID:-0}" -g "${SUDO_GID:-0}" "$trace" "$out/"
  done
  ls -l "$out"/*.iotape | awk '{sum += $5; print $5, $9} END {printf "%d bytes in all (8388608 allowed)\n", sum; exit sum > 8388608}'
  exit 0
fi

hostname sample
mount -t tmpfs -o mode=755 none /srv
mkdir /srv/bin /srv/src /srv/t
cp "$iotape" /srv/bin/iotape
export PATH=/srv/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C TZ=UTC HOME=/srv
cd /srv

wanted() { [ ${#names[@]} -eq 0 ] || [[ " ${names[*]} " == *" $1 "* ]]; }

make_archive() { # FILE FILES BYTES
  mkdir "$scratch/archive"
  iotape workload tree "$scratch/archive/tree" --files "$2" --bytes "$3" --times -q >/dev/null
  # On the tmpfs, not bound in from a disk: a trace tells where the mounts it meets come from.
  rm -f /srv/src/*.tar
  tar --create --file "/srv/src/$1" --sort=name --owner=root:0 --group=root:0 -C "$scratch/archive" tree
  rm -rf "$scratch/archive"
}

fresh_ext3() { # MKFS-OPTION...
  ! mountpoint -q /srv/t || umount /srv/t
  rm -f "$scratch/disk.img"
  truncate -s 2G "$scratch/disk.img"
  # A fixed identity and hash seed: names land in the same htree leaves each time the samples are made.
  mkfs.ext3 -q -F -U 6f6e6574-6170-4000-8000-000000002002 -E hash_seed=6f6e6574-6170-4000-8000-000000002003 "$@" "$scratch/disk.img"
  mount -t ext3 -o loop,noatime "$scratch/disk.img" /srv/t
}

record() { # NAME RECORD-OPTION... -- SHELL-LINE
  local name=$1 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1") && shift; done
  # A step that is not wanted is still done: the next one starts from what it leaves.
  if ! wanted "$name"; then
    [[ " ${options[*]} " != *' --cold '* ]] || { sync -f /srv/t && echo 3 >/proc/sys/vm/drop_caches; }
    env -i PATH="$PATH" LC_ALL=C sh -c "$2"
    return
  fi
  echo "== $name: $2"
  # Through a pipe: a trace names the files that its command's descriptors stand for, whatever this script writes to.
  env -i PATH="$PATH" LC_ALL=C iotape record -o "$scratch/$name.iotape" -u root --args name -d "$(findmnt -n -o SOURCE /srv/t)" "${options[@]}" -- sh -c "$2" \
    </dev/null 2>&1 | cat
}

# What P1 of November 2002 did, in its words: find . -type f | xargs -n 500 cat > /dev/null
record_tree_life() { # PREFIX ARCHIVE
  fresh_ext3
  record "$1untar" -- "tar xf /srv/src/$2 -C /srv/t && sync -f /srv/t"
  record "$1traverse_cold" --cold -- 'cd /srv/t/tree && find . -type f | xargs -n 500 cat >/dev/null'
  # One hot traversal is enough: where the tree fits into memory it holds no requests that would differ.
  [ -n "$1" ] || record traverse_hot -- 'cd /srv/t/tree && find . -type f | xargs -n 500 cat >/dev/null'
  record "$1rm" --cold -- 'rm -rf /srv/t/tree && sync -f /srv/t'
}

make_archive tree.tar 17000 250M
record_tree_life '' tree.tar
make_archive p1.tar 13035 192M
record_tree_life p1_ p1.tar
fresh_ext3 -N 400000
record files300k -- '/srv/bin/iotape workload -q files300k /srv/t/d && sync -f /srv/t'
fresh_ext3
record dd -- 'dd if=/dev/zero of=/srv/t/file bs=1M count=500 && sync -f /srv/t'
umount /srv/t

# Nothing may tell of the machine: its name, its users, or the folder this was built in.
for trace in "$scratch"/*.iotape; do
  # By its standard input, so that info does not print where the file lies.
  { iotape dump -q - <"$trace" && iotape info -q --history - <"$trace"; } >"$scratch/words"
  for word in "$scratch" "$here" "$IOTAPE_SAMPLE_HOST" /home/ /root/ /tmp/ /var/tmp/; do # lint: allowed
    whole=() # a host's name may be two letters long: only as a word of its own
    [ "$word" != "$IOTAPE_SAMPLE_HOST" ] || whole=(-w)
    if grep -m 1 -F "${whole[@]}" -- "$word" "$scratch/words"; then
      echo "make_samples.sh: $(basename "$trace") tells of this machine: $word" >&2
      exit 1
    fi
  done
done
