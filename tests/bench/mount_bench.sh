#!/usr/bin/env bash
# Sequential writing (fsynced) and cold reading of one large file on a mount of ours, beside dd on the host file that
# holds the image; medians of several rounds, taken in turns. Figures only: nothing passes or fails.
# usage: mount_bench.sh IOTAPE [DIRECTORY [MIB [ROUNDS]]]
set -euo pipefail
iotape=$1
where=$(mktemp -d "${2:-/tmp}/iotape-bench.XXXXXX")
mib=${3:-4096}
rounds=${4:-3}
cleanup() {
  mountpoint -q "$where/mnt" && "$iotape" mount -u "$where/mnt"
  rm -f "$where/image" "$where/host" && rmdir "$where/mnt" "$where"
}
trap cleanup EXIT
mkdir "$where/mnt"

seconds() { # COMMAND...: how long it took
  local from to
  from=$(date +%s.%N)
  "$@" >/dev/null 2>&1
  to=$(date +%s.%N)
  echo "$to - $from" | bc
}
drop_caches() { sync && echo 3 >/proc/sys/vm/drop_caches; }
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

declare -A taken
for ((round = 0; round < rounds; ++round)); do
  rm -f "$where/host"
  drop_caches
  taken[host-write]+="$(seconds dd if=/dev/zero of="$where/host" bs=1M count="$mib" conv=fsync) "
  drop_caches
  taken[host-read]+="$(seconds dd if="$where/host" of=/dev/null bs=1M) "
  rm -f "$where/host" "$where/image"

  truncate -s "$((mib + mib / 8 + 256))M" "$where/image"
  mke2fs -q -F -t ext3 "$where/image"
  "$iotape" mount -q "$where/image" "$where/mnt"
  drop_caches
  taken[mount-write]+="$(seconds dd if=/dev/zero of="$where/mnt/file" bs=1M count="$mib" conv=fsync) "
  "$iotape" mount -u "$where/mnt"
  drop_caches
  "$iotape" mount -q "$where/image" "$where/mnt"
  taken[mount-read]+="$(seconds dd if="$where/mnt/file" of=/dev/null bs=1M) "
  "$iotape" mount -u "$where/mnt"
done

for what in write read; do
  host=$(tr ' ' '\n' <<<"${taken[host-$what]% }" | median)
  mount=$(tr ' ' '\n' <<<"${taken[mount-$what]% }" | median)
  awk -v w="$what" -v h="$host" -v m="$mount" -v n="$mib" -v r="$rounds" 'BEGIN {
    printf "%-5s host %7.1f MiB/s, mount %7.1f MiB/s, %.2f of the host (medians of %d)\n", w, n / h, n / m, h / m, r }'
done
