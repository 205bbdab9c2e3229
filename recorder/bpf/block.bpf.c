/* The block layer. A bio is reported once, when it is queued: only then is it known who wants what of which file. A
 * request is reported once, when it is over; until then it waits in a map. Nothing is decided at completion, which
 * runs in whatever task was interrupted.
 *
 * Programs are attached in this order and detached in reverse: a request's end is hooked before its beginning.
 * Which requests belong to a recording is said in recorder/decisions/20261130-which-block-requests.md, how causes are
 * told apart in recorder/decisions/20261130-block-attribution.md. */
#include "recorder/block_wire.h"
#include "recorder/bpf/block_types.bpf.h"
#include "recorder/bpf/extract.bpf.h"

#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define PAGE_BYTES 4096
#define BTRFS_BTREE_INODE 1

/* format/event.h: BlockOperation, BlockFlag, BlockCause */
#define OPERATION_READ 0
#define OPERATION_WRITE 1
#define OPERATION_ZONE_APPEND 6
#define OPERATION_DRIVER 8
#define FLAG_SYNC (1U << 0)
#define FLAG_METADATA (1U << 1)
#define FLAG_IDLE (1U << 9)
#define FLAGS_JOURNAL (FLAG_SYNC | FLAG_METADATA | FLAG_IDLE)
#define CAUSE_UNKNOWN 0
#define CAUSE_DATA 1
#define CAUSE_METADATA 2
#define CAUSE_JOURNAL 3
#define CAUSE_SWAP 13

enum pageflags { PG_swapcache = 10 };

const volatile struct wire_block_config block_config = {};

/* Disks and filesystems (s_dev) all of whose requests are kept. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1024);
  __type(key, __u32);
  __type(value, __u8);
} disks SEC(".maps");

/* Requests under way, by address; bios of devices that make no requests, too. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, __u64);
  __type(value, struct wire_request);
} requests SEC(".maps");

/* Bios that belong though their disk does not. One that never becomes a request is displaced by and by. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, __u64);
  __type(value, __u8);
} carried_bios SEC(".maps");

/* Who last dirtied a file, by inode address; the rest of the identity tells a reused address. */
struct dirtier {
  __u64 inode;
  __u32 device;
  __u32 generation;
  __u32 process;
  __u32 thread;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 131072);
  __type(key, __u64);
  __type(value, struct dirtier);
} dirtiers SEC(".maps");

/* How far a direct transfer has come, by thread: its bios name memory, not the file. */
struct direct_progress {
  __u64 call_start;
  __u64 bytes;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, __u32);
  __type(value, struct direct_progress);
} direct SEC(".maps");

/* Argument `index` of a tracepoint, one further when the queue comes first. Assembler, since a compiled choice between
 * two context fields becomes pointer arithmetic on the context, which the verifier refuses. */
#define ARGUMENT(type, hook, index)                                                        \
  ({                                                                                       \
    __u64 argument_;                                                                       \
    if (block_config.shift[hook])                                                          \
      asm volatile("%0 = *(u64 *)(%1 + " #index " * 8 + 8)" : "=r"(argument_) : "r"(ctx)); \
    else                                                                                   \
      asm volatile("%0 = *(u64 *)(%1 + " #index " * 8)" : "=r"(argument_) : "r"(ctx));     \
    (type) argument_;                                                                      \
  })

/* ---- devices ---- */

static __always_inline __u32 disk_number(struct gendisk* disk) {
  return (__u32)disk->major << 20 | (__u32)disk->first_minor;
}

static __always_inline struct gendisk* bio_disk(struct bio* bio) {
  if (bpf_core_field_exists(bio->bi_bdev)) return bio->bi_bdev->bd_disk;
  return ((struct bio___before_5_11*)bio)->bi_disk;
}

static __always_inline __u32 bio_partition(struct bio* bio, __u32 disk) {
  if (bpf_core_field_exists(bio->bi_bdev)) return bio->bi_bdev->bd_dev;
  return disk;
}

static __always_inline struct gendisk* request_disk(struct request* rq) {
  if (bpf_core_field_exists(struct request_queue, disk)) return rq->q->disk;
  return ((struct request___before_5_17*)rq)->rq_disk;
}

static __always_inline bool is_wanted(__u32 device) { return bpf_map_lookup_elem(&disks, &device) != NULL; }

/* The device that was last wanted on this processor. What is wanted once stays so, and a workload names the same device
 * with every page that it dirties. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} last_wanted SEC(".maps");

static __always_inline __u32* my_last_wanted(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&last_wanted, &zero);
}

static __always_inline bool is_last_wanted(__u32 device) {
  __u32* last = my_last_wanted();
  return last && *last == device;
}

static __always_inline void want(__u32 device) {
  __u8 one = 1;
  __u32* last = my_last_wanted();
  if (block_config.listed_only || !last || *last == device) return;
  if (!is_wanted(device)) bpf_map_update_elem(&disks, &device, &one, BPF_ANY);
  *last = device;
}

/* ---- tasks ---- */

/* With record_all a process is traced before it has made its first call, and has no state yet. */
static __always_inline bool is_of_recording(struct task_struct* task, struct task_state* state) {
  return state ? state->start.armed : is_asked_for(task);
}

static __always_inline bool current_is_of_recording(void) {
  struct task_struct* task = bpf_get_current_task_btf();
  return is_of_recording(task, state_of(task));
}

/* ---- numbers of the kernel into ours ---- */

static __always_inline __u8 operation_of(__u32 opf) {
  return block_config.operations[opf & (WIRE_BLOCK_OPERATIONS - 1)];
}

static __always_inline __u32 flags_of(__u32 opf) {
  __u32 flags = 0;
#pragma unroll
  for (int flag = 0; flag < WIRE_BLOCK_FLAGS; ++flag)
    flags |= (__u32)((__u64)opf >> (block_config.flag_bits[flag] & 63) & 1) << flag;
  return flags;
}

/* ---- whose pages ---- */

struct page_owner {
  struct inode* host; /* NULL: memory of a process, a copy, or nothing */
  __u64 offset;       /* within host */
  bool swap;
};

static __always_inline void read_folio(struct page* head, struct address_space** mapping, __u64* index) {
  if (!bpf_core_type_exists(struct folio)) {
    struct page___before_folios* old = (struct page___before_folios*)head;
    *mapping = BPF_CORE_READ(old, mapping);
    *index = BPF_CORE_READ(old, index);
  } else {
    struct folio* folio = (struct folio*)head;
    *mapping = BPF_CORE_READ(folio, mapping);
    *index = BPF_CORE_READ(folio, index);
  }
}

/* What the first page of a bio belongs to. */
static __always_inline void find_owner(struct bio* bio, struct page_owner* owner) {
  struct bio_vec vector;
  struct bio_vec* vectors = bio->bi_io_vec;
  __u32 done = bio->bi_iter.bi_bvec_done;
  owner->host = NULL;
  owner->offset = 0;
  owner->swap = false;
  if (bpf_probe_read_kernel(&vector, sizeof(vector), vectors + bio->bi_iter.bi_idx)) return;
  struct page* page = vector.bv_page;
  if (!page) return;
  __u64 compound = BPF_CORE_READ(page, compound_head);
  struct page* head = compound & 1 ? (struct page*)(compound - 1) : page;
  struct address_space* mapping;
  __u64 index;
  read_folio(head, &mapping, &index);
  if ((__u64)mapping & 3) {
    unsigned long flags = 0; /* the first word, in every version */
    bpf_probe_read_kernel(&flags, sizeof(flags), head);
    owner->swap = flags >> bpf_core_enum_value(enum pageflags, PG_swapcache) & 1;
    return;
  }
  if (!mapping) return;
  __u64 tail = ((__u64)page - (__u64)head) / bpf_core_type_size(struct page);
  owner->host = BPF_CORE_READ(mapping, host);
  owner->offset = (index + tail) * PAGE_BYTES + vector.bv_offset + done;
}

/* The filesystem's trees in memory: pages like a device's own, but at logical addresses. */
static __always_inline bool is_btree_inode(const struct wire_file* file) {
  return file->inode == BTRFS_BTREE_INODE && file->subvolume;
}

/* ---- who dirtied ---- */

static __always_inline int note_dirtying(struct address_space* mapping) {
  struct task_struct* task = bpf_get_current_task_btf();
  __u32 process = (__u32)task->tgid;
  bool own = process == config.own_process;
  if (!mapping || (!own && !is_of_recording(task, state_of(task)))) return 0;
  struct inode* host = mapping->host;
  if (!host) return 0;
  struct dirtier fresh = {.inode = host->i_ino,
                          .device = host->i_sb->s_dev,
                          .generation = host->i_generation,
                          .process = process,
                          .thread = (__u32)task->pid};
  bool device = (host->i_mode & S_IFMT) == S_IFBLK;
  if (!own) want(device ? host->i_rdev : fresh.device);
  if (device) return 0; /* many files' metadata: the last one to touch it says nothing of a block */
  __u64 key = (__u64)host;
  struct dirtier* known = bpf_map_lookup_elem(&dirtiers, &key);
  if (known && known->inode == fresh.inode && known->thread == fresh.thread && known->device == fresh.device &&
      known->generation == fresh.generation)
    return 0;
  bpf_map_update_elem(&dirtiers, &key, &fresh, BPF_ANY);
  return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int block_dirty_folio(__u64* ctx) { return note_dirtying((struct address_space*)ctx[1]); }

SEC("tp_btf/writeback_dirty_page")
int block_dirty_page(__u64* ctx) { return note_dirtying((struct address_space*)ctx[1]); }

/* Filesystems that change metadata without dirtying a page in the calling task. */
SEC("tp_btf/jbd2_handle_start")
int block_journal(__u64* ctx) {
  if (!is_last_wanted((__u32)ctx[0]) && current_is_of_recording()) want((__u32)ctx[0]);
  return 0;
}

SEC("tp_btf/xfs_trans_alloc")
int block_xfs(__u64* ctx) {
  struct xfs_trans* transaction = (struct xfs_trans*)ctx[0];
  if (transaction && current_is_of_recording()) want(transaction->t_mountp->m_super->s_dev);
  return 0;
}

static __always_inline void look_up_dirtier(struct inode* host, struct wire_bio* record) {
  __u64 key = (__u64)host;
  struct dirtier* known = bpf_map_lookup_elem(&dirtiers, &key);
  record->dirtier_process = record->dirtier_thread = 0;
  if (!known || known->inode != record->file.inode || known->device != record->file.device ||
      known->generation != record->file.generation)
    return;
  record->dirtier_process = known->process;
  record->dirtier_thread = known->thread;
}

/* ---- cause ---- */

static __always_inline bool is_journal_thread(struct task_struct* task) {
  return task->flags & PF_KTHREAD && task->comm[0] == 'j' && task->comm[1] == 'b' && task->comm[2] == 'd' &&
         task->comm[3] == '2' && task->comm[4] == '/';
}

/* jbd2 and the log of xfs are alone in writing with all three flags. */
static __always_inline bool is_journal_write(struct task_struct* task, struct wire_bio* record) {
  if (record->operation != OPERATION_WRITE) return false;
  return (record->flags & FLAGS_JOURNAL) == FLAGS_JOURNAL || is_journal_thread(task);
}

static __always_inline bool moves_data(__u8 operation) {
  return operation == OPERATION_READ || operation == OPERATION_WRITE || operation == OPERATION_ZONE_APPEND;
}

/* A device's own page written elsewhere than where it belongs: a copy in the journal. */
static __always_inline bool is_elsewhere(struct bio* bio, struct wire_bio* record, __u64 offset) {
  if (record->operation != OPERATION_WRITE || !bpf_core_field_exists(bio->bi_bdev)) return false;
  return offset >> 9 != record->sector - bio->bi_bdev->bd_start_sect;
}

static __always_inline bool is_transfer(__u32 number) {
  return (number <= 20 && (0x1E0003U >> number & 1)) || number == 295 || number == 296 || number == 327 ||
         number == 328;
}

/* A transfer between a file and a process's memory: the call under way says which file. */
static __always_inline bool attribute_direct(struct task_state* state, struct wire_bio* record) {
  if (!state || !state->in_call || !is_transfer(state->call.number)) return false;
  if ((state->call.file.mode & S_IFMT) != S_IFREG) return false;
  record->file = state->call.file;
  struct direct_progress progress = {.call_start = state->call.start, .bytes = 0};
  struct direct_progress* known = bpf_map_lookup_elem(&direct, &record->thread);
  if (known && known->call_start == progress.call_start) progress.bytes = known->bytes;
  bool explicit_offset = state->call.number >= 295 || state->call.number == 17 || state->call.number == 18;
  __s64 begin = explicit_offset ? (__s64)state->call.args[3] : state->call.position;
  if (begin < 0) begin = state->call.position;
  record->file_offset = begin < 0 ? -1 : begin + (__s64)progress.bytes;
  progress.bytes += record->bytes;
  bpf_map_update_elem(&direct, &record->thread, &progress, BPF_ANY);
  return true;
}

static __always_inline void attribute_without_host(struct task_struct* task, struct task_state* state, bool swap,
                                                   struct wire_bio* record) {
  forget(&record->file);
  if (swap)
    record->cause = CAUSE_SWAP;
  else if (is_journal_write(task, record))
    record->cause = CAUSE_JOURNAL;
  else if (record->flags & FLAG_METADATA)
    record->cause = CAUSE_METADATA;
  else if (attribute_direct(state, record))
    record->cause = CAUSE_DATA;
}

/* Fills file, offset, dirtier and cause. */
static __always_inline void attribute(struct task_struct* task, struct task_state* state, struct bio* bio,
                                      struct wire_bio* record) {
  struct page_owner owner = {};
  record->cause = CAUSE_UNKNOWN;
  record->file_offset = -1;
  record->dirtier_process = record->dirtier_thread = 0;
  if (!record->bytes || !moves_data(record->operation)) {
    forget(&record->file);
    return;
  }
  find_owner(bio, &owner);
  if (!owner.host) {
    attribute_without_host(task, state, owner.swap, record);
    return;
  }
  identify_by_probe(owner.host, &record->file); /* libbpf 1.1 links a kernel function into one object only */
  bool trees = is_btree_inode(&record->file);
  if (trees || (record->file.mode & S_IFMT) == S_IFBLK) {
    bool journal = !trees && (is_journal_write(task, record) || is_elsewhere(bio, record, owner.offset));
    record->cause = journal ? CAUSE_JOURNAL : CAUSE_METADATA;
    __u32 filesystem = record->file.device;
    forget(&record->file);
    record->file.device = filesystem; /* for belongs() only: without a mode it is not a file */
    return;
  }
  record->file_offset = (__s64)owner.offset;
  bool metadata = record->flags & FLAG_METADATA || (record->file.mode & S_IFMT) == S_IFDIR;
  record->cause = metadata ? CAUSE_METADATA : CAUSE_DATA;
  look_up_dirtier(owner.host, record);
}

/* ---- bios ---- */

/* A part that finds no room is counted as such: it is no event of its own. */
static __always_inline void emit_part(void* record, __u16 kind, __u16 size) {
  struct wire_head* head = record;
  head->kind = kind;
  head->size = size;
  head->cpu = bpf_get_smp_processor_id();
  if (bpf_ringbuf_output(&ring, record, size, BPF_RB_NO_WAKEUP)) count_loss(WIRE_LOSS_PART_MAP);
}

static __always_inline void begin_bio_based(struct wire_bio* bio) {
  struct wire_request request = {.first_bio = bio->bio,
                                 .sector = bio->sector,
                                 .bytes = bio->bytes,
                                 .disk = bio->disk,
                                 .partition = bio->partition,
                                 .flags = bio->flags,
                                 .operation = bio->operation,
                                 .marks = bio->marks};
  count_seen();
  if (bpf_map_update_elem(&requests, &bio->bio, &request, BPF_ANY)) count_loss(WIRE_LOSS_REQUEST_MAP);
}

/* Whether a bio is kept. A disk one of whose filesystems is wanted becomes wanted itself: its requests do not say
 * which filesystem they are for. */
static __always_inline bool belongs(struct wire_bio* record, bool traced) {
  if (is_wanted(record->disk)) return true;
  if (block_config.listed_only) return false;
  if ((record->partition != record->disk && is_wanted(record->partition)) ||
      (record->file.device && is_wanted(record->file.device))) {
    want(record->disk);
    return true;
  }
  if (!traced) return false;
  __u8 one = 1;
  bpf_map_update_elem(&carried_bios, &record->bio, &one, BPF_ANY);
  return true;
}

static __always_inline int queue_bio(struct bio* bio) {
  if (!bio || closing) return 0;
  struct gendisk* disk = bio_disk(bio);
  __u32 opf = bio->bi_opf;
  struct task_struct* task = bpf_get_current_task_btf();
  struct task_state* state = state_of(task);
  bool traced = is_of_recording(task, state);
  struct wire_bio record;
  __builtin_memset(&record.operation, 0, 8);
  record.bio = (__u64)bio;
  record.sector = bio->bi_iter.bi_sector;
  record.bytes = bio->bi_iter.bi_size;
  record.disk = disk_number(disk);
  record.partition = bio_partition(bio, record.disk);
  record.flags = flags_of(opf);
  record.operation = operation_of(opf);
  record.process = (__u32)task->tgid;
  record.thread = (__u32)task->pid;
  record.call_start = traced && state && state->in_call ? state->call.start : 0;
  attribute(task, traced ? state : NULL, bio, &record);
  if (!belongs(&record, traced)) return 0;
  if (record.process == config.own_process || record.dirtier_process == config.own_process)
    record.marks |= WIRE_BLOCK_OWN;
  if (!disk->queue->mq_ops) {
    record.marks |= WIRE_BLOCK_BIO_BASED;
    begin_bio_based(&record);
  }
  record.time = bpf_ktime_get_boot_ns();
  emit_part(&record, WIRE_BIO, sizeof(record));
  return 0;
}

SEC("tp_btf/block_bio_queue")
int block_queue(__u64* ctx) { return queue_bio(ARGUMENT(struct bio*, WIRE_SHIFT_BIO_QUEUE, 0)); }

/* A partition's bios are remapped before they are queued; only a move to another device is news. */
SEC("tp_btf/block_bio_remap")
int block_remap(__u64* ctx) {
  struct bio* bio = ARGUMENT(struct bio*, WIRE_SHIFT_BIO_REMAP, 0);
  __u32 old_device = ARGUMENT(__u32, WIRE_SHIFT_BIO_REMAP, 1);
  __u64 old_sector = ARGUMENT(__u64, WIRE_SHIFT_BIO_REMAP, 2);
  if (!bio) return 0;
  struct wire_bio_moved record = {.bio = (__u64)bio, .old_sector = old_sector, .old_disk = old_device};
  record.disk = disk_number(bio_disk(bio));
  if (record.disk == old_device || bio_partition(bio, record.disk) == old_device) return 0;
  if (!is_wanted(record.old_disk)) return 0;
  want(record.disk);
  record.sector = bio->bi_iter.bi_sector;
  record.operation = operation_of(bio->bi_opf);
  emit_part(&record, WIRE_BIO_MOVED, sizeof(record));
  return 0;
}

/* ---- requests ---- */

static __always_inline void emit_request(struct wire_request* state, __u64 complete) {
  struct wire_request* record = emit_reserve(WIRE_REQUEST, sizeof(*record));
  if (!record) return;
  struct wire_head head = record->head;
  *record = *state;
  record->head = head;
  record->complete = complete;
  if (!complete) record->marks |= WIRE_BLOCK_OPEN;
  emit_submit(record);
}

SEC("tp_btf/block_bio_complete")
int block_bio_end(__u64* ctx) {
  struct bio* bio = (struct bio*)ctx[1];
  if (!bio) return 0;
  __u64 key = (__u64)bio;
  struct wire_request* state = bpf_map_lookup_elem(&requests, &key);
  if (state) {
    state->error = bio->bi_status;
    emit_request(state, bpf_ktime_get_boot_ns());
    bpf_map_delete_elem(&requests, &key);
    return 0;
  }
  struct gendisk* disk = bio_disk(bio);
  struct wire_bio_moved record = {.bio = key, .old_disk = disk_number(disk)};
  if (!is_wanted(record.old_disk) || !disk->queue->mq_ops) return 0;
  record.operation = operation_of(bio->bi_opf);
  emit_part(&record, WIRE_BIO_REFUSED, sizeof(record));
  return 0;
}

/* May come several times, each with the bytes it is about. */
SEC("tp_btf/block_rq_complete")
int block_end(__u64* ctx) {
  __u64 key = ctx[0];
  __s32 error = (__s32)ctx[1];
  __u32 bytes = (__u32)ctx[2];
  struct wire_request* state = bpf_map_lookup_elem(&requests, &key);
  if (!state) return 0;
  state->done += bytes;
  if (error) state->error = error;
  if (state->done < state->bytes) return 0;
  emit_request(state, bpf_ktime_get_boot_ns());
  bpf_map_delete_elem(&requests, &key);
  return 0;
}

/* Whether one of the first bios of a request was queued by a traced task on a disk that is not wanted. */
static __always_inline bool carries(struct request* rq) {
  struct bio* bio = rq->bio;
  bool found = false;
  for (int step = 0; step < 32 && bio; ++step) {
    __u64 key = (__u64)bio;
    if (bpf_map_delete_elem(&carried_bios, &key) == 0) found = true;
    bio = BPF_CORE_READ(bio, bi_next);
  }
  return found;
}

static __always_inline void begin_request(__u64 key, struct request* rq, __u32 disk) {
  struct wire_request state = {};
  __u32 opf = rq->cmd_flags;
  state.first_bio = (__u64)rq->bio;
  state.issue = bpf_ktime_get_boot_ns();
  state.bytes = rq->__data_len;
  state.operation = operation_of(opf);
  state.flags = flags_of(opf);
  state.sector = rq->__sector;
  if (state.sector == ~0ULL || state.operation == OPERATION_DRIVER) state.sector = 0;
  state.disk = state.partition = disk;
  count_seen();
  if (bpf_map_update_elem(&requests, &key, &state, BPF_ANY)) count_loss(WIRE_LOSS_REQUEST_MAP);
}

static __always_inline int issue_request(struct request* rq) {
  if (!rq) return 0;
  __u64 key = (__u64)rq;
  struct wire_request* state = bpf_map_lookup_elem(&requests, &key);
  if (state && state->waiting) {
    state->waiting = 0;
    state->issue = bpf_ktime_get_boot_ns();
    state->bytes = state->done + rq->__data_len; /* it may have been merged with others meanwhile */
    return 0;
  }
  if (state) { /* its end was missed, the address now means another request */
    emit_request(state, 0);
    bpf_map_delete_elem(&requests, &key);
  }
  if (closing) return 0;
  __u32 disk = disk_number(request_disk(rq));
  if (!is_wanted(disk) && (block_config.listed_only || !carries(rq))) return 0;
  begin_request(key, rq, disk);
  return 0;
}

SEC("tp_btf/block_rq_issue")
int block_issue(__u64* ctx) { return issue_request(ARGUMENT(struct request*, WIRE_SHIFT_RQ_ISSUE, 0)); }

static __always_inline int requeue_request(struct request* rq) {
  __u64 key = (__u64)rq;
  struct wire_request* state = bpf_map_lookup_elem(&requests, &key);
  if (!state) return 0;
  state->requeues++;
  state->waiting = 1;
  return 0;
}

SEC("tp_btf/block_rq_requeue")
int block_requeue(__u64* ctx) { return requeue_request(ARGUMENT(struct request*, WIRE_SHIFT_RQ_REQUEUE, 0)); }

/* A requeued request that is merged into another one ends without a completion; its sectors come with the other. */
static __always_inline int merge_request(struct request* rq) {
  __u64 key = (__u64)rq;
  struct wire_request* state = bpf_map_lookup_elem(&requests, &key);
  struct wire_counters* count = my_counters();
  if (!state || !state->waiting || !count) return 0;
  count->seen--; /* sums over CPUs: another one may have counted it */
  bpf_map_delete_elem(&requests, &key);
  return 0;
}

SEC("tp_btf/block_rq_merge")
int block_merge(__u64* ctx) { return merge_request(ARGUMENT(struct request*, WIRE_SHIFT_RQ_MERGE, 0)); }
