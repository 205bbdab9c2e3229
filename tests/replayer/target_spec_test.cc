#include "replayer/target/target_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replayer/target/make_target.h"

namespace iotape {
namespace {

using ::testing::HasSubstr;

TargetSpec parsed(std::string_view text) {
  auto spec = parse_target_spec(text);
  EXPECT_TRUE(spec.has_value()) << text << ": " << (spec ? "" : spec.error().message);
  return spec.value_or(TargetSpec{});
}

Error refused(std::string_view text) {
  auto spec = parse_target_spec(text);
  EXPECT_FALSE(spec.has_value()) << text;
  return spec ? Error{} : spec.error();
}

TEST(TargetSpec, BarePathMeansDirectory) {
  EXPECT_EQ(parsed("/mnt/x"), (TargetSpec{"dir", "/mnt/x", {}, false}));
  EXPECT_EQ(parsed("here"), (TargetSpec{"dir", "here", {}, false}));
  EXPECT_EQ(parsed("./kernel:ext4").place, "./kernel:ext4");
}

TEST(TargetSpec, DoubledCommaStandsForItself) {
  const TargetSpec spec = parsed("dir:/mnt/a,,b,reserve=1G");
  EXPECT_EQ(spec.place, "/mnt/a,b");
  EXPECT_EQ(spec.value("reserve"), "1G");
  EXPECT_EQ(parsed(spec.text()), spec);
  EXPECT_EQ(parsed("/mnt/a,,").place, "/mnt/a,");
}

TEST(TargetSpec, PrintsBackWhatItRead) {
  for (const char* text : {"kernel:ext4,size=8G,mkfs=-b 1024,mount=noatime,,data=writeback", "null:", "dir:/mnt/x"})
    EXPECT_EQ(parsed(text).text(), text);
  for (const char* text : {"./help", "dir:help,", "dir:help,reserve=1G", "dir:help,,", "kernel:help,", "dir:help"})
    EXPECT_EQ(parsed(parsed(text).text()), parsed(text)) << text;
}

TEST(TargetSpec, UnknownKeyNamesTheNearest) {
  const Error error = refused("kernel:xfs,sise=8G");
  EXPECT_EQ(error.code, ErrorCode::kUsage);
  EXPECT_THAT(error.message, HasSubstr("size"));
  EXPECT_THAT(refused("kernal:xfs").message, HasSubstr("kernel"));
  EXPECT_THAT(refused("kernel:xfs,zzzzzz=1").message, HasSubstr("known:"));
}

TEST(TargetSpec, RefusesWhatMakesNoSense) {
  EXPECT_THAT(refused("kernel:xfs,size").message, HasSubstr("needs a value"));
  EXPECT_THAT(refused("kernel:xfs,size=1G,size=2G").message, HasSubstr("twice"));
  EXPECT_THAT(refused("null:here").message, HasSubstr("no place"));
  EXPECT_EQ(refused("kernel:").code, ErrorCode::kUsage);
  EXPECT_EQ(refused("").code, ErrorCode::kUsage);
}

TEST(TargetSpec, AForgottenColonOrCommaMakesNoPlaceOfThatName) {
  for (const char* kind : {"ext3", "kernel", "dir", "null"})
    EXPECT_THAT(refused(kind).message, HasSubstr(std::string("did you mean ") + kind + ":?"));
  EXPECT_THAT(refused("help").message, HasSubstr("ext3:help"));
  EXPECT_THAT(refused("ext3:alloc=classic").message, HasSubstr("did you mean ext3:,alloc=classic?"));
  EXPECT_THAT(refused("ext3:size=1G,alloc=classic").message, HasSubstr("did you mean ext3:,size=1G?"));
  EXPECT_EQ(parsed("./ext3").place, "./ext3");
  EXPECT_EQ(parsed("ext3:./alloc=classic").place, "./alloc=classic");
  EXPECT_EQ(parsed("ext3:a=b").place, "a=b");
}

TEST(TargetSpec, HelpListsEveryKey) {
  EXPECT_TRUE(parsed("kernel:help").help);
  for (const TargetKind& kind : target_kinds())
    for (const TargetKey& key : kind.keys) EXPECT_THAT(target_help(kind.name), HasSubstr(std::string(key.name) + "="));
  EXPECT_FALSE(make_target(parsed("dir:help"), {}).has_value());
}

TEST(TargetSpec, TypedValuesComeWithDefaults) {
  const TargetSpec spec = parsed("kernel:ext4,size=64M,direct=maybe");
  EXPECT_EQ(spec.size_value("size").value_or(0), 64U << 20U);
  EXPECT_EQ(spec.duration_value("block_limit").value_or(Nanoseconds(0)), Nanoseconds(10'000'000'000));
  EXPECT_FALSE(spec.switch_value("direct").has_value());
  EXPECT_TRUE(parsed("kernel:ext4").switch_value("direct").value_or(false));
}

}  // namespace
}  // namespace iotape
