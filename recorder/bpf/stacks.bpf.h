/* Call stacks of calls that failed or were slow. */
#ifndef IOTAPE_STACKS_BPF_H
#define IOTAPE_STACKS_BPF_H

#include "recorder/bpf/emit.bpf.h"

static __always_inline void take_stacks(void* ctx, struct wire_call* call) {
  call->user_stack = -1;
  call->kernel_stack = -1;
}

#endif
