#!/usr/bin/env bash
# Includes go one way (README.md, "Map of rooms"). An upward include, protobuf outside format/ or libbpf outside recorder/ fails.
. "$(dirname "${BASH_SOURCE[0]}")/lint.sh"

# room: the rooms it may include from, besides itself.
allowed() {
  case $1 in
    format/base) echo '' ;;
    format) echo 'format/base' ;;
    recorder) echo 'format format/base' ;;
    analysis) echo 'format format/base' ;;
    traces) echo 'format format/base' ;;
    replayer/ext3) echo 'format format/base analysis' ;;
    replayer/machine) echo 'format format/base analysis replayer/ext3' ;;
    replayer/target) echo 'format format/base analysis replayer/machine replayer/ext3' ;;
    replayer/engine) echo 'format format/base analysis replayer/machine replayer/ext3 replayer/target' ;;
    replayer) echo 'format format/base analysis replayer/machine replayer/ext3 replayer/target replayer/engine' ;;
    front) echo 'format format/base analysis recorder traces replayer replayer/machine replayer/ext3 replayer/target replayer/engine' ;;
    tests) echo 'tests format format/base analysis recorder traces replayer replayer/machine replayer/ext3 replayer/target replayer/engine' ;;
    *) return 1 ;;
  esac
}

room_of() { # PATH of a file or of what an include names
  case $1 in
    format/base/*) echo format/base ;;
    # A room's commands stand at its top: they may use all of it.
    replayer/command/*) echo replayer ;;
    replayer/machine/* | replayer/ext3/* | replayer/target/* | replayer/engine/*) echo "${1%/*}" | cut -d/ -f1-2 ;;
    format/* | analysis/* | recorder/* | traces/* | replayer/* | tests/*) echo "${1%%/*}" ;;
    iotape.cc) echo front ;;
    *) echo '' ;;
  esac
}

while IFS=: read -r file line text; do
  named=$(sed -E 's/.*#[[:space:]]*include[[:space:]]*"([^"]*)".*/\1/' <<<"$text")
  from=$(room_of "$file")
  to=$(room_of "$named")
  # Names without a room are generated headers (trace.pb.h, skeletons); the next checks are for them.
  [ -n "$to" ] || continue
  [ "$from" = "$to" ] && continue
  [[ " $(allowed "$from") " == *" $to "* ]] || finding "$file:$line: $from must not include from $to ($named)"
done < <(tree_grep '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' -- '*.h' '*.cc' '*.c')

outside() { # ROOM-REGEX PATTERN WHY: includes that only one room may have
  while IFS=: read -r file line text; do
    [[ $file =~ ^($1)/ ]] || finding "$file:$line: $3: $text"
  done < <(tree_grep "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]$2" -- '*.h' '*.cc' '*.c')
}
outside 'format|tests/format|tests/fuzz' '(google/protobuf|.*\.pb\.h)' 'protobuf stays inside format/'
outside 'recorder|tests/recorder' '(bpf/|bcc/|.*\.skel\.h)' 'libbpf and bcc stay inside recorder/'
outside 'replayer/fuse_mount' 'fuse(_lowlevel|_common|_opt)?\.h' 'libfuse stays inside replayer/fuse_mount/'

# Nor may it come in through one of format's own headers.
while IFS= read -r header; do
  grep -qE '#[[:space:]]*include.*(pb\.h|google/protobuf)' "$header" || continue
  while IFS=: read -r file line text; do
    finding "$file:$line: $header brings protobuf out of format/"
  done < <(tree_grep "include \"$header\"" -- analysis recorder replayer traces iotape.cc)
done < <(tree_files 'format/*.h')
finish
