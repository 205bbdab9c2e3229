/* What the kernel side and the user side of the recorder say to each other: records in the ring, the configuration in
 * rodata and the per-CPU counters. Compiled as C for BPF and as C++: fixed-width types only, explicit padding, sizes
 * and offsets asserted on both sides. Not a file format: both sides are always built together (kWireVersion).
 *
 * Every record begins with a wire_head: kind, total size, and so on. Times are CLOCK_BOOTTIME nanoseconds. */
#ifndef IOTAPE_RECORDER_WIRE_H
#define IOTAPE_RECORDER_WIRE_H

#include <linux/types.h>
#include <stddef.h>

#ifdef __cplusplus
#define WIRE_ASSERT(condition) static_assert(condition, #condition)
#else
#define WIRE_ASSERT(condition) _Static_assert(condition, #condition)
#endif

/* Names are C's, as in the kernel's own headers. NOLINTBEGIN(readability-identifier-naming) */

#define WIRE_VERSION 1

/* ---- record kinds; block records are 32 and up, see recorder/block_wire.h ---- */
#define WIRE_CALL 1       /* struct wire_call + tail items */
#define WIRE_FORK 2       /* struct wire_fork */
#define WIRE_EXEC 3       /* struct wire_exec + tail items */
#define WIRE_EXIT 4       /* struct wire_exit */
#define WIRE_FILE_STATE 5 /* struct wire_file_state + tail items (name) */
#define WIRE_CONTEXT 6    /* struct wire_context + tail items (paths) */
#define WIRE_DESCRIPTOR 7 /* struct wire_descriptor + tail items (path) */
#define WIRE_FIRST_BLOCK_KIND 32

struct wire_head {
  __u16 kind;
  __u16 size; /* of the whole record */
  __u32 cpu;
};
WIRE_ASSERT(sizeof(struct wire_head) == 8);

/* Which file something meant. mode is i_mode (0: nothing known), flags below. */
struct wire_file {
  __u64 inode;
  __u64 subvolume;
  __u32 device; /* s_dev: major << 20 | minor */
  __u32 generation;
  __u16 mode;
  __u16 flags;
  __u32 padding;
};
WIRE_ASSERT(sizeof(struct wire_file) == 32);
#define WIRE_FILE_KNOWN 1U
#define WIRE_FILE_CREATED 4U  /* the call made it */
#define WIRE_FILE_INTERNAL 2U /* on a mount only the kernel has: memfd, anonymous inodes, pipes */

/* One system call. args holds the first `arguments` raw arguments; the record is cut off behind them and tail items
 * follow. file and position were taken when the call began. */
struct wire_call {
  struct wire_head head;
  __u16 number; /* as the ABI numbers it */
  __u8 flags;   /* WIRE_CALL_* */
  __u8 arguments;
  __u32 process;
  __u32 thread;
  __s32 user_stack; /* stack map ids, negative: none taken */
  __s32 kernel_stack;
  __u32 padding;
  __u64 start;
  __u64 duration;
  __u64 blocked; /* off the CPU within the call */
  __s64 result;
  struct wire_file file;
  __s64 position; /* -1: none */
  __u64 args[6];
};
WIRE_ASSERT(offsetof(struct wire_call, start) == 32);
WIRE_ASSERT(offsetof(struct wire_call, file) == 64);
WIRE_ASSERT(offsetof(struct wire_call, args) == 104);
WIRE_ASSERT(sizeof(struct wire_call) == 152);
#define WIRE_CALL_UNFINISHED 1U
#define WIRE_CALL_I386 2U
#define WIRE_CALL_X32 4U

/* A tail item: 8 bytes, then `length` bytes, then padding to a multiple of 8. */
struct wire_item {
  __u8 type;
  __u8 state; /* WIRE_TEXT_* for texts */
  __u16 length;
  __u32 padding;
};
WIRE_ASSERT(sizeof(struct wire_item) == 8);
#define WIRE_ITEM_TEXT_A 1    /* the first path */
#define WIRE_ITEM_TEXT_B 2    /* the second path, a link target or an xattr name */
#define WIRE_ITEM_VALUE 3     /* an xattr's value, at most WIRE_VALUE_LIMIT bytes */
#define WIRE_ITEM_FILE_B 4    /* struct wire_file: second descriptor or directory, or what an open opened */
#define WIRE_ITEM_NUMBERS 5   /* __s64s: what a pointer argument held; which ones, the call's shape says */
#define WIRE_ITEM_SEGMENTS 6  /* __u64s: the first WIRE_SEGMENT_LIMIT lengths of an iovec */
#define WIRE_ITEM_STATE 7     /* struct wire_state: the file as the call found it */
#define WIRE_ITEM_ARGUMENTS 8 /* words of a command, each ended by a NUL */
#define WIRE_ITEM_STAT 9      /* the kernel's struct stat */
#define WIRE_ITEM_STATX 10    /* the kernel's struct statx */
#define WIRE_TEXT_PRESENT 0
#define WIRE_TEXT_NULL 1
#define WIRE_TEXT_FAULT 2
#define WIRE_TEXT_TRUNCATED 3
#define WIRE_VALUE_LIMIT 64
#define WIRE_SEGMENT_LIMIT 16
#define WIRE_PATH_LIMIT 4096
#define WIRE_ARGUMENTS_LIMIT 2048

/* What the kernel knows of a file's inode. */
struct wire_state {
  __u64 size;
  __s64 modified_seconds;
  __u32 modified_nanoseconds;
  __u32 links;
  __u32 user;
  __u32 group;
  __u64 blocks; /* 512-byte units */
  __u32 special_device;
  __u16 mode;
  __u16 valid; /* WIRE_STATE_* */
};
WIRE_ASSERT(sizeof(struct wire_state) == 48);
#define WIRE_STATE_SIZE 1U
#define WIRE_STATE_MODIFIED 2U
#define WIRE_STATE_REST 4U

struct wire_fork {
  struct wire_head head;
  __u64 time;
  __u64 clone_flags;
  __u32 process;
  __u32 thread;
  __u32 parent_process;
  __u32 parent_thread;
  char command[16];
};
WIRE_ASSERT(sizeof(struct wire_fork) == 56);

struct wire_exec {
  struct wire_head head;
  __u64 time;
  __u32 process;
  __u32 thread;
  __u32 old_thread;
  __u32 padding;
  char command[16];
};
WIRE_ASSERT(sizeof(struct wire_exec) == 48);

struct wire_exit {
  struct wire_head head;
  __u64 time;
  __u32 process;
  __u32 thread;
  __s32 status;
  __u32 whole_process;
};
WIRE_ASSERT(sizeof(struct wire_exit) == 32);

/* A file about to be removed, with its name as a tail item: within parent, or as the removing call spells it, from
 * there. */
struct wire_file_state {
  struct wire_head head;
  __u64 time;
  struct wire_file file;
  struct wire_file parent;
  struct wire_state state;
};
WIRE_ASSERT(sizeof(struct wire_file_state) == 128);

/* Where a traced thread is and what it may do, with tail items: TEXT_A the path of its working directory, TEXT_B that
 * of its root, from the top of its mount namespace; truncated when too long to be told. */
struct wire_context {
  struct wire_head head;
  __u64 time;
  __u32 process;
  __u32 thread;
  __u32 parent_process;
  __u32 parent_thread;
  __u32 umask;
  __u32 user;
  __u32 group;
  __u8 armed;
  __u8 reason;          /* WIRE_CONTEXT_* */
  __u8 working_removed; /* 1: the directory's name is gone, the path is what it was */
  __u8 root_removed;
  struct wire_file working_directory;
  struct wire_file root;
  char command[16];
};
WIRE_ASSERT(sizeof(struct wire_context) == 128);
#define WIRE_CONTEXT_FOUND 0   /* the thread was running already when its recording began */
#define WIRE_CONTEXT_CHANGED 1 /* it has changed its directory, root or namespace */
#define WIRE_CONTEXT_PROGRAM 2 /* it begins a program */

/* A descriptor a traced process held when recording began. */
struct wire_descriptor {
  struct wire_head head;
  __u64 time;
  __u32 process;
  __u32 thread;
  __s32 number;
  __u32 flags; /* O_* */
  __s64 offset;
  __u32 close_on_exec;
  __u32 armed;
  struct wire_file file;
  struct wire_state state;
};
WIRE_ASSERT(sizeof(struct wire_descriptor) == 128);

/* ---- how a call is recorded: one row per x86-64 number in rodata, filled by recorder/call_shapes.cc ---- */
struct wire_shape {
  __u8 recorded;
  __u8 arguments; /* how many raw arguments are kept, 0..6 */
  __u8 file;      /* 0 none, 1..6 the descriptor in that argument (1-based), WIRE_FILE_CWD */
  __u8 file_b;    /* the same, WIRE_FILE_RESULT: the new descriptor */
  __u8 position;  /* WIRE_POSITION_* */
  __u8 text_a;    /* 0 none, 1..6: a string argument */
  __u8 text_b;
  __u8 extra; /* WIRE_EXTRA_* */
};
WIRE_ASSERT(sizeof(struct wire_shape) == 8);
#define WIRE_SHAPES 512
#define WIRE_SHAPE_RAW 512    /* the row for foreign ABIs and numbers beyond the table */
#define WIRE_SHAPE_SLOTS 1024 /* a power of two, so that an index can be bounded by a mask */
#define WIRE_FILE_CWD 7
#define WIRE_FILE_RESULT 8
#define WIRE_POSITION_NONE 0
#define WIRE_POSITION_FILE 1
#define WIRE_EXTRA_NONE 0
#define WIRE_EXTRA_SEGMENTS 1    /* argument 2 is an iovec of argument 3 entries */
#define WIRE_EXTRA_HOW 2         /* NUMBERS flags, mode, resolve of argument 3, a struct open_how */
#define WIRE_EXTRA_TIMESPECS 3   /* argument 3: NUMBERS s, ns, s, ns */
#define WIRE_EXTRA_TIMEVALS 4    /* argument 2: NUMBERS s, us, s, us */
#define WIRE_EXTRA_TIMEVALS_AT 5 /* the same, argument 3 */
#define WIRE_EXTRA_UTIMBUF 6     /* argument 2: NUMBERS s, s */
#define WIRE_EXTRA_FLOCK 7       /* fcntl's lock commands: NUMBERS hold the struct flock as it was before */
#define WIRE_EXTRA_VALUE 8       /* an xattr's value: argument 3, size argument 4 */
#define WIRE_EXTRA_XATTRAT 9     /* struct xattr_args in argument 5: NUMBERS pointer, size | flags << 32; VALUE */
#define WIRE_EXTRA_PAIR 10       /* argument 1 points to two new descriptors: NUMBERS, two __s32 */
#define WIRE_EXTRA_SOCKETPAIR 11 /* the same, argument 4 */
#define WIRE_EXTRA_OFFSETS 12    /* offset pointers in arguments 2 and 4: NUMBERS 0 and 1 as before the call */
#define WIRE_EXTRA_OFFSET 13     /* offset pointer in argument 3: NUMBERS 0 as before the call */
#define WIRE_EXTRA_STAT 14       /* struct stat in argument 2 */
#define WIRE_EXTRA_STAT_AT 15    /* struct stat in argument 3 */
#define WIRE_EXTRA_STATX 16      /* struct statx in argument 5 */
#define WIRE_EXTRA_OPENED 17     /* FILE_B and STATE of the new descriptor */
#define WIRE_EXTRA_OPENED_HOW 18 /* both OPENED and HOW */
#define WIRE_EXTRA_CLONE3 19     /* NUMBERS 0: flags, the first member of argument 1 */
#define WIRE_EXTRA_IOCTL 20      /* NUMBERS 0: what argument 3 points to, for requests that are known to */
/* Where NUMBERS hold values from before the call, the item's state has a bit for each that could be read, and
 * NUMBERS 3 is the position of file_b. */

/* What the user side puts into the task map to have a thread recorded: the head of the kernel side's struct
 * task_state; all behind it is zero. */
struct wire_task_start {
  __u8 armed; /* 0 until the thread's next exec: what runs before is the tool's own code */
  __u8 padding[7];
};
WIRE_ASSERT(sizeof(struct wire_task_start) == 8);

/* ---- configuration, set between open and load ---- */
struct wire_config {
  __u32 version;
  __u32 own_process;      /* never recorded */
  __u8 record_calls;      /* the syscall layer */
  __u8 record_all;        /* every process but our own and kernel threads */
  __u8 record_states;     /* first touch and removals */
  __u8 record_arguments;  /* command lines of exec: 0 none, 1 the file's name, 2 all */
  __u8 have_rdonly_cast;  /* the kfunc exists */
  __u8 stacks_failed;     /* take stacks of calls that failed */
  __u8 fast_storage_test; /* task_struct::bpf_storage can be read */
  __u8 record_user;       /* only processes of user_id */
  __u32 user_id;
  __u8 exit_has_group_dead; /* sched_process_exit has its second argument (6.18) */
  __u8 record_cgroup;       /* only processes in this cgroup (version 2) or below it */
  __u8 cgroup_level;        /* how far below the root; 0: the root itself */
  __u8 padding;
  __u64 stacks_slower_than; /* take stacks of calls at least this long; 0: no */
  __u64 cgroup;             /* its id, the inode number of its directory */
};
WIRE_ASSERT(sizeof(struct wire_config) == 40);

/* ---- counters, one struct per possible CPU ---- */
#define WIRE_LOSS_CAUSES 12 /* indexed by format's LossCause */
#define WIRE_LOSS_RING_FULL 0
#define WIRE_LOSS_ORPHAN_EXIT 1
#define WIRE_LOSS_TASK_STORAGE 2
#define WIRE_LOSS_REQUEST_MAP 3
#define WIRE_LOSS_NOT_CAPTURED 7
#define WIRE_LOSS_PART_MAP 9
struct wire_loss {
  __u64 count;
  __u64 first; /* since `epoch` was last changed by the user side */
  __u64 last;
  __u64 epoch;
};
struct wire_counters {
  __u64 seen;         /* calls and requests that must be in the file or counted as lost */
  __u64 other_seen;   /* other records: forks, states, ... */
  __u64 own_calls;    /* the tool's own calls, left out */
  __u64 own_requests; /* the tool's own block requests, left out */
  __u64 uring_calls;  /* io_uring_enter: submissions that are not captured */
  __u64 aio_calls;    /* io_submit */
  __u64 other_lost;   /* records other than calls and requests that found no room */
  __u64 reserved;
  struct wire_loss losses[WIRE_LOSS_CAUSES];
};
WIRE_ASSERT(sizeof(struct wire_loss) == 32);
WIRE_ASSERT(sizeof(struct wire_counters) == 64 + 32 * WIRE_LOSS_CAUSES);

/* NOLINTEND(readability-identifier-naming) */

#endif /* IOTAPE_RECORDER_WIRE_H */
