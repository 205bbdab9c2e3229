/* Block-layer records, beside recorder/wire.h: what recorder/bpf/block.bpf.c writes into the ring and what
 * recorder/block_records.cc reads. Sectors are 512 bytes from the start of the whole disk, devices are
 * major << 20 | minor. Operations and flags are the numbers of format/event.h; the kernel's own move between versions,
 * so the user side looks them up in BTF and hands a table down (struct wire_block_config). */
#ifndef IOTAPE_RECORDER_BLOCK_WIRE_H
#define IOTAPE_RECORDER_BLOCK_WIRE_H

#include "recorder/wire.h"

/* Names are C's, as in the kernel's own headers. NOLINTBEGIN(readability-identifier-naming) */

#define WIRE_BIO 32         /* struct wire_bio: a bio was queued */
#define WIRE_REQUEST 33     /* struct wire_request: a request is over */
#define WIRE_BIO_MOVED 34   /* struct wire_bio_moved: a queued bio now goes to another device */
#define WIRE_BIO_REFUSED 35 /* struct wire_bio_moved without destination: a bio ended without a request */

#define WIRE_BLOCK_BIO_BASED 1U /* the device makes no requests, the bio itself completes */
#define WIRE_BLOCK_OWN 2U       /* the recorder's own doing */
#define WIRE_BLOCK_OPEN 4U      /* no completion was seen */

struct wire_bio {
  struct wire_head head;
  __u64 time;
  __u64 bio;
  __u64 sector;
  __u32 bytes;
  __u32 disk;
  __u32 partition;
  __u32 flags;
  __u32 process; /* who queued it */
  __u32 thread;
  __u32 dirtier_process; /* who last dirtied the file's pages, 0: not known */
  __u32 dirtier_thread;
  __u8 operation;
  __u8 cause;
  __u8 marks; /* WIRE_BLOCK_* */
  __u8 padding[5];
  struct wire_file file;
  __s64 file_offset;
  __u64 call_start; /* 0: not in a traced call */
};
WIRE_ASSERT(sizeof(struct wire_bio) == 120);
WIRE_ASSERT(offsetof(struct wire_bio, file) == 72);

/* Also the value of the map of requests under way, so that those left at the end are read from it as they are. */
struct wire_request {
  struct wire_head head;
  __u64 first_bio;
  __u64 sector;
  __u64 issue; /* the last one, when it was requeued; 0: none */
  __u64 complete;
  __u32 bytes;
  __u32 disk;
  __u32 partition;
  __u32 flags;
  __s32 error; /* as the kernel says it: a positive blk_status_t or a negative errno */
  __u32 done;  /* bytes completed so far */
  __u16 requeues;
  __u8 operation;
  __u8 marks;
  __u8 waiting; /* requeued and not issued again */
  __u8 padding[3];
};
WIRE_ASSERT(sizeof(struct wire_request) == 72);

struct wire_bio_moved {
  struct wire_head head;
  __u64 bio;
  __u64 old_sector;
  __u64 sector;
  __u32 old_disk;
  __u32 disk;
  __u8 operation;
  __u8 padding[7];
};
WIRE_ASSERT(sizeof(struct wire_bio_moved) == 48);

#define WIRE_BLOCK_OPERATIONS 64
#define WIRE_BLOCK_FLAGS 12 /* as many as format/event.h has BlockFlags */
#define WIRE_NO_FLAG 63     /* this kernel has no such flag */

/* Tracepoints that had the request queue as first argument before 5.11 (and its back-ports). */
#define WIRE_SHIFT_RQ_ISSUE 0
#define WIRE_SHIFT_RQ_REQUEUE 1
#define WIRE_SHIFT_RQ_MERGE 2
#define WIRE_SHIFT_BIO_QUEUE 3
#define WIRE_SHIFT_BIO_REMAP 4
#define WIRE_SHIFTS 8

struct wire_block_config {
  __u8 listed_only; /* only the devices put into the map `disks`; else also those traced tasks change */
  __u8 padding[3];
  __u8 flag_bits[WIRE_BLOCK_FLAGS];       /* bit number in the kernel's flags of each BlockFlag */
  __u8 shift[WIRE_SHIFTS];                /* 1: the queue comes first */
  __u8 operations[WIRE_BLOCK_OPERATIONS]; /* BlockOperation of each REQ_OP */
};
WIRE_ASSERT(sizeof(struct wire_block_config) == 88);

/* NOLINTEND(readability-identifier-naming) */

#endif /* IOTAPE_RECORDER_BLOCK_WIRE_H */
