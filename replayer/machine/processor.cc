#include "replayer/machine/processor.h"

#include <algorithm>

namespace iotape::machine {

void Processor::acquire() {
  while (free_ == 0) {
    ++waiting_;
    host_.wait(this);
    --waiting_;
  }
  --free_;
}

void Processor::release() {
  ++free_;
  if (waiting_ != 0) host_.wake(this);
}

void Processor::use(Nanoseconds amount) {
  if (amount.value <= 0) return;
  acquire();
  while (amount.value > 0 && !broken_off_) {
    const Nanoseconds slice = std::min(amount, kSlice);
    host_.sleep_until(host_.now() + slice);
    busy_ += slice;
    amount -= slice;
    if (amount.value > 0 && waiting_ != 0) {
      release();
      host_.yield();
      acquire();
    }
  }
  release();
}

}  // namespace iotape::machine
