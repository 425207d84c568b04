//===- FloatFormat.h - The types of elements on the host --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exact conversions of the elements of a kernel's buffers. Rounding is to the
// nearest value, ties to even, as GPUs do; a NaN stays a NaN, and in float8
// what is beyond the largest number becomes that. I8 is that of masks: a byte,
// 1 for a positive number and 0 for others.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_REFERENCE_FLOATFORMAT_H
#define LNBWD_REFERENCE_FLOATFORMAT_H

#include "lnbwd/Operations/Operations.h"

#include <cstddef>
#include <cstdint>

namespace lnbwd::reference {

/// The largest relative error of one rounding: 2^-11, 2^-8, 2^-24. This and
/// what follows are those of float32 for what is no float.
double unitRoundoff(Element format);
/// The smallest positive (subnormal) number.
double smallestSubnormal(Element format);
/// The smallest magnitude that rounds to infinity; infinite where none does.
double overflowThreshold(Element format);

/// The bits of a number in a float format of 8 or 16 bits, and back.
uint32_t encode(Element format, float value);
float decode(Element format, uint32_t bits);

/// Element `index` of an array of that format.
double loadElement(Element format, const void *array, size_t index);
/// Rounds `value`, for floats to float32 first, into element `index`.
void storeElement(Element format, void *array, size_t index, double value);
/// What is left of `value` in that format: rounded to float32, then to it.
double roundTo(Element format, double value);

} // namespace lnbwd::reference

#endif // LNBWD_REFERENCE_FLOATFORMAT_H
