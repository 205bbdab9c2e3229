/* The process tree: every descendant of a traced thread is traced from before its first instruction. */
#include "recorder/bpf/place.bpf.h"

#define NUMBER_CLONE 56
#define NUMBER_VFORK 58
#define NUMBER_CLONE3 435
#define CLONE_VM_AND_VFORK 0x4100UL

/* The tracepoint does not tell the flags: they are arguments of the call the parent is in. */
static __always_inline __u64 flags_of_call(const struct task_state* parent) {
  if (!parent->in_call || parent->call.flags) return 0;
  if (parent->call.number == NUMBER_CLONE) return parent->call.args[0];
  if (parent->call.number == NUMBER_VFORK) return CLONE_VM_AND_VFORK;
  if (parent->call.number == NUMBER_CLONE3 && parent->have_numbers) return (__u64)parent->numbers[0];
  return 0;
}

static __always_inline void emit_fork(struct task_struct* parent, struct task_struct* child, __u64 flags) {
  struct wire_fork record = {};
  record.head.kind = WIRE_FORK;
  record.head.size = sizeof(record);
  record.head.cpu = bpf_get_smp_processor_id();
  record.time = bpf_ktime_get_boot_ns();
  record.clone_flags = flags;
  record.process = (__u32)child->tgid;
  record.thread = (__u32)child->pid;
  record.parent_process = (__u32)parent->tgid;
  record.parent_thread = (__u32)parent->pid;
  bpf_probe_read_kernel_str(record.command, sizeof(record.command), child->comm);
  emit_other(&record, sizeof(record));
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct* parent, struct task_struct* child) {
  struct task_state* state = state_of(parent);
  if (!state) return 0;
  struct task_state* made = bpf_task_storage_get(&tasks, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!made) {
    count_loss(WIRE_LOSS_TASK_STORAGE);
    return 0;
  }
  made->start.armed = state->start.armed;
  made->in_call = 0;
  made->fresh = 1;
  if (state->start.armed) emit_fork(parent, child, flags_of_call(state));
  return 0;
}

/* The words of the command line lie in the new address space, just written and so present. */
static __always_inline __u32 append_words(struct scratch* area, __u32 at, struct task_struct* task) {
  struct mm_struct* mm = task->mm;
  __u64 begin = mm->arg_start;
  __u64 length = mm->arg_end - begin;
  if (length > WIRE_ARGUMENTS_LIMIT) length = WIRE_ARGUMENTS_LIMIT;
  __u8* place = area->bytes + (at & SCRATCH_MASK);
  if (bpf_probe_read_user(place + 8, (__u32)length, (const void*)begin)) return at;
  put_item(place, WIRE_ITEM_ARGUMENTS, WIRE_TEXT_PRESENT, (__u32)length);
  return (at & SCRATCH_MASK) + 8 + padded((__u32)length);
}

static __always_inline __u32 append_file_name(struct scratch* area, __u32 at, struct linux_binprm* program) {
  __u8* place = area->bytes + (at & SCRATCH_MASK);
  long length = bpf_probe_read_kernel_str(place + 8, WIRE_PATH_LIMIT, program->filename) - 1;
  if (length < 0) length = 0;
  put_item(place, WIRE_ITEM_TEXT_A, WIRE_TEXT_PRESENT, (__u32)length);
  return (at & SCRATCH_MASK) + 8 + padded((__u32)length & 0x1FFF);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(process_exec, struct task_struct* task, int old_thread, struct linux_binprm* program) {
  struct task_state* state = state_of(task);
  struct scratch* area = my_scratch();
  if (!state || !area || !program) return 0;
  state->start.armed = 1;
  struct wire_exec* record = (struct wire_exec*)area->bytes;
  record->head.kind = WIRE_EXEC;
  record->head.cpu = bpf_get_smp_processor_id();
  record->time = bpf_ktime_get_boot_ns();
  record->process = (__u32)task->tgid;
  record->thread = (__u32)task->pid;
  record->old_thread = (__u32)old_thread;
  record->padding = 0;
  bpf_probe_read_kernel_str(record->command, sizeof(record->command), task->comm);
  __u32 at = sizeof(*record);
  if (config.record_arguments >= 1) at = append_file_name(area, at, program);
  if (config.record_arguments >= 2) at = append_words(area, at, task);
  at &= SCRATCH_MASK;
  record->head.size = (__u16)at;
  emit_other(record, at);
  if (config.record_calls) emit_current_context(WIRE_CONTEXT_PROGRAM);
  return 0;
}

/* The second argument, whether the whole process is gone, came after 6.12; BTF says whether it is there. */
SEC("tp_btf/sched_process_exit")
int process_exit(unsigned long long* ctx) {
  struct task_struct* task = (struct task_struct*)ctx[0];
  struct task_state* state = state_of(task);
  if (!state || !state->start.armed) return 0;
  struct wire_exit record = {};
  record.head.kind = WIRE_EXIT;
  record.head.size = sizeof(record);
  record.head.cpu = bpf_get_smp_processor_id();
  record.time = bpf_ktime_get_boot_ns();
  record.process = (__u32)task->tgid;
  record.thread = (__u32)task->pid;
  record.status = task->exit_code;
  if (config.exit_has_group_dead)
    record.whole_process = (__u8)ctx[1] != 0;
  else
    record.whole_process = task->signal->live.counter == 0;
  emit_other(&record, sizeof(record));
  return 0;
}
