/* Records of variable size are built in a per-CPU scratch area: a fixed head, then items. Each append function is
 * global, so that the verifier looks at it once and not at every place that calls it; an offset that comes back is
 * only a number to it and is masked before use. Tracing programs run with preemption off: nobody else writes here. */
#ifndef IOTAPE_TAIL_BPF_H
#define IOTAPE_TAIL_BPF_H

#include "recorder/bpf/extract.bpf.h"

#define SCRATCH_MASK 0x3FFFU
#define SCRATCH_SLACK 8192U
struct scratch {
  __u8 bytes[SCRATCH_MASK + 1 + SCRATCH_SLACK];
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct scratch);
} scratch_area __weak SEC(".maps");

static __always_inline struct scratch* my_scratch(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&scratch_area, &zero);
}

static __always_inline __u32 padded(__u32 length) { return (length + 7U) & ~7U; }

static __always_inline void put_item(__u8* place, __u32 type, __u32 state, __u32 length) {
  struct wire_item* item = (struct wire_item*)place;
  item->type = (__u8)type;
  item->state = (__u8)state;
  item->length = (__u16)length;
  item->padding = 0;
}

#endif
