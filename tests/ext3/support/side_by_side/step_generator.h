// Draws sequences of steps at random: every operation on names, files and attributes, most of them on what exists, some
// on what does not, with names of every length and byte. What it draws depends on the seed and on the outcomes that it
// is told alone.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/ext3/support/side_by_side/step.h"

namespace iotape::ext3::test {

struct StepMix {
  std::size_t names = 60;  // different ones; few names meet often, many fill directories
  std::uint32_t largest_write = 40'000;
  std::uint64_t farthest_offset = 0;  // bytes: of a few writes and cuts; the others stay near the beginning
  bool fills_up = false;              // removes less than it makes
  std::uint32_t largest_attribute = 5000;
};

class StepGenerator {
 public:
  StepGenerator(std::uint64_t seed, const StepMix& mix);
  Step next();
  void learn(const Step& step, const StepOutcome& outcome);
  // After a remount nothing is open.
  void forget_descriptors() { open_.clear(); }

 private:
  struct OpenSlot {
    std::int32_t number = 0;
    bool is_directory = false;
  };
  std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }
  bool percent(std::uint64_t share) { return below(100) < share; }
  std::string make_name();
  const std::string& name() { return names_[below(names_.size())]; }
  const std::string& directory() { return directories_[below(directories_.size())]; }
  std::string odd_path();
  std::string existing_path();
  PathArgument some_path();
  PathArgument new_path();
  PathArgument file_path();
  PathArgument absolute(std::string bytes) const;
  Descriptor some_slot(bool directory);
  std::uint64_t offset();
  TimeArgument time();
  Text attribute_name();

  Step open();
  Step open_bound(Open op);
  Step read_or_write(bool writes);
  Step close();
  Step seek();
  Step truncate();
  Step sync();
  Step look();
  Step rename();
  Step link();
  Step symlink();
  Step remove();
  Step make_directory();
  Step make_node();
  Step list();
  Step change_mode();
  Step change_owner();
  Step set_times();
  Step attribute();
  Step process();

  void learn_removed(const std::string& path);
  void learn_made(const std::string& path, bool directory);

  std::mt19937_64 random_;
  StepMix mix_;
  std::vector<std::string> names_;
  std::vector<std::string> directories_{""};
  std::vector<std::string> files_;
  std::vector<OpenSlot> open_;
};

}  // namespace iotape::ext3::test
