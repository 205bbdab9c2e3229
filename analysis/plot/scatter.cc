#include "analysis/plot/scatter.h"

#include <algorithm>
#include <cmath>

#include "analysis/seek_statistics.h"
#include "format/enum_names.h"

namespace iotape {
namespace {

// The colour-blind safe palette of Okabe and Ito.
constexpr Color kBlue{0, 114, 178, 255};
constexpr Color kVermillion{213, 94, 0, 255};
constexpr Color kGreen{0, 158, 115, 255};
constexpr Color kPurple{204, 121, 167, 255};
constexpr Color kSky{86, 180, 233, 255};
constexpr Color kOrange{230, 159, 0, 255};
constexpr Color kGray{120, 120, 120, 255};

const RequestPart* first_part(const BlockRequest& request) {
  return request.parts.empty() ? nullptr : &request.parts.front();
}

std::uint8_t cause_category(const BlockRequest& request) {
  const RequestPart* part = first_part(request);
  if (part == nullptr) return 0;
  switch (part->cause) {
    case BlockCause::kUnknown:
      return 0;
    case BlockCause::kData:
    case BlockCause::kSwap:
      return 1;
    case BlockCause::kJournal:
      return 2;
    case BlockCause::kInodeTable:
    case BlockCause::kInodeBitmap:
    case BlockCause::kBlockBitmap:
      return 4;
    case BlockCause::kDirectoryLeaf:
    case BlockCause::kHtreeIndex:
      return 5;
    case BlockCause::kMetadata:
    case BlockCause::kIndirect:
    case BlockCause::kSuperblock:
    case BlockCause::kGroupDescriptor:
    case BlockCause::kXattr:
      return 3;
  }
  return 0;
}

double logarithm(std::int64_t ns) { return std::log10(static_cast<double>(std::max<std::int64_t>(ns, 1))); }

std::optional<PlacedMark> request_mark(PlotKind kind, const BlockRequest& request) {
  const auto access = access_class(request.operation);
  if (!access || request.bytes <= 0) return std::nullopt;
  const auto time = request.issue ? request.issue : request.complete;
  if (!time) return std::nullopt;
  PlacedMark placed;
  placed.panel = request.device.value;
  placed.mark.time = time->value;
  placed.mark.category = kind == PlotKind::kCause ? cause_category(request) : static_cast<std::uint8_t>(*access);
  placed.mark.low = static_cast<double>(request.sector.value);
  placed.mark.high =
      placed.mark.low +
      static_cast<double>((request.bytes - 1) / kSectorBytes);  // NOLINT(bugprone-integer-division): whole sectors
  if (kind != PlotKind::kLatency) return placed;
  if (!request.issue || !request.complete) return std::nullopt;
  placed.mark.low = placed.mark.high = logarithm((*request.complete - *request.issue).value);
  return placed;
}

std::optional<PlacedMark> call_mark(const Syscall& call) {
  if (call.unfinished || (call.replay && call.replay->skipped != SkipReason::kIssued)) return std::nullopt;
  PlacedMark placed;
  placed.panel = kCallPanel;
  placed.mark.time = call.start.value;
  placed.mark.low = placed.mark.high = logarithm(call.duration.value);
  constexpr std::uint8_t kReadCall = 3;
  constexpr std::uint8_t kWriteCall = 4;
  constexpr std::uint8_t kOtherCall = 5;
  placed.mark.category = std::holds_alternative<Read>(call.operation)    ? kReadCall
                         : std::holds_alternative<Write>(call.operation) ? kWriteCall
                                                                         : kOtherCall;
  return placed;
}

}  // namespace

const std::vector<Category>& categories_of(PlotKind kind) {
  static const std::vector<Category> kHeads{{"read", kBlue}, {"write", kVermillion}, {"discard", kGray}};
  static const std::vector<Category> kLatency{{"read request", kBlue}, {"write request", kVermillion},
                                              {"discard", kGray},      {"read call", kSky},
                                              {"write call", kOrange}, {"other call", kGreen}};
  static const std::vector<Category> kCause{{"unknown", kGray},
                                            {"data", kBlue},
                                            {"journal", kVermillion},
                                            {"metadata", kGreen},
                                            {"inodes and bitmaps", kOrange},
                                            {"directories", kPurple}};
  return kind == PlotKind::kHeads ? kHeads : kind == PlotKind::kLatency ? kLatency : kCause;
}

std::optional<PlacedMark> mark_of(PlotKind kind, const EventBody& body) {
  if (const auto* request = std::get_if<BlockRequest>(&body)) return request_mark(kind, *request);
  const auto* call = std::get_if<Syscall>(&body);
  return kind == PlotKind::kLatency && call != nullptr ? call_mark(*call) : std::nullopt;
}

void Extent::include(const Mark& mark) {
  first = any ? std::min(first, mark.time) : mark.time;
  last = any ? std::max(last, mark.time) : mark.time;
  low = any ? std::min(low, mark.low) : mark.low;
  high = any ? std::max(high, mark.high) : mark.high;
  any = true;
  ++marks;
}

Grid::Grid(int columns, int rows, std::size_t categories, const Extent& extent)
    : columns_(columns),
      rows_(rows),
      categories_(categories),
      extent_(extent),
      counts_(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows) * categories) {}

std::size_t Grid::cell(int column, int row, std::size_t category) const {
  return (static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) + static_cast<std::size_t>(column)) *
             categories_ +
         category;
}

std::uint32_t Grid::count(int column, int row, std::size_t category) const {
  return counts_[cell(column, row, category)];
}

int Grid::column_of(std::int64_t time) const {
  const double span = static_cast<double>(extent_.last) - static_cast<double>(extent_.first);
  const double share = span > 0 ? (static_cast<double>(time) - static_cast<double>(extent_.first)) / span : 0.5;
  return static_cast<int>(std::clamp(share * columns_, 0.0, columns_ - 1.0));
}

int Grid::row_of(double value) const {
  const double span = extent_.high - extent_.low;
  const double share = span > 0 ? (value - extent_.low) / span : 0.5;
  return static_cast<int>(std::clamp((1 - share) * rows_, 0.0, rows_ - 1.0));
}

void Grid::add(const Mark& mark) {
  const int column = column_of(mark.time);
  const std::size_t category = std::min<std::size_t>(mark.category, categories_ - 1);
  for (int row = row_of(mark.high); row <= row_of(mark.low); ++row) {
    std::uint32_t& count = counts_[cell(column, row, category)];
    if (count != ~std::uint32_t{0}) ++count;
    largest_ = std::max(largest_, count);
  }
}

PixelImage Grid::paint(const std::vector<Category>& categories) const {
  PixelImage image(columns_, rows_, {255, 255, 255, 0});
  for (int row = 0; row < rows_; ++row)
    for (int column = 0; column < columns_; ++column) {
      double sum = 0;
      std::array<double, 3> mixed{};
      for (std::size_t k = 0; k < categories_; ++k) {
        const double weight = std::log2(1.0 + count(column, row, k));
        sum += weight;
        mixed[0] += weight * categories[k].color.red, mixed[1] += weight * categories[k].color.green;
        mixed[2] += weight * categories[k].color.blue;
      }
      if (sum == 0) continue;
      // A single event must be seen; many are only somewhat darker.
      constexpr double kFaintest = 190;
      const double strength = std::min(1.0, sum / (1 + std::log2(1.0 + largest_)));
      const auto channel = [&](std::size_t i) { return static_cast<std::uint8_t>(mixed[i] / sum); };
      image.at(column, row) = {channel(0), channel(1), channel(2),
                               static_cast<std::uint8_t>(kFaintest + (255 - kFaintest) * strength)};
    }
  return image;
}

}  // namespace iotape
