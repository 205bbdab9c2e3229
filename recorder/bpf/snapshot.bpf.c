/* The state of the traced threads when recording begins: what they have open, where they are. Iterators, run once by
 * the user side after the threads were marked. */
#include "recorder/bpf/place.bpf.h"

SEC("iter/task")
int snapshot_contexts(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task) return 0;
  struct task_state* state = bpf_task_storage_get(&tasks, task, 0, 0);
  if (!state) return 0;
  emit_context_of(task, state->start.armed, WIRE_CONTEXT_FOUND);
  return 0;
}

static __always_inline __u32 closes_on_exec(struct task_struct* task, __u32 descriptor) {
  unsigned long* words = BPF_CORE_READ(task, files, fdt, close_on_exec);
  unsigned long word = 0;
  bpf_probe_read_kernel(&word, sizeof(word), words + descriptor / 64);
  return (word >> (descriptor % 64)) & 1;
}

SEC("iter/task_file")
int snapshot_descriptors(struct bpf_iter__task_file* ctx) {
  struct task_struct* task = ctx->task;
  struct file* file = ctx->file;
  struct scratch* area = my_scratch();
  if (!task || !file || !area) return 0;
  struct task_state* state = bpf_task_storage_get(&tasks, task, 0, 0);
  if (!state) return 0;
  struct inode* inode = BPF_CORE_READ(file, f_inode);
  if (!inode) return 0;
  struct wire_descriptor* record = (struct wire_descriptor*)area->bytes;
  record->head.kind = WIRE_DESCRIPTOR;
  record->head.cpu = bpf_get_smp_processor_id();
  record->time = bpf_ktime_get_boot_ns();
  record->process = (__u32)task->tgid;
  record->thread = (__u32)task->pid;
  record->number = (__s32)ctx->fd;
  record->flags = BPF_CORE_READ(file, f_flags);
  record->offset = BPF_CORE_READ(file, f_pos);
  record->close_on_exec = closes_on_exec(task, ctx->fd);
  record->armed = state->start.armed;
  identify_by_probe(inode, &record->file);
  describe(inode, &record->state);
  __u8* place = area->bytes + sizeof(*record);
  long length = bpf_d_path(&file->f_path, (char*)place + 8, WIRE_PATH_LIMIT) - 1;
  if (length < 0) length = 0;
  put_item(place, WIRE_ITEM_TEXT_A, WIRE_TEXT_PRESENT, (__u32)length);
  __u32 at = (sizeof(*record) + 8 + padded((__u32)length & 0x1FFF)) & SCRATCH_MASK;
  record->head.size = (__u16)at;
  emit_other(record, at);
  return 0;
}
