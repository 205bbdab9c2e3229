/* The few kernel structs and fields the recorder reads, by name; libbpf relocates every access to the running kernel
 * (CO-RE), so order and size here mean nothing. Differences between kernel versions are named flavours
 * (struct x___since_y). License: see license.bpf.c. */
#ifndef IOTAPE_KERNEL_TYPES_BPF_H
#define IOTAPE_KERNEL_TYPES_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
  unsigned int val;
} kuid_t;
typedef struct {
  unsigned int val;
} kgid_t;

struct super_block {
  unsigned int s_dev;
  unsigned long s_flags;
  unsigned long s_magic;
};

struct hlist_node {
  struct hlist_node* next;
};
struct hlist_head {
  struct hlist_node* first;
};
struct inode {
  struct hlist_head i_dentry; /* its names, linked through dentry::d_u.d_alias */
  unsigned short i_mode;
  unsigned int i_flags;
  kuid_t i_uid;
  kgid_t i_gid;
  struct super_block* i_sb;
  unsigned long i_ino;
  unsigned int i_nlink;
  unsigned int i_rdev;
  long long i_size;
  unsigned long i_blocks;
  __u32 i_generation;
  __s64 i_mtime_sec;
  __u32 i_mtime_nsec;
};
/* Before 6.7 (12cd44023651 "fs: rename inode i_atime and i_mtime fields", 6.11 split it again: 3aa63a569c64): */
struct timespec64 {
  __s64 tv_sec;
  long tv_nsec;
};
struct inode___timespec {
  struct timespec64 i_mtime;
};
struct inode___private_timespec {
  struct timespec64 __i_mtime;
};

struct qstr {
  __u32 hash;
  __u32 len;
  const unsigned char* name;
};
struct hlist_bl_node {
  struct hlist_bl_node** pprev;
};
struct dentry {
  struct hlist_bl_node d_hash; /* pprev NULL: not to be found under its name, which has been removed */
  struct dentry* d_parent;
  struct qstr d_name;
  struct inode* d_inode;
  union {
    struct hlist_node d_alias;
  } d_u;
};
struct vfsmount {
  struct dentry* mnt_root;
};
struct mount { /* around every vfsmount */
  struct mount* mnt_parent;
  struct dentry* mnt_mountpoint;
  struct vfsmount mnt;
};
struct path {
  struct vfsmount* mnt;
  struct dentry* dentry;
};
struct file {
  unsigned int f_flags;
  unsigned int f_mode;
  long long f_pos;
  struct inode* f_inode;
  struct path f_path;
};
/* Its first member is a struct file *: the type a slot of the descriptor table is read as, see extract.bpf.h. */
struct kiocb {
  struct file* ki_filp;
};
struct fdtable {
  unsigned int max_fds;
  struct file** fd;
  unsigned long* close_on_exec;
};
struct files_struct {
  struct fdtable* fdt;
};
struct fs_struct {
  int umask;
  struct path root;
  struct path pwd;
};
struct mm_struct {
  unsigned long arg_start;
  unsigned long arg_end;
};
struct linux_binprm {
  const char* filename;
};
struct thread_info {
  __u32 status;
};
struct cred {
  kuid_t uid;
  kuid_t fsuid;
  kgid_t fsgid;
};
struct bpf_local_storage;
typedef struct {
  int counter;
} atomic_t;
struct signal_struct {
  atomic_t live;
};
struct task_struct {
  struct thread_info thread_info;
  unsigned int flags;
  int pid;
  int tgid;
  int exit_code;
  struct mm_struct* mm;
  struct fs_struct* fs;
  struct files_struct* files;
  struct signal_struct* signal;
  const struct cred* cred;
  char comm[16];
  struct task_struct* real_parent;
  struct bpf_local_storage* bpf_storage;
};

struct pt_regs {
  unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

struct btrfs_key {
  __u64 objectid;
};
struct btrfs_root {
  struct btrfs_key root_key;
};
struct btrfs_inode {
  struct btrfs_root* root;
  struct inode vfs_inode;
};

struct xfs_inode {
  struct inode i_vnode;
};

struct seq_file;
struct bpf_iter_meta {
  struct seq_file* seq;
};
struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
};
struct bpf_iter__task_file {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
  __u32 fd;
  struct file* file;
};

#pragma clang attribute pop

#endif
