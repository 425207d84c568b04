//===- Arguments.h - Kernel arguments on the command line -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "--arg" in its forms: numbers, and buffers with what they hold before.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_SIM_ARGUMENTS_H
#define LNBWD_TOOLS_LNBWD_SIM_ARGUMENTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lnbwd::simtool {

enum class Element { I8, I16, I32, I64, F16, BF16, F32, F64 };
unsigned elementBytes(Element E);

/// One argument of a launch.
struct Argument {
  enum Kind { Number, In, Out, InOut } What = Number;
  Element Type = Element::I32;
  /// A number's bits, or a buffer's contents before the launch; those of an
  /// output are a NaN in every floating-point type, so that what the kernel
  /// leaves out looks like nothing that it could have computed.
  std::vector<uint8_t> Bytes;
  /// Of a value given in bytes, how many; 0: a number.
  uint64_t ByValue = 0;
  /// Of a buffer; Bytes has as many, or none if nobody looks at them.
  uint64_t Size = 0;
  std::string File; ///< where the contents go after the launch; may be empty
  void *Device = nullptr;
};

/// Understands
///   TYPE=NUMBER                     by value
///   bytes:HEX, bytes:@FILE          a structure by value: all its bytes, in
///                                   the order of memory
///   in:TYPExCOUNT[=FILL]            a buffer that kernels must not write
///   inout:TYPExCOUNT[=FILL][>FILE]  a buffer
///   out:TYPExCOUNT[>FILE]           a buffer that the kernel has to fill
/// with TYPE i8, i16, i32, i64, f16, bf16, f32 or f64, and FILL a number for
/// all elements, iota, random[:SEED] (floats from -1 to 1, integers from 0 to
/// 99), or @FILE (exactly the bytes of the buffer).
/// Without WithZeros, buffers of zeros and outputs have no Bytes.
llvm::Expected<Argument> parseArgument(llvm::StringRef Text,
                                       bool WithZeros = true);

/// The element's value as text.
std::string formatElement(Element Type, const uint8_t *Bytes);

} // namespace lnbwd::simtool

#endif // LNBWD_TOOLS_LNBWD_SIM_ARGUMENTS_H
