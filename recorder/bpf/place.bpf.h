/* Where a directory lies: its absolute path, from the names of its dentries and of the places its mounts are mounted
 * on, up to the top of its mount namespace. Written backwards into a per-CPU area, one component a step. Each step is a
 * global function, which the verifier looks at once and not for every round of the loop.
 *
 * Nothing is locked: a directory that is renamed in these very microseconds may come out under a mixture of both
 * names. bpf_d_path, which locks, is not allowed in tracepoints. */
#ifndef IOTAPE_PLACE_BPF_H
#define IOTAPE_PLACE_BPF_H

#include "recorder/bpf/tail.bpf.h"

#define PLACE_STEPS 512 /* components and mounts on the way; more count as too long */
#define PLACE_NAME_MASK 255U

struct place_walk {
  struct dentry* dentry;
  struct mount* mount;
  __u32 at; /* the path is bytes[at..WIRE_PATH_LIMIT) */
  __u32 padding;
  __u8 bytes[WIRE_PATH_LIMIT + PLACE_NAME_MASK + 1];
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct place_walk);
} place_area __weak SEC(".maps");

static __always_inline struct place_walk* my_place(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&place_area, &zero);
}

#define PLACE_GOES_ON 0U
#define PLACE_DONE 1U
#define PLACE_TOO_LONG 2U

/* Puts "/NAME" before what is there. */
static __always_inline __u32 prepend_name(struct place_walk* walk, struct dentry* dentry) {
  __u32 length = BPF_CORE_READ(dentry, d_name.len) & PLACE_NAME_MASK;
  const unsigned char* name = BPF_CORE_READ(dentry, d_name.name);
  __u32 at = walk->at;
  if (length + 1 > at || at > WIRE_PATH_LIMIT) return PLACE_TOO_LONG;
  at = (at - length) & (WIRE_PATH_LIMIT - 1);
  asm volatile("" : "+r"(length)); /* keeps the mask below */
  bpf_probe_read_kernel(&walk->bytes[at], length & PLACE_NAME_MASK, name);
  at = (at - 1) & (WIRE_PATH_LIMIT - 1);
  walk->bytes[at] = '/';
  walk->at = at;
  return PLACE_GOES_ON;
}

/* One component towards the top, or from the top of a mount to the directory it is mounted on. */
__weak __noinline __u32 place_step(void) {
  struct place_walk* walk = my_place();
  if (!walk) return PLACE_DONE;
  struct dentry* dentry = walk->dentry;
  struct mount* mount = walk->mount;
  struct dentry* parent = BPF_CORE_READ(dentry, d_parent);
  if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
    struct mount* below = BPF_CORE_READ(mount, mnt_parent);
    if (below == mount || !below) return PLACE_DONE;
    walk->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
    walk->mount = below;
    return PLACE_GOES_ON;
  }
  if (parent == dentry || !parent) return PLACE_DONE; /* a part of the filesystem that no mount shows */
  __u32 verdict = prepend_name(walk, dentry);
  walk->dentry = parent;
  return verdict;
}

/* Appends the path as an item. */
static __always_inline __u32 append_place(struct scratch* area, __u32 at, __u32 type, struct dentry* dentry,
                                          struct vfsmount* mount) {
  struct place_walk* walk = my_place();
  __u8* item = area->bytes + (at & SCRATCH_MASK);
  if (!walk || !dentry || !mount) return at;
  walk->dentry = dentry;
  walk->mount = (void*)mount - bpf_core_field_offset(struct mount, mnt);
  walk->at = WIRE_PATH_LIMIT;
  __u32 verdict = PLACE_GOES_ON;
  for (int step = 0; step < PLACE_STEPS && verdict == PLACE_GOES_ON; ++step) verdict = place_step();
  if (verdict != PLACE_DONE) {
    put_item(item, type, WIRE_TEXT_TRUNCATED, 0);
    return (at & SCRATCH_MASK) + 8;
  }
  __u32 begin = walk->at & (2 * WIRE_PATH_LIMIT - 1);
  if (begin >= WIRE_PATH_LIMIT) { /* no component: the top itself */
    begin = WIRE_PATH_LIMIT - 1;
    walk->bytes[begin] = '/';
  }
  __u32 length = WIRE_PATH_LIMIT - begin;
  asm volatile("" : "+r"(length));
  length &= 2 * WIRE_PATH_LIMIT - 1;
  if (length > WIRE_PATH_LIMIT) return at;
  bpf_probe_read_kernel(item + 8, length, &walk->bytes[begin & (WIRE_PATH_LIMIT - 1)]);
  put_item(item, type, WIRE_TEXT_PRESENT, length);
  return (at & SCRATCH_MASK) + 8 + padded(length);
}

/* Removed: its name leads nowhere or elsewhere. */
static __always_inline __u8 is_removed(struct dentry* dentry) {
  return BPF_CORE_READ(dentry, d_hash.pprev) == NULL && BPF_CORE_READ(dentry, d_parent) != dentry;
}

/* ---- a thread's directories and rights ---- */

static __always_inline void emit_context_of(struct task_struct* task, __u8 armed, __u8 reason) {
  struct scratch* area = my_scratch();
  struct fs_struct* fs = BPF_CORE_READ(task, fs);
  if (!area || !fs) return;
  struct wire_context* record = (struct wire_context*)area->bytes;
  __builtin_memset(record, 0, sizeof(*record));
  record->head.kind = WIRE_CONTEXT;
  record->head.cpu = bpf_get_smp_processor_id();
  record->time = bpf_ktime_get_boot_ns();
  record->process = (__u32)BPF_CORE_READ(task, tgid);
  record->thread = (__u32)BPF_CORE_READ(task, pid);
  record->parent_process = (__u32)BPF_CORE_READ(task, real_parent, tgid);
  record->parent_thread = (__u32)BPF_CORE_READ(task, real_parent, pid);
  record->umask = (__u32)BPF_CORE_READ(fs, umask);
  record->user = BPF_CORE_READ(task, cred, fsuid.val);
  record->group = BPF_CORE_READ(task, cred, fsgid.val);
  record->armed = armed;
  record->reason = reason;
  struct dentry* working = BPF_CORE_READ(fs, pwd.dentry);
  struct dentry* root = BPF_CORE_READ(fs, root.dentry);
  struct inode* inode = BPF_CORE_READ(working, d_inode);
  if (inode) identify_by_probe(inode, &record->working_directory);
  inode = BPF_CORE_READ(root, d_inode);
  if (inode) identify_by_probe(inode, &record->root);
  record->working_removed = is_removed(working);
  record->root_removed = is_removed(root);
  bpf_probe_read_kernel_str(record->command, sizeof(record->command), &task->comm);
  __u32 at = sizeof(*record);
  at = append_place(area, at, WIRE_ITEM_TEXT_A, working, BPF_CORE_READ(fs, pwd.mnt));
  at = append_place(area, at, WIRE_ITEM_TEXT_B, root, BPF_CORE_READ(fs, root.mnt));
  at &= SCRATCH_MASK;
  record->head.size = (__u16)at;
  emit_other(record, at);
}

__weak __noinline __u32 emit_current_context(__u32 reason) {
  emit_context_of(bpf_get_current_task_btf(), 1, (__u8)reason);
  return 0;
}

#endif
