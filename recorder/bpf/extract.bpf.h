/* Layer 2, extract: from a task and a number to the file that is meant, and from an inode to what is known of it.
 * Needs nothing of layer 1 but the configuration. */
#ifndef IOTAPE_EXTRACT_BPF_H
#define IOTAPE_EXTRACT_BPF_H

#include "recorder/bpf/emit.bpf.h"

#define AT_FDCWD (-100)
#define SB_KERNMOUNT (1UL << 22)
#define BTRFS_SUPER_MAGIC 0x9123683EUL
#define FMODE_CREATED (1U << 20)
#define S_IFMT 0170000U

/* Since 6.2. Lets a pointer found in memory be followed by plain loads; a probe read per pointer made a recorded
 * untar a tenth slower. Called only when config says the kernel has it, else the verifier drops the branch. */
extern void* bpf_rdonly_cast(const void* object, __u32 btf_id) __ksym __weak;

/* A slot of the descriptor table is a struct file *, and so is what a struct kiocb begins with: casting the slot's
 * address to it gives the verifier a typed pointer to load. */
static __always_inline struct file* file_at(struct task_struct* task, __u32 descriptor) {
  struct fdtable* table = task->files->fdt;
  if (descriptor >= table->max_fds) return NULL;
  struct file** slot = table->fd + descriptor;
  if (config.have_rdonly_cast) {
    struct kiocb* entry = bpf_rdonly_cast(slot, bpf_core_type_id_kernel(struct kiocb));
    return entry->ki_filp;
  }
  struct file* file = NULL;
  bpf_probe_read_kernel(&file, sizeof(file), slot);
  return file;
}

static __always_inline void set_internal(struct wire_file* out, unsigned long super_flags) {
  out->flags = WIRE_FILE_KNOWN | ((super_flags & SB_KERNMOUNT) ? WIRE_FILE_INTERNAL : 0);
  out->padding = 0;
}

/* On btrfs the device and inode number repeat in every subvolume: its root's id belongs to the identity. */
static __always_inline __u64 subvolume_of(struct inode* inode, unsigned long magic) {
  __u64 id = 0;
  if (magic != BTRFS_SUPER_MAGIC || !bpf_core_type_exists(struct btrfs_inode)) return 0;
  struct btrfs_inode* outer = (void*)inode - bpf_core_field_offset(struct btrfs_inode, vfs_inode);
  struct btrfs_root* root = NULL;
  bpf_probe_read_kernel(&root, sizeof(root), __builtin_preserve_access_index(&outer->root));
  if (root) bpf_probe_read_kernel(&id, sizeof(id), __builtin_preserve_access_index(&root->root_key.objectid));
  return id;
}

static __always_inline void identify_by_probe(struct inode* inode, struct wire_file* out) {
  struct super_block* super = BPF_CORE_READ(inode, i_sb);
  out->inode = BPF_CORE_READ(inode, i_ino);
  out->generation = BPF_CORE_READ(inode, i_generation);
  out->mode = BPF_CORE_READ(inode, i_mode);
  out->device = BPF_CORE_READ(super, s_dev);
  out->subvolume = subvolume_of(inode, BPF_CORE_READ(super, s_magic));
  set_internal(out, BPF_CORE_READ(super, s_flags));
}

static __always_inline void forget(struct wire_file* out) { __builtin_memset(out, 0, sizeof(*out)); }

/* Direct loads: `inode` must be a pointer the verifier knows the type of. */
static __always_inline void identify_typed(struct inode* inode, struct wire_file* out) {
  struct super_block* super = inode->i_sb;
  out->inode = inode->i_ino;
  out->generation = inode->i_generation;
  out->mode = inode->i_mode;
  out->device = super->s_dev;
  out->subvolume = subvolume_of(inode, super->s_magic);
  set_internal(out, super->s_flags);
}

static __always_inline void identify(struct inode* inode, struct wire_file* out) {
  if (!inode)
    forget(out);
  else if (config.have_rdonly_cast)
    identify_typed(inode, out);
  else
    identify_by_probe(inode, out);
}

static __always_inline struct inode* inode_of(struct file* file) {
  return config.have_rdonly_cast ? file->f_inode : BPF_CORE_READ(file, f_inode);
}

static __always_inline struct inode* working_directory(struct task_struct* task) {
  return task->fs->pwd.dentry->d_inode;
}

/* The file behind a descriptor argument, the working directory for AT_FDCWD; position gets its f_pos, -1 if none. */
static __always_inline void resolve_descriptor(struct task_struct* task, __s32 descriptor, struct wire_file* out,
                                               __s64* position) {
  *position = -1;
  if (descriptor == AT_FDCWD) {
    identify_typed(working_directory(task), out);
    return;
  }
  struct file* file = file_at(task, (__u32)descriptor);
  if (!file) {
    forget(out);
    return;
  }
  identify(inode_of(file), out);
  *position = config.have_rdonly_cast ? file->f_pos : BPF_CORE_READ(file, f_pos);
}

static __always_inline void modification_time(struct inode* inode, struct wire_state* out) {
  if (bpf_core_field_exists(inode->i_mtime_sec)) {
    out->modified_seconds = BPF_CORE_READ(inode, i_mtime_sec);
    out->modified_nanoseconds = BPF_CORE_READ(inode, i_mtime_nsec);
    return;
  }
  struct inode___private_timespec* renamed = (void*)inode;
  struct inode___timespec* old = (void*)inode;
  if (bpf_core_field_exists(renamed->__i_mtime)) {
    out->modified_seconds = BPF_CORE_READ(renamed, __i_mtime.tv_sec);
    out->modified_nanoseconds = (__u32)BPF_CORE_READ(renamed, __i_mtime.tv_nsec);
  } else {
    out->modified_seconds = BPF_CORE_READ(old, i_mtime.tv_sec);
    out->modified_nanoseconds = (__u32)BPF_CORE_READ(old, i_mtime.tv_nsec);
  }
}

/* What the kernel knows of a file. Rare enough (first opens, removals) for probe reads. */
static __always_inline void describe(struct inode* inode, struct wire_state* out) {
  out->size = (__u64)BPF_CORE_READ(inode, i_size);
  out->links = BPF_CORE_READ(inode, i_nlink);
  out->user = BPF_CORE_READ(inode, i_uid.val);
  out->group = BPF_CORE_READ(inode, i_gid.val);
  out->blocks = BPF_CORE_READ(inode, i_blocks);
  out->special_device = BPF_CORE_READ(inode, i_rdev);
  out->mode = BPF_CORE_READ(inode, i_mode);
  out->valid = WIRE_STATE_SIZE | WIRE_STATE_MODIFIED | WIRE_STATE_REST;
  modification_time(inode, out);
}

#endif
