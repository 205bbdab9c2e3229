/* Layer 1, emit: the maps every program shares, the counters, and the one way into the ring. A record that finds no
 * room is counted by cause and CPU, never forgotten. Included by every .bpf.c; the maps are weak so that the linker
 * merges them. */
#ifndef IOTAPE_EMIT_BPF_H
#define IOTAPE_EMIT_BPF_H

#include "recorder/bpf/kernel_types.bpf.h"
#include "recorder/wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

extern const volatile struct wire_config config;
extern volatile __u64 loss_epoch; /* changed by the user side each time it has read the losses */
extern volatile __u8 closing;     /* the recording ends: requests under way go on to their end, no new ones begin */

/* A traced task. Its being there is what "traced" means; `call` is the call under way in wire layout. */
struct task_state {
  struct wire_task_start start;
  struct wire_call call;
  struct wire_file file_b;
  __s64 numbers[4]; /* what pointers held before the call, see WIRE_EXTRA_* */
  __u64 blocked_in; /* when the thread left the CPU inside the call; 0: it has not */
  __u8 in_call;
  __u8 fresh;        /* a new child on its way out of the call that made it */
  __u8 have_numbers; /* bit per entry of numbers that could be read */
  __u8 padding[5];
};

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct task_state);
} tasks __weak SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 64 * 1024 * 1024);
} ring __weak SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct wire_counters);
} counters __weak SEC(".maps");

static __always_inline struct wire_counters* my_counters(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&counters, &zero);
}

/* A call or request that has to be in the file or counted as lost. */
static __always_inline void count_seen(void) {
  struct wire_counters* c = my_counters();
  if (c) c->seen++;
}

static __always_inline void count_loss(__u32 cause) {
  struct wire_counters* c = my_counters();
  if (!c || cause >= WIRE_LOSS_CAUSES) return;
  struct wire_loss* loss = &c->losses[cause];
  __u64 now = bpf_ktime_get_boot_ns();
  if (loss->epoch != loss_epoch) {
    loss->epoch = loss_epoch;
    loss->first = now;
  }
  loss->last = now;
  loss->count++;
}

/* A record that is neither call nor request (fork, state, ...) found no room: not part of seen == written + lost. */
static __always_inline void count_other_lost(void) {
  struct wire_counters* c = my_counters();
  if (c) c->other_lost++;
}

/* Room for a record of constant size, its head filled in, or NULL and a loss counted. To be submitted with
 * emit_submit. The memory is not zeroed: set every byte. */
static __always_inline void* emit_reserve(__u16 kind, const __u64 size) {
  struct wire_head* head = bpf_ringbuf_reserve(&ring, size, 0);
  if (!head) {
    count_loss(WIRE_LOSS_RING_FULL);
    return NULL;
  }
  head->kind = kind;
  head->size = (__u16)size;
  head->cpu = bpf_get_smp_processor_id();
  return head;
}

/* No wake-up: the user side drains on a timer. An adaptive wake-up per record made untar 3.2 times slower. */
static __always_inline void emit_submit(void* record) { bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP); }

/* Copies a finished record of variable size; false and a loss counted when there is no room. */
static __always_inline bool emit_copy(void* record, __u64 size) {
  if (bpf_ringbuf_output(&ring, record, size, BPF_RB_NO_WAKEUP) == 0) return true;
  count_loss(WIRE_LOSS_RING_FULL);
  return false;
}

/* For records that are neither call nor request. */
static __always_inline void emit_other(void* record, __u64 size) {
  struct wire_counters* c = my_counters();
  if (c) c->other_seen++;
  if (bpf_ringbuf_output(&ring, record, size, BPF_RB_NO_WAKEUP) != 0) count_other_lost();
}

/* The state of a traced task, NULL for all others. The test of bpf_storage spares the tasks that are not traced the
 * helper call: it is what keeps their cost near that of an empty hook. */
static __always_inline struct task_state* state_of(struct task_struct* task) {
  if (config.fast_storage_test && !task->bpf_storage) return NULL;
  return bpf_task_storage_get(&tasks, task, 0, 0);
}

#define PF_KTHREAD 0x00200000U

/* Whether the current task, which has no state, is one that record_all takes in at its first call. */
static __always_inline bool is_asked_for(struct task_struct* task) {
  if (!config.record_all || (task->flags & PF_KTHREAD) || (__u32)task->tgid == config.own_process) return false;
  if (config.record_user && task->cred->uid.val != config.user_id) return false;
  return !config.record_cgroup || bpf_get_current_ancestor_cgroup_id(config.cgroup_level) == config.cgroup;
}

static __always_inline bool is_traced(struct task_struct* task) {
  struct task_state* state = state_of(task);
  return state && state->start.armed;
}

#endif
