// What every picture has in common, so that they look like one family: ink, guides, frames and the size of text.
#pragma once

#include "analysis/plot/canvas.h"

namespace iotape {

inline constexpr double kTextSize = 12;
inline constexpr Color kInk{40, 40, 40, 255};
inline constexpr Color kFaint{225, 225, 225, 255};
inline constexpr Color kFrame{130, 130, 130, 255};

}  // namespace iotape
