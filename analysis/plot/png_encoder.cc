#include <png.h>

#include "analysis/plot/canvas.h"

namespace iotape {

Result<std::string> encode_png(const PixelImage& image) {
  static_assert(sizeof(Color) == 4);
  png_image description{};
  description.version = PNG_IMAGE_VERSION;
  description.width = static_cast<png_uint_32>(image.width);
  description.height = static_cast<png_uint_32>(image.height);
  description.format = PNG_FORMAT_RGBA;
  png_alloc_size_t size = 0;
  if (png_image_write_get_memory_size(description, size, 0, image.pixels.data(), 0, nullptr) == 0)
    return failure(ErrorCode::kLimit, std::string("cannot encode a PNG: ") + description.message);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&description, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr) == 0)
    return failure(ErrorCode::kLimit, std::string("cannot encode a PNG: ") + description.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace iotape
