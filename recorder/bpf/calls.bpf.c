/* System calls: the enter hook keeps time, arguments and what the call will change; the exit hook reads strings (by
 * then the kernel has faulted their pages in) and writes one record. One generic pair driven by a table in rodata. */
#include "recorder/bpf/place.bpf.h"
#include "recorder/bpf/stacks.bpf.h"

#define TS_COMPAT 2U
#define X32_BIT 0x40000000L
#define NUMBER_CHDIR 80
#define NUMBER_PIVOT_ROOT 155
#define NUMBER_CHROOT 161
#define NUMBER_IO_SUBMIT 209
#define NUMBER_UNSHARE 272
#define NUMBER_SETNS 308
#define NUMBER_IO_URING_ENTER 426
#define CALL_FIXED offsetof(struct wire_call, args)

const volatile struct wire_shape shapes[WIRE_SHAPE_SLOTS] = {};

/* Calls of a foreign ABI and unknown numbers have the raw row: six arguments, nothing looked into. */
static __always_inline const volatile struct wire_shape* shape_of(const struct wire_call* call) {
  __u32 index = call->number;
  if (call->flags & (WIRE_CALL_I386 | WIRE_CALL_X32) || index >= WIRE_SHAPES) index = WIRE_SHAPE_RAW;
  asm volatile("" : "+r"(index)); /* keeps the mask, which the verifier needs and the compiler does not */
  return &shapes[index & (WIRE_SHAPE_SLOTS - 1)];
}

/* Argument `which`, 1-based. The mask is wider than the array but stays within struct task_state: it bounds the index
 * for the verifier, the shapes keep it right. */
static __always_inline __u64 argument(const struct task_state* state, __u32 which) {
  __u32 index = which - 1;
  asm volatile("" : "+r"(index));
  index &= 7;
  return state->call.args[index];
}

/* ---- items at the end of a record ---- */

/* A string of the process; limit + 1 so that a string cut off can be told from one that just fits. */
__noinline __u32 append_text(__u32 at, __u32 type, __u64 pointer) {
  struct scratch* area = my_scratch();
  if (!area) return at;
  __u8* place = area->bytes + (at & SCRATCH_MASK);
  __u32 state = WIRE_TEXT_PRESENT;
  long length = 0;
  if (!pointer) {
    state = WIRE_TEXT_NULL;
  } else {
    length = bpf_probe_read_user_str(place + 8, WIRE_PATH_LIMIT + 1, (const void*)pointer) - 1;
    if (length >= WIRE_PATH_LIMIT) state = WIRE_TEXT_TRUNCATED;
    if (length < 0) {
      state = WIRE_TEXT_FAULT;
      length = 0;
    }
  }
  put_item(place, type, state, (__u32)length);
  return (at & SCRATCH_MASK) + 8 + padded((__u32)length & 0x1FFF);
}

/* `length` bytes of the process, at most 256. */
__noinline __u32 append_user(__u32 at, __u32 type, __u64 pointer, __u32 length) {
  struct scratch* area = my_scratch();
  if (!area || !pointer) return at;
  __u8* place = area->bytes + (at & SCRATCH_MASK);
  if (length > 256) length = 256;
  if (bpf_probe_read_user(place + 8, length, (const void*)pointer)) return at;
  put_item(place, type, WIRE_TEXT_PRESENT, length);
  return (at & SCRATCH_MASK) + 8 + padded(length);
}

__noinline __u32 append_segments(__u32 at, __u64 vector, __u32 count) {
  struct scratch* area = my_scratch();
  if (!area) return at;
  __u8* place = area->bytes + (at & SCRATCH_MASK);
  if (count > WIRE_SEGMENT_LIMIT) count = WIRE_SEGMENT_LIMIT;
  if (!vector || bpf_probe_read_user(place + 8, count * 16, (const void*)vector)) return at;
  __u64* words = (__u64*)(place + 8);
  for (__u32 i = 0; i < WIRE_SEGMENT_LIMIT; i++) words[i] = words[2 * i + 1];
  put_item(place, WIRE_ITEM_SEGMENTS, WIRE_TEXT_PRESENT, count * 8);
  return (at & SCRATCH_MASK) + 8 + count * 8;
}

static __always_inline __u32 append_file(struct scratch* area, __u32 at, const struct wire_file* file) {
  __u8* place = area->bytes + (at & SCRATCH_MASK);
  put_item(place, WIRE_ITEM_FILE_B, WIRE_TEXT_PRESENT, sizeof(*file));
  __builtin_memcpy(place + 8, file, sizeof(*file));
  return (at & SCRATCH_MASK) + 8 + sizeof(*file);
}

static __always_inline __u32 append_numbers(struct scratch* area, __u32 at, const struct task_state* state) {
  __u8* place = area->bytes + (at & SCRATCH_MASK);
  put_item(place, WIRE_ITEM_NUMBERS, state->have_numbers, sizeof(state->numbers));
  __builtin_memcpy(place + 8, state->numbers, sizeof(state->numbers));
  return (at & SCRATCH_MASK) + 8 + sizeof(state->numbers);
}

/* What an open opened, and what was known of it unless the call made it. */
static __always_inline __u32 append_opened(struct scratch* area, __u32 at, struct task_struct* task, __u32 descriptor) {
  struct file* file = file_at(task, descriptor);
  if (!file) return at;
  struct inode* inode = inode_of(file);
  if (!inode) return at;
  struct wire_file* opened = (struct wire_file*)(area->bytes + (at & SCRATCH_MASK) + 8);
  put_item(area->bytes + (at & SCRATCH_MASK), WIRE_ITEM_FILE_B, WIRE_TEXT_PRESENT, sizeof(*opened));
  identify(inode, opened);
  at = (at & SCRATCH_MASK) + 8 + sizeof(*opened);
  __u32 mode = config.have_rdonly_cast ? file->f_mode : BPF_CORE_READ(file, f_mode);
  if (mode & FMODE_CREATED) {
    opened->flags |= WIRE_FILE_CREATED;
    return at;
  }
  if (!config.record_states || (opened->flags & WIRE_FILE_INTERNAL)) return at;
  __u8* place = area->bytes + (at & SCRATCH_MASK);
  put_item(place, WIRE_ITEM_STATE, WIRE_TEXT_PRESENT, sizeof(struct wire_state));
  describe(inode, (struct wire_state*)(place + 8));
  return (at & SCRATCH_MASK) + 8 + sizeof(struct wire_state);
}

/* Requests whose third argument points to a number worth keeping. */
static __always_inline bool ioctl_points_to_number(__u32 request) {
  return request == 0x40086602U || request == 0x80086601U || /* FS_IOC_SETFLAGS, FS_IOC_GETFLAGS */
         request == 0x401C5820U || request == 0x801C581FU || /* FS_IOC_FSSETXATTR, FSGETXATTR */
         request == 0x4020940DU;                             /* FICLONERANGE: begins with the source descriptor */
}

static __always_inline __u32 append_value(__u32 at, __u64 pointer, __u64 size) {
  if (size > WIRE_VALUE_LIMIT) size = WIRE_VALUE_LIMIT;
  return append_user(at, WIRE_ITEM_VALUE, pointer, (__u32)size);
}

__noinline __u32 append_xattr_arguments(__u32 at, __u64 pointer) {
  struct {
    __u64 value;
    __u32 size;
    __u32 flags;
  } given = {};
  if (bpf_probe_read_user(&given, sizeof(given), (const void*)pointer)) return at;
  at = append_user(at, WIRE_ITEM_NUMBERS, pointer, sizeof(given));
  return append_value(at, given.value, given.size);
}

static __always_inline __u32 append_extra(struct scratch* area, __u32 at, struct task_struct* task,
                                          struct task_state* state, __u32 extra) {
  const __u64* args = state->call.args;
  const __s64 result = state->call.result;
  switch (extra) {
    case WIRE_EXTRA_SEGMENTS:
      return append_segments(at, args[1], args[2] > 1024 ? 1024 : (__u32)args[2]);
    case WIRE_EXTRA_HOW:
      return append_user(at, WIRE_ITEM_NUMBERS, args[2], args[3] < 24 ? (__u32)args[3] : 24);
    case WIRE_EXTRA_TIMESPECS:
      return append_user(at, WIRE_ITEM_NUMBERS, args[2], 32);
    case WIRE_EXTRA_TIMEVALS:
      return append_user(at, WIRE_ITEM_NUMBERS, args[1], 32);
    case WIRE_EXTRA_TIMEVALS_AT:
      return append_user(at, WIRE_ITEM_NUMBERS, args[2], 32);
    case WIRE_EXTRA_UTIMBUF:
      return append_user(at, WIRE_ITEM_NUMBERS, args[1], 16);
    case WIRE_EXTRA_VALUE:
      return append_value(at, args[2], args[3]);
    case WIRE_EXTRA_XATTRAT:
      return append_xattr_arguments(at, args[4]);
    case WIRE_EXTRA_PAIR:
      return result < 0 ? at : append_user(at, WIRE_ITEM_NUMBERS, args[0], 8);
    case WIRE_EXTRA_SOCKETPAIR:
      return result < 0 ? at : append_user(at, WIRE_ITEM_NUMBERS, args[3], 8);
    case WIRE_EXTRA_OPENED_HOW:
      at = append_user(at, WIRE_ITEM_NUMBERS, args[2], args[3] < 24 ? (__u32)args[3] : 24);
      return result < 0 ? at : append_opened(area, at, task, (__u32)result);
    case WIRE_EXTRA_OPENED:
      return result < 0 ? at : append_opened(area, at, task, (__u32)result);
    case WIRE_EXTRA_STAT:
      return result < 0 || !config.record_states ? at : append_user(at, WIRE_ITEM_STAT, args[1], 144);
    case WIRE_EXTRA_STAT_AT:
      return result < 0 || !config.record_states ? at : append_user(at, WIRE_ITEM_STAT, args[2], 144);
    case WIRE_EXTRA_STATX:
      return result < 0 || !config.record_states ? at : append_user(at, WIRE_ITEM_STATX, args[4], 256);
    case WIRE_EXTRA_IOCTL:
      return ioctl_points_to_number((__u32)args[1]) ? append_user(at, WIRE_ITEM_NUMBERS, args[2], 8) : at;
    default:
      return at;
  }
}

/* ---- the beginning of a call ---- */

static __always_inline void read_before(struct task_state* state, __u32 slot, __u64 pointer, __u32 length) {
  if (slot >= 4 || length > sizeof(state->numbers) - slot * 8) return;
  if (pointer && bpf_probe_read_user(&state->numbers[slot], length, (const void*)pointer) == 0)
    state->have_numbers |= (__u8)(1U << slot);
}

static __always_inline bool is_lock_command(__u64 command) {
  return (command >= 5 && command <= 7) || (command >= 36 && command <= 38);
}

/* In-out arguments: their values before the call. */
static __always_inline void begin_extra(struct task_state* state, __u32 extra) {
  const __u64* args = state->call.args;
  state->have_numbers = 0;
  if (extra == WIRE_EXTRA_OFFSETS) {
    read_before(state, 0, args[1], 8);
    read_before(state, 1, args[3], 8);
  } else if (extra == WIRE_EXTRA_OFFSET) {
    read_before(state, 0, args[2], 8);
  } else if (extra == WIRE_EXTRA_FLOCK && is_lock_command(args[1])) {
    read_before(state, 0, args[2], 24);
  } else if (extra == WIRE_EXTRA_CLONE3) {
    read_before(state, 0, args[0], 8);
  }
}

static __always_inline void resolve_argument(struct task_struct* task, struct task_state* state, __u32 which,
                                             struct wire_file* out, __s64* position) {
  __s32 descriptor = AT_FDCWD;
  if (which != WIRE_FILE_CWD) descriptor = (__s32)argument(state, which);
  resolve_descriptor(task, descriptor, out, position);
}

static __always_inline void take_arguments(struct wire_call* call, const struct pt_regs* regs) {
  if (call->flags & WIRE_CALL_I386) {
    call->args[0] = (__u32)regs->bx;
    call->args[1] = (__u32)regs->cx;
    call->args[2] = (__u32)regs->dx;
    call->args[3] = (__u32)regs->si;
    call->args[4] = (__u32)regs->di;
    call->args[5] = (__u32)regs->bp;
    return;
  }
  call->args[0] = regs->di;
  call->args[1] = regs->si;
  call->args[2] = regs->dx;
  call->args[3] = regs->r10;
  call->args[4] = regs->r8;
  call->args[5] = regs->r9;
}

static __always_inline void begin_call(struct task_struct* task, struct task_state* state, const struct pt_regs* regs,
                                       long id) {
  struct wire_call* call = &state->call;
  call->number = (__u16)id;
  call->flags = (task->thread_info.status & TS_COMPAT) ? WIRE_CALL_I386 : (id & X32_BIT) ? WIRE_CALL_X32 : 0;
  const volatile struct wire_shape* shape = shape_of(call);
  if (!shape->recorded) return;
  call->arguments = shape->arguments;
  take_arguments(call, regs);
  call->position = -1;
  __u32 file = shape->file;
  if (file)
    resolve_argument(task, state, file, &call->file, &call->position);
  else
    forget(&call->file);
  __u32 file_b = shape->file_b;
  if (file_b) resolve_argument(task, state, file_b, &state->file_b, &state->numbers[3]);
  __u32 extra = shape->extra;
  if (extra) begin_extra(state, extra);
  state->blocked_in = 0;
  call->blocked = 0;
  begin_stacks(&state->call);
  state->in_call = 1;
  call->start = bpf_ktime_get_boot_ns();
}

/* With record_all every user process is taken in at its first call. */
static __noinline struct task_state* adopt(struct task_struct* task) {
  if (!is_asked_for(task)) return NULL;
  struct task_state* state = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!state) {
    count_loss(WIRE_LOSS_TASK_STORAGE);
    return NULL;
  }
  state->start.armed = 1;
  emit_current_context(WIRE_CONTEXT_FOUND);
  return state;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call_enter, struct pt_regs* regs, long id) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct task_state* state = state_of(task);
  if (!state) {
    if (!config.record_all) return 0;
    state = adopt(task);
    if (!state) return 0;
  }
  begin_call(task, state, regs, id);
  return 0;
}

/* ---- the end of a call ---- */

static __always_inline void emit_with_tail(struct task_struct* task, struct task_state* state,
                                           const volatile struct wire_shape* shape) {
  struct scratch* area = my_scratch();
  if (!area) return;
  struct wire_call* call = (struct wire_call*)area->bytes;
  *call = state->call;
  __u32 at = CALL_FIXED + 8U * state->call.arguments;
  __u32 text_a = shape->text_a;
  __u32 text_b = shape->text_b;
  if (text_a) at = append_text(at, WIRE_ITEM_TEXT_A, argument(state, text_a));
  if (text_b) at = append_text(at, WIRE_ITEM_TEXT_B, argument(state, text_b));
  if (shape->file_b) at = append_file(area, at, &state->file_b);
  __u32 extra = shape->extra;
  if (state->have_numbers) at = append_numbers(area, at, state);
  if (extra && !(state->call.flags & WIRE_CALL_UNFINISHED)) at = append_extra(area, at, task, state, extra);
  at &= SCRATCH_MASK;
  call->head.size = (__u16)at;
  emit_copy(area->bytes, at);
}

static __always_inline void emit_call(struct task_struct* task, struct task_state* state) {
  struct wire_call* call = &state->call;
  const volatile struct wire_shape* shape = shape_of(call);
  count_seen();
  call->head.kind = WIRE_CALL;
  call->head.cpu = bpf_get_smp_processor_id();
  call->process = (__u32)task->tgid;
  call->thread = (__u32)task->pid;
  if (shape->text_a || shape->text_b || shape->file_b || shape->extra) {
    emit_with_tail(task, state, shape);
    return;
  }
  __u64 size = CALL_FIXED + 8UL * call->arguments;
  if (size > sizeof(*call)) return;
  call->head.size = (__u16)size;
  emit_copy(call, size);
}

/* What went by io_uring or AIO is not captured, but never silently. */
static __always_inline void count_uncaptured(const struct wire_call* call) {
  if (call->flags || call->result <= 0) return;
  if (call->number != NUMBER_IO_URING_ENTER && call->number != NUMBER_IO_SUBMIT) return;
  struct wire_counters* c = my_counters();
  if (!c) return;
  if (call->number == NUMBER_IO_URING_ENTER)
    c->uring_calls += (__u64)call->result;
  else
    c->aio_calls += (__u64)call->result;
}

/* An exit without an enter: a call that was under way when recording began. A new child returning from the call that
 * made it, a signal handler's return and a cancelled call (orig_ax -1) are no such thing. */
static __always_inline void exit_without_enter(struct task_state* state, const struct pt_regs* regs) {
  if (state->fresh) {
    state->fresh = 0;
    return;
  }
  __u64 number = regs->orig_ax;
  if (number < WIRE_SHAPES && shapes[number].recorded && state->start.armed) count_loss(WIRE_LOSS_ORPHAN_EXIT);
}

/* Calls after which paths mean something else. Not fchdir: its descriptor is known. */
static __always_inline bool changes_place(const struct wire_call* call) {
  if (call->flags || call->result != 0) return false;
  return call->number == NUMBER_CHDIR || call->number == NUMBER_CHROOT || call->number == NUMBER_PIVOT_ROOT ||
         call->number == NUMBER_UNSHARE || call->number == NUMBER_SETNS;
}

static __always_inline void count_own_call(void) {
  struct wire_counters* c = my_counters();
  if (c) c->own_calls++;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_exit, struct pt_regs* regs, long result) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct task_state* state = state_of(task);
  if (!state) return 0;
  if (!state->in_call) {
    exit_without_enter(state, regs);
    return 0;
  }
  struct wire_call* call = &state->call;
  state->in_call = 0;
  state->fresh = 0;
  if (!state->start.armed) {
    count_own_call();
    return 0;
  }
  call->duration = bpf_ktime_get_boot_ns() - call->start;
  call->result = result;
  take_stacks(ctx, call);
  count_uncaptured(call);
  emit_call(task, state);
  if (changes_place(call)) emit_current_context(WIRE_CONTEXT_CHANGED);
  return 0;
}

/* ---- time off the CPU within a call ---- */

SEC("tp_btf/sched_switch")
int BPF_PROG(switch_tasks, bool preempted, struct task_struct* previous, struct task_struct* next) {
  struct task_state* state = state_of(previous);
  if (state && state->in_call) {
    state->blocked_in = bpf_ktime_get_boot_ns();
    take_waiting_stack(ctx, &state->call);
  }
  state = state_of(next);
  if (!state || !state->in_call || !state->blocked_in) return 0;
  state->call.blocked += bpf_ktime_get_boot_ns() - state->blocked_in;
  state->blocked_in = 0;
  return 0;
}

/* ---- calls that never return ---- */

static __always_inline void emit_unfinished(struct task_struct* task, struct task_state* state) {
  if (!state->in_call || !state->start.armed) return;
  state->in_call = 0;
  state->call.flags |= WIRE_CALL_UNFINISHED;
  state->call.duration = bpf_ktime_get_boot_ns() - state->call.start;
  state->call.result = 0;
  state->call.user_stack = -1;
  state->call.kernel_stack = -1;
  const bool foreign = state->call.flags & (WIRE_CALL_I386 | WIRE_CALL_X32);
  if (foreign || state->call.number >= WIRE_SHAPES) return;
  /* Strings cannot be read any more (the address space is gone or not ours): the fixed part is what is left. */
  count_seen();
  state->call.head.kind = WIRE_CALL;
  state->call.head.cpu = bpf_get_smp_processor_id();
  state->call.process = (__u32)task->tgid;
  state->call.thread = (__u32)task->pid;
  __u64 size = CALL_FIXED + 8UL * state->call.arguments;
  if (size > sizeof(state->call)) return;
  state->call.head.size = (__u16)size;
  emit_copy(&state->call, size);
}

/* exit_group has no exit of its own, and a killed thread may be inside any call. Declared before process_exit so that
 * libbpf attaches it first. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(call_abandoned, struct task_struct* task) {
  struct task_state* state = state_of(task);
  if (state) emit_unfinished(task, state);
  return 0;
}

SEC("iter/task")
int finish_calls(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task) return 0;
  struct task_state* state = bpf_task_storage_get(&tasks, task, 0, 0);
  if (state) emit_unfinished(task, state);
  return 0;
}
