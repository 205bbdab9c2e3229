#include "recorder/commands.h"

#include <array>

#include "recorder/command/record.h"

namespace iotape {
namespace {

constexpr std::array kCommands{
    Command{"record", "record a command's file calls and the disk requests they cause", &run_record},
    Command{"doctor", "check what recording needs of this machine", &run_doctor},
};

}  // namespace

std::span<const Command> recorder_commands() { return kCommands; }

}  // namespace iotape
