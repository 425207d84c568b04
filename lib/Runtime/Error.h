//===- Error.h - The runtime's exception and size arithmetic ----*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime reports errors to itself by exceptions, which the C functions
// turn into a status and a message. Sizes are computed here, so that none can
// wrap around.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_RUNTIME_ERROR_H
#define LNBWD_LIB_RUNTIME_ERROR_H

#include "lnbwd/Runtime/lnbwd_runtime.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lnbwd::runtime {

/// What went wrong, as the C interface reports it.
class Error : public std::runtime_error {
public:
  Error(lnbwd_status status, const std::string &message)
      : std::runtime_error(message), status(status) {}

  lnbwd_status getStatus() const { return status; }

private:
  lnbwd_status status;
};

/// `a` × `b` for sizes; throws if it does not fit in 63 bits. `what` names the
/// result in the message.
inline int64_t checkedMultiply(int64_t a, int64_t b, const char *what) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result))
    throw Error(LNBWD_ERROR_TOO_LARGE,
                std::string(what) + ": " + std::to_string(a) + " x " +
                    std::to_string(b) + " does not fit in 63 bits");
  return result;
}

/// `a` + `b` for sizes; throws if it does not fit in 63 bits.
inline int64_t checkedAdd(int64_t a, int64_t b, const char *what) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result))
    throw Error(LNBWD_ERROR_TOO_LARGE,
                std::string(what) + ": " + std::to_string(a) + " + " +
                    std::to_string(b) + " does not fit in 63 bits");
  return result;
}

/// `size` bytes from `offset` on, which `what` takes in a `file`; throws if the
/// file ends before.
inline std::string_view checkedSlice(std::string_view bytes, uint64_t offset,
                                     uint64_t size, const char *file,
                                     const char *what) {
  if (offset > bytes.size() || size > bytes.size() - offset)
    throw Error(LNBWD_ERROR_INVALID_PROGRAM,
                std::string("the ") + file + " is cut off or damaged: " + what +
                    " (" + std::to_string(size) + " bytes at offset " +
                    std::to_string(offset) + ") exceeds the file's " +
                    std::to_string(bytes.size()) + " bytes");
  return bytes.substr(offset, size);
}

/// ceil(a / b) for a >= 0, b > 0, without the overflow of a + b - 1.
inline int64_t ceilDivide(int64_t a, int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// `size` rounded up to a multiple of `alignment`.
inline int64_t checkedAlign(int64_t size, int64_t alignment, const char *what) {
  return checkedMultiply(ceilDivide(size, alignment), alignment, what);
}

} // namespace lnbwd::runtime

#endif // LNBWD_LIB_RUNTIME_ERROR_H
