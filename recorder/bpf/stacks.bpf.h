/* Call stacks of calls that failed or were slow. User frames are kept as (build-id, offset), which can be named after
 * the process is gone. The kernel stack of a call that waited is where it last left the CPU: at its end there is
 * nothing left to see. */
#ifndef IOTAPE_STACKS_BPF_H
#define IOTAPE_STACKS_BPF_H

#include "recorder/bpf/emit.bpf.h"
#include "recorder/stack_wire.h"

#define STACK_ERRNO_LIMIT 4095

struct user_stack {
  struct bpf_stack_build_id frames[WIRE_STACK_FRAMES];
};
struct kernel_stack {
  __u64 frames[WIRE_STACK_FRAMES];
};

/* Sized by the user side: they cost memory even when nothing is put in. Stacks are told apart by their addresses; two
 * with the same hash cannot both be kept, the second one's call then has none. */
struct {
  __uint(type, BPF_MAP_TYPE_STACK_TRACE);
  __uint(map_flags, BPF_F_STACK_BUILD_ID);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(struct user_stack));
} user_stacks __weak SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_STACK_TRACE);
  __uint(max_entries, 1);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(struct kernel_stack));
} kernel_stacks __weak SEC(".maps");

static __always_inline void begin_stacks(struct wire_call* call) {
  call->user_stack = -1;
  call->kernel_stack = -1;
}

/* The call is about to leave the CPU. */
static __always_inline void take_waiting_stack(void* ctx, struct wire_call* call) {
  if (config.stacks_slower_than) call->kernel_stack = (__s32)bpf_get_stackid(ctx, &kernel_stacks, 0);
}

/* The call is over. */
static __always_inline void take_stacks(void* ctx, struct wire_call* call) {
  bool failed = config.stacks_failed && call->result < 0 && call->result >= -STACK_ERRNO_LIMIT;
  bool slow = config.stacks_slower_than && call->duration >= config.stacks_slower_than;
  if (!failed && !slow) {
    begin_stacks(call);
    return;
  }
  call->user_stack = (__s32)bpf_get_stackid(ctx, &user_stacks, BPF_F_USER_STACK);
  if (call->kernel_stack < 0) call->kernel_stack = (__s32)bpf_get_stackid(ctx, &kernel_stacks, 0);
}

#endif
