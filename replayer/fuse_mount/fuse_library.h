// libfuse3, in the one form of its interface that this room uses.
#pragma once

#define FUSE_USE_VERSION 312

#include <fuse_lowlevel.h>
