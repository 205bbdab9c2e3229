/* The variables the user side sets, defined once. */
#include "recorder/bpf/emit.bpf.h"

const volatile struct wire_config config = {};
volatile __u64 loss_epoch = 1;
volatile __u8 closing = 0;

/* The kernel demands a GPL-compatible licence of programs that use tracing helpers. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";
