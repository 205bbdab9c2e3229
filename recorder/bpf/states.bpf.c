/* What is known of a file just before a traced process removes it. Every filesystem has its own tracepoint, each is
 * optional. Removals are how rm -rf shows the sizes of files it never looks at. */
#include "recorder/bpf/tail.bpf.h"

static __always_inline void emit_removal(struct inode* inode, struct inode* parent, const unsigned char* name) {
  struct scratch* area = my_scratch();
  if (!area) return;
  struct wire_file_state* record = (struct wire_file_state*)area->bytes;
  record->head.kind = WIRE_FILE_STATE;
  record->head.cpu = bpf_get_smp_processor_id();
  record->time = bpf_ktime_get_boot_ns();
  identify_by_probe(inode, &record->file);
  if (parent)
    identify_by_probe(parent, &record->parent);
  else
    forget(&record->parent);
  describe(inode, &record->state);
  __u32 at = sizeof(*record);
  if (name) {
    __u8* place = area->bytes + sizeof(*record);
    long length = bpf_probe_read_kernel_str(place + 8, 256, name) - 1;
    if (length < 0) length = 0;
    put_item(place, WIRE_ITEM_TEXT_A, WIRE_TEXT_PRESENT, (__u32)length);
    at += 8 + padded((__u32)length & 0x1FF);
  }
  at &= SCRATCH_MASK;
  record->head.size = (__u16)at;
  emit_other(record, at);
}

SEC("tp_btf/ext4_unlink_enter")
int BPF_PROG(state_ext4_unlink, struct inode* parent, struct dentry* entry) {
  if (!is_traced(bpf_get_current_task_btf()) || !parent || !entry) return 0;
  struct inode* inode = entry->d_inode;
  if (inode) emit_removal(inode, parent, entry->d_name.name);
  return 0;
}

/* The last link has just gone; size and times are still as they were. */
SEC("tp_btf/xfs_iunlink")
int BPF_PROG(state_xfs_iunlink, struct xfs_inode* removed) {
  if (!is_traced(bpf_get_current_task_btf()) || !removed) return 0;
  emit_removal(&removed->i_vnode, NULL, NULL);
  return 0;
}

SEC("tp_btf/btrfs_inode_evict")
int BPF_PROG(state_btrfs_evict, struct inode* inode) {
  if (!is_traced(bpf_get_current_task_btf()) || !inode || inode->i_nlink != 0) return 0;
  emit_removal(inode, NULL, NULL);
  return 0;
}
