/* Call stacks between kernel and user side, beside recorder/wire.h. */
#ifndef IOTAPE_RECORDER_STACK_WIRE_H
#define IOTAPE_RECORDER_STACK_WIRE_H

#define WIRE_STACK_FRAMES 64   /* per stack; what is deeper is cut off */
#define WIRE_STACKS_KEPT 16384 /* different stacks of each kind: 32 MiB for users', 8 MiB for the kernel's */

#endif
