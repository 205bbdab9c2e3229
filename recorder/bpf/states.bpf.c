/* What is known of a file just before a traced process removes it. Every filesystem has its own tracepoint, each is
 * optional. Removals are how rm -rf shows the sizes of files it never looks at. */
#include "recorder/bpf/tail.bpf.h"

#define NUMBER_RENAME 82
#define NUMBER_RMDIR 84
#define NUMBER_UNLINK 87
#define NUMBER_UNLINKAT 263
#define NUMBER_RENAMEAT 264
#define NUMBER_RENAMEAT2 316

static __always_inline struct wire_file_state* begin_removal(struct scratch* area, struct inode* inode) {
  struct wire_file_state* record = (struct wire_file_state*)area->bytes;
  record->head.kind = WIRE_FILE_STATE;
  record->head.cpu = bpf_get_smp_processor_id();
  record->time = bpf_ktime_get_boot_ns();
  identify_by_probe(inode, &record->file);
  forget(&record->parent);
  describe(inode, &record->state);
  return record;
}

static __always_inline void finish_removal(struct scratch* area, __u32 at) {
  struct wire_file_state* record = (struct wire_file_state*)area->bytes;
  at &= SCRATCH_MASK;
  record->head.size = (__u16)at;
  emit_other(record, at);
}

/* The name is the one the filesystem is about to take away. */
static __always_inline void emit_removal_of_entry(struct inode* inode, struct dentry* entry) {
  struct scratch* area = my_scratch();
  if (!area) return;
  struct wire_file_state* record = begin_removal(area, inode);
  __u32 at = sizeof(*record);
  struct inode* parent = entry ? BPF_CORE_READ(entry, d_parent, d_inode) : NULL;
  if (parent) {
    identify_by_probe(parent, &record->parent);
    __u8* place = area->bytes + sizeof(*record);
    long length = bpf_probe_read_kernel_str(place + 8, 256, BPF_CORE_READ(entry, d_name.name)) - 1;
    if (length < 0) length = 0;
    put_item(place, WIRE_ITEM_TEXT_A, WIRE_TEXT_PRESENT, (__u32)length);
    at += 8 + padded((__u32)length & 0x1FF);
  }
  finish_removal(area, at);
}

/* ---- where only the inode is shown and its names are gone: as the call under way names it ---- */

/* Which argument of a removing call is the path, 1-based; 0: another call. `second`: the directory is file_b's. */
static __always_inline __u32 path_of_removal(const struct task_state* state, bool* second) {
  __u16 number = state->call.number;
  *second = number == NUMBER_RENAME || number == NUMBER_RENAMEAT || number == NUMBER_RENAMEAT2;
  if (!state->in_call || state->call.flags) return 0;
  if (number == NUMBER_UNLINK || number == NUMBER_RMDIR) return 1;
  if (number == NUMBER_UNLINKAT || number == NUMBER_RENAME) return 2;
  return *second ? 4 : 0;
}

static __always_inline void emit_removal_by_call(struct inode* inode, const struct task_state* state) {
  struct scratch* area = my_scratch();
  if (!area) return;
  struct wire_file_state* record = begin_removal(area, inode);
  __u32 at = sizeof(*record);
  bool second = false;
  __u32 which = path_of_removal(state, &second);
  if (which) {
    record->parent = second ? state->file_b : state->call.file;
    __u8* place = area->bytes + sizeof(*record);
    const void* path = (const void*)state->call.args[(which - 1) & 3];
    long length = bpf_probe_read_user_str(place + 8, WIRE_PATH_LIMIT, path) - 1;
    if (length < 0) length = 0;
    put_item(place, WIRE_ITEM_TEXT_A, WIRE_TEXT_PRESENT, (__u32)length);
    at += 8 + padded((__u32)length & 0x1FFF);
  }
  finish_removal(area, at);
}

/* ---- filesystems ---- */

SEC("tp_btf/ext4_unlink_enter")
int BPF_PROG(state_ext4_unlink, struct inode* parent, struct dentry* entry) {
  if (!is_traced(bpf_get_current_task_btf()) || !parent || !entry) return 0;
  struct inode* inode = entry->d_inode;
  if (inode) emit_removal_of_entry(inode, entry);
  return 0;
}

/* The last link has just gone, from the disk but not yet from memory; size and times are still as they were. */
SEC("tp_btf/xfs_iunlink")
int BPF_PROG(state_xfs_iunlink, struct xfs_inode* removed) {
  if (!is_traced(bpf_get_current_task_btf()) || !removed) return 0;
  struct inode* inode = &removed->i_vnode;
  struct hlist_node* alias = BPF_CORE_READ(inode, i_dentry.first);
  struct dentry* entry = alias ? (void*)alias - bpf_core_field_offset(struct dentry, d_u.d_alias) : NULL;
  emit_removal_of_entry(inode, entry);
  return 0;
}

SEC("tp_btf/btrfs_inode_evict")
int BPF_PROG(state_btrfs_evict, struct inode* inode) {
  struct task_state* state = state_of(bpf_get_current_task_btf());
  if (!state || !state->start.armed || !inode || inode->i_nlink != 0) return 0;
  emit_removal_by_call(inode, state);
  return 0;
}
