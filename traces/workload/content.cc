#include "traces/workload/content.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace iotape::workload {
namespace {

constexpr std::size_t kTextSize = std::size_t{1} << 20U;
constexpr std::array<std::string_view, 32> kWords{
    "static",   "int",       "struct", "return",   "if (",   "unsigned long", "#define", "for (i = 0; i < ",
    "device",   "->flags",   "&&",     "buffer",   " = 0;",  "spin_lock(&",   "NULL",    "memset(",
    "register", "interrupt", "inode",  "sizeof(",  "else {", "case ",         "break;",  "printk(KERN_ERR \"",
    "status",   "while (",   "void *", "goto out", "page",   "request",       "config",  "/* "};

}  // namespace

std::string_view BlockSource::next() {
  if (fill_ == Fill::kZero) return block_;
  for (std::size_t at = 0; at < block_.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t bits = random_.next();
    std::memcpy(block_.data() + at, &bits, std::min(sizeof bits, block_.size() - at));
  }
  return block_;
}

SourceText::SourceText(std::uint64_t seed) {
  Random random(seed);
  constexpr std::uint64_t kWordsPerLine = 7;
  constexpr std::uint64_t kIdentifiers = 4096;
  while (text_.size() < kTextSize) {
    const std::uint64_t words = 1 + random.below(kWordsPerLine);
    text_ += '\t';
    for (std::uint64_t i = 0; i < words; ++i) {
      text_ += kWords[random.below(kWords.size())];
      text_ += " v";
      text_ += std::to_string(random.below(kIdentifiers));
    }
    text_ += ";\n";
  }
}

std::string_view SourceText::window(std::uint64_t at, std::size_t size) {
  window_.clear();
  std::size_t from = static_cast<std::size_t>(at % text_.size());
  while (window_.size() < size) {
    const std::size_t part = std::min(size - window_.size(), text_.size() - from);
    window_.append(text_, from, part);
    from = 0;
  }
  return window_;
}

}  // namespace iotape::workload
