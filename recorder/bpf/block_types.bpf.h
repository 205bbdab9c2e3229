/* The block layer's kernel structs and fields, by name, like kernel_types.bpf.h. */
#ifndef IOTAPE_BLOCK_TYPES_BPF_H
#define IOTAPE_BLOCK_TYPES_BPF_H

#include "recorder/bpf/kernel_types.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct request_queue;
struct gendisk {
  int major;
  int first_minor;
  struct request_queue* queue;
};
struct blk_mq_ops;
struct request_queue {
  const struct blk_mq_ops* mq_ops; /* NULL: the driver takes bios, there are no requests */
  struct gendisk* disk;            /* since 5.15; before: request::rq_disk */
};
struct block_device {
  __u64 bd_start_sect; /* these two: since 5.11 */
  unsigned int bd_dev;
  struct gendisk* bd_disk;
};

struct bio_vec {
  struct page* bv_page;
  unsigned int bv_len;
  unsigned int bv_offset;
};
struct bvec_iter {
  __u64 bi_sector;
  unsigned int bi_size;
  unsigned int bi_idx;
  unsigned int bi_bvec_done;
};
struct bio {
  struct block_device* bi_bdev; /* since 5.11 */
  unsigned int bi_opf;
  __u8 bi_status;
  struct bvec_iter bi_iter;
  void* bi_end_io;
  struct bio_vec* bi_io_vec;
  struct bio* bi_next;
};
struct bio___before_5_11 {
  struct gendisk* bi_disk;
};

struct request {
  struct request_queue* q;
  unsigned int cmd_flags;
  unsigned int __data_len;
  __u64 __sector;
  struct bio* bio;
  struct block_device* part; /* a block_device since 5.11 */
};
struct request___before_5_17 {
  struct gendisk* rq_disk;
};

struct address_space {
  struct inode* host;
};
struct page {
  unsigned long compound_head;
};
struct folio { /* since 5.16 */
  struct address_space* mapping;
  unsigned long index;
};
struct page___before_folios {
  struct address_space* mapping;
  unsigned long index;
};

struct xfs_mount {
  struct super_block* m_super;
};
struct xfs_trans {
  struct xfs_mount* t_mountp;
};

#pragma clang attribute pop

#endif
