// Result<T>: what a function returns that can fail for a reason the user should read.
//
// An Error is the tool's own failure (a file that cannot be opened, a damaged trace, a bad option). What a filesystem
// answered to a replayed call is data, not an Error: see OpOutcome in format/op_outcome.h.
// Context is added once per layer with Error::within("reading block 531 of x.iotape").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace iotape {

enum class ErrorCode : std::uint8_t {
  kUsage,        // the command line or a specification is wrong; exit 2
  kIo,           // the operating system refused; os_errno says why
  kCorrupt,      // input is damaged or not what it claims to be; exit 4 where the input is a trace
  kUnsupported,  // input or machine is sound, but this build or kernel cannot do it
  kNotFound,     // a named thing does not exist
  kLimit,        // a stated bound was reached
  kInterrupted,  // the user asked to stop; exit 130
};

struct Error {
  ErrorCode code = ErrorCode::kIo;
  std::string message;  // one line without a final period: what failed, where, and the remedy
  int os_errno = 0;     // 0 when no system call is to blame

  // The same error, its message led by what the caller was doing.
  [[nodiscard]] Error within(std::string_view doing) && {
    message.insert(0, std::string(doing) + ": ");
    return std::move(*this);
  }
};

template <typename T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> failure(ErrorCode code, std::string message) {
  return tl::make_unexpected(Error{code, std::move(message), 0});
}

// A failed system call: appends strerror(os_errno) to the message.
[[nodiscard]] tl::unexpected<Error> system_failure(std::string_view what, int os_errno);

}  // namespace iotape

#define IOTAPE_CONCAT_INNER(a, b) a##b
#define IOTAPE_CONCAT(a, b) IOTAPE_CONCAT_INNER(a, b)

// IOTAPE_TRY(expression): returns the error to the caller, or goes on. For Result<void> and for values not needed.
#define IOTAPE_TRY(expression)                                            \
  do {                                                                    \
    if (auto iotape_try_result = (expression); !iotape_try_result)        \
      return ::tl::make_unexpected(std::move(iotape_try_result).error()); \
  } while (false)

// IOTAPE_ASSIGN(auto x, expression): declares x from the value, or returns the error.
#define IOTAPE_ASSIGN(declaration, expression)                                                \
  auto IOTAPE_CONCAT(iotape_result_, __LINE__) = (expression);                                \
  if (!IOTAPE_CONCAT(iotape_result_, __LINE__))                                               \
    return ::tl::make_unexpected(std::move(IOTAPE_CONCAT(iotape_result_, __LINE__)).error()); \
  declaration = std::move(*IOTAPE_CONCAT(iotape_result_, __LINE__))
