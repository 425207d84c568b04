//===- Arguments.h - Kernel arguments on the command line -------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel's arguments: numbers, structures by value, and buffers with what
// they hold before the launch; "--arg" in its forms. readArguments has the
// other way to give them.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_TOOLS_LNBWD_SIM_ARGUMENTS_H
#define LNBWD_TOOLS_LNBWD_SIM_ARGUMENTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lnbwd::simtool {

enum class Element { I8, I16, I32, I64, F16, BF16, F32, F64 };
unsigned elementBytes(Element E);
/// "f32".
llvm::StringRef typeName(Element E);
bool isFloat(Element E);

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
  std::string Where; ///< where it was given: "--arg f32=1"; messages begin so
  std::string File;  ///< where the contents go after the launch; may be empty
  void *Device = nullptr;
};

/// "f32"; nothing if there is no such type.
std::optional<Element> parseType(llvm::StringRef Text);

/// "in", "out" or "inout"; nothing otherwise.
std::optional<Argument::Kind> parseKind(llvm::StringRef Text);

/// The bits of a number; nothing if it is not one of the type.
std::optional<uint64_t> parseNumber(Element Type, llvm::StringRef Text);

/// What is wrong with an argument, and where that was given.
llvm::Error wrong(const llvm::Twine &Where, const llvm::Twine &What);

/// A number by value.
Argument numberArgument(Element Type, uint64_t Bits, const llvm::Twine &Where);

/// A structure by value: all its bytes in the order of memory, as pairs of
/// hexadecimal digits which commas may part, or "@FILE".
llvm::Expected<Argument> bytesArgument(llvm::StringRef Value,
                                       const llvm::Twine &Where);

/// A buffer. Fill is a number for all elements, iota, random[:SEED] (floats
/// from -1 to 1, integers from 0 to 99), or @FILE (exactly the bytes of the
/// buffer); empty: 0. An output takes none. Without WithZeros, buffers of zeros
/// and outputs have no Bytes.
llvm::Expected<Argument> bufferArgument(Argument::Kind Kind, Element Type,
                                        uint64_t Count, llvm::StringRef Fill,
                                        bool WithZeros,
                                        const llvm::Twine &Where);

/// Sets an element of what a buffer holds before, or a number.
void setElement(Argument &A, uint64_t K, uint64_t Bits);

/// Understands
///   TYPE=NUMBER                     by value
///   bytes:HEX, bytes:@FILE          a structure by value
///   in:TYPExCOUNT[=FILL]            a buffer that kernels must not write
///   inout:TYPExCOUNT[=FILL][>FILE]  a buffer
///   out:TYPExCOUNT[>FILE]           a buffer that the kernel has to fill
/// with TYPE i8, i16, i32, i64, f16, bf16, f32 or f64.
llvm::Expected<Argument> parseArgument(llvm::StringRef Text, bool WithZeros);

/// The value of an element of a floating-point type.
double elementValue(Element Type, const uint8_t *Bytes);

/// The element's value as text.
std::string formatElement(Element Type, const uint8_t *Bytes);

/// "--args-file": an array with an object for each argument, in order.
/// Understands, with TYPE and FILL as --arg has them,
///   {"type": TYPE, "value": NUMBER}
///   {"bytes": "HEX" or "@FILE"}
///   {"kind": "in", "type": TYPE, "count": N, "fill": FILL}
///   {"kind": "inout", "type": TYPE, "values": [NUMBER, ...], "save": FILE}
///   {"kind": "out", "type": TYPE, "count": N, "save": FILE}
/// A number may be a string, "0x7f" or "nan". An Error names the line of what
/// is no JSON, or the place of what is not as above: "args.json: [2].type".
llvm::Expected<std::vector<Argument>> readArguments(llvm::StringRef Path,
                                                    bool WithZeros);

// What a kernel leaves may depend on the order in which its waves run: by a
// mistake, or since sums of floating-point numbers do. How far two results may
// lie apart is the user's to say.

/// How far two floating-point numbers x and y may lie apart:
/// |x - y| <= Relative * max(|x|, |y|) + Absolute. A NaN equals a NaN, and an
/// infinity the same one. Without a tolerance their bits are compared, as those
/// of integers always are.
struct Tolerance {
  double Relative = 0, Absolute = 0;
  bool isNone() const { return Relative == 0 && Absolute == 0; }
};

/// Understands R or R,A, numbers of 0 or more.
std::optional<Tolerance> parseTolerance(llvm::StringRef Text);

/// "37 of its 64 f16 elements differ, ..." for an argument whose elements are
/// not alike in the usual order and another one; empty if they are.
std::string describeDifference(Element Type, llvm::ArrayRef<uint8_t> Usual,
                               llvm::ArrayRef<uint8_t> Other,
                               const Tolerance &Allowed);

} // namespace lnbwd::simtool

#endif // LNBWD_TOOLS_LNBWD_SIM_ARGUMENTS_H
