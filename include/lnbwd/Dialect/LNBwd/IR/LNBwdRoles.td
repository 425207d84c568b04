//===- LNBwdRoles.td - What operands are to an operation ---*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operands that named operations are made of: a role has one name, one
// shape and one rule for its element wherever it occurs, whether an operation
// reads it or writes it. scripts/generate_operations.py makes the tables of
// C++ and Python from this file and LNBwdNorms.td.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_LNBWDROLES_TD
#define LNBWD_DIALECT_LNBWD_IR_LNBWDROLES_TD

include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.td"

def LNBwd_Shaped : AnyTypeOf<[AnyRankedTensor, AnyMemRef],
                             "ranked tensor or memref",
                             "::mlir::ShapedType">;

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// What an operand of a row program is to the kernel: which dimensions of B
/// groups of T rows of N columns it has. All combinations are here; what a
/// kernel, a launch or a reference does with an operand goes by the dimensions.
/// The names are a launch plan's, the order is that of lnbwd_argument_kind.
class LNBwd_Dims<string kindName, string dimensions, bit ofGroups, bit ofRows,
                 bit ofColumns> {
  string name = kindName;
  string shape = dimensions;
  bit hasGroups = ofGroups;
  /// The rows of a group.
  bit hasRows = ofRows;
  bit hasColumns = ofColumns;
}
def LNBwd_RowBlock : LNBwd_Dims<"row_block", "[..., N]", 1, 1, 1>;
def LNBwd_Column : LNBwd_Dims<"column", "[N]", 0, 0, 1>;
def LNBwd_RowScalar : LNBwd_Dims<"row_scalar", "[...]", 1, 1, 0>;
def LNBwd_GroupColumn : LNBwd_Dims<"group_column", "[B, N]", 1, 0, 1>;
def LNBwd_RepeatedRowBlock
    : LNBwd_Dims<"repeated_row_block", "[T, N]", 0, 1, 1>;
def LNBwd_RepeatedRowScalar
    : LNBwd_Dims<"repeated_row_scalar", "[T]", 0, 1, 0>;
def LNBwd_GroupScalar : LNBwd_Dims<"group_scalar", "[B]", 1, 0, 0>;
def LNBwd_Number : LNBwd_Dims<"number", "[]", 0, 0, 0>;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

/// What elements are to a row program: floats, of any operand; float8, of row
/// blocks; masks, of all but sums, matrices and tables, a byte for each boolean;
/// integers likewise; bytes, which are masks to the compiler and integers to
/// PyTorch; conditions, in regions alone.
class LNBwd_ElementUse<string useName> { string name = useName; }
def LNBwd_Float : LNBwd_ElementUse<"float">;
def LNBwd_Float8 : LNBwd_ElementUse<"float8">;
def LNBwd_Mask : LNBwd_ElementUse<"mask">;
def LNBwd_Integer : LNBwd_ElementUse<"integer">;
def LNBwd_Byte : LNBwd_ElementUse<"byte">;
def LNBwd_Condition : LNBwd_ElementUse<"condition">;

/// An element type by MLIR's name. The order of those in memory is that of
/// lnbwd_element.
class LNBwd_Element<string elementName, int numBytes, LNBwd_ElementUse elementUse,
                    string torchName, string numpyName = torchName> {
  string name = elementName;
  int bytes = numBytes;
  LNBwd_ElementUse use = elementUse;
  /// PyTorch's and NumPy's, which has fewer floats: their bits are integers
  /// there.
  string torch = torchName;
  string numpy = numpyName;
  /// Of a float: bits of the fraction, bias of the exponent, and the bits of
  /// the largest number.
  int fraction = 0;
  int bias = 0;
  int largest = 0;
}
class LNBwd_FloatElement<string name, int bytes, int fractionBits,
                         int exponentBias, int largestBits, string torch,
                         string numpy = torch>
    : LNBwd_Element<name, bytes, !if(!eq(bytes, 1), LNBwd_Float8, LNBwd_Float),
                    torch, numpy> {
  let fraction = fractionBits;
  let bias = exponentBias;
  let largest = largestBits;
}
def LNBwd_F16 : LNBwd_FloatElement<"f16", 2, 10, 15, 0x7bff, "float16">;
def LNBwd_BF16
    : LNBwd_FloatElement<"bf16", 2, 7, 127, 0x7f7f, "bfloat16", "uint16">;
def LNBwd_F32 : LNBwd_FloatElement<"f32", 4, 23, 127, 0x7f7fffff, "float32">;
def LNBwd_I8 : LNBwd_Element<"i8", 1, LNBwd_Mask, "bool", "uint8">;
def LNBwd_I32 : LNBwd_Element<"i32", 4, LNBwd_Integer, "int32">;
def LNBwd_I64 : LNBwd_Element<"i64", 8, LNBwd_Integer, "int64">;
// Numbers beyond the largest become that. FN and FNUZ have no infinities; FNUZ
// has one zero, and the bits of the other one are its NaN.
def LNBwd_F8E4M3FN
    : LNBwd_FloatElement<"f8E4M3FN", 1, 3, 7, 0x7e, "float8_e4m3fn", "uint8">;
def LNBwd_F8E5M2
    : LNBwd_FloatElement<"f8E5M2", 1, 2, 15, 0x7b, "float8_e5m2", "uint8">;
def LNBwd_F8E4M3FNUZ
    : LNBwd_FloatElement<"f8E4M3FNUZ", 1, 3, 8, 0x7f, "float8_e4m3fnuz",
                         "uint8">;
def LNBwd_F8E5M2FNUZ
    : LNBwd_FloatElement<"f8E5M2FNUZ", 1, 2, 16, 0x7f, "float8_e5m2fnuz",
                         "uint8">;
// Powers of two, as scales of blocks: of a number the exponent, no sign.
def LNBwd_F8E8M0FNU
    : LNBwd_FloatElement<"f8E8M0FNU", 1, 0, 127, 0xfe, "float8_e8m0fnu",
                         "uint8">;
def LNBwd_I16 : LNBwd_Element<"i16", 2, LNBwd_Integer, "int16">;
// Both are i8 in a program.
def LNBwd_SI8 : LNBwd_Element<"si8", 1, LNBwd_Byte, "int8">;
def LNBwd_UI8 : LNBwd_Element<"ui8", 1, LNBwd_Byte, "uint8">;
def LNBwd_I1 : LNBwd_Element<"i1", 0, LNBwd_Condition, "bool">;

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// A row block has the element of x, unless it `hasOwnElement` (f16, bf16 or
/// f32); a column that of x, or f32; a row scalar f32.
class LNBwd_Role<string roleName, LNBwd_Dims roleKind, string roleText,
                 bit roleHasOwnElement = 0> {
  string name = roleName;
  LNBwd_Dims kind = roleKind;
  string shape = roleKind.shape;
  /// What the documentation of an operand says, unless that operation has
  /// better words.
  string text = roleText;
  bit hasOwnElement = roleHasOwnElement;
}

// New ones go to the end: the runner's random inputs go by the number.
def LNBwd_Dy : LNBwd_Role<"dy", LNBwd_RowBlock, "gradient of the output">;
def LNBwd_X : LNBwd_Role<"x", LNBwd_RowBlock, "what was normalised">;
def LNBwd_Gamma : LNBwd_Role<"gamma", LNBwd_Column, "scale">;
def LNBwd_Residual
    : LNBwd_Role<"residual", LNBwd_RowBlock, "what is added to x", 1>;
def LNBwd_Beta : LNBwd_Role<"beta", LNBwd_Column, "offset">;
def LNBwd_Dsum
    : LNBwd_Role<"dsum", LNBwd_RowBlock, "further gradient of x", 1>;
def LNBwd_Dgamma : LNBwd_Role<"dgamma", LNBwd_Column, "gradient of gamma">;
def LNBwd_Dbeta : LNBwd_Role<"dbeta", LNBwd_Column, "gradient of beta">;
def LNBwd_Y : LNBwd_Role<"y", LNBwd_RowBlock, "the normalised rows">;
def LNBwd_Mean : LNBwd_Role<"mean", LNBwd_RowScalar, "row means">;
def LNBwd_Rstd
    : LNBwd_Role<"rstd", LNBwd_RowScalar, "reciprocal row deviations">;
def LNBwd_Sum : LNBwd_Role<"sum", LNBwd_RowBlock, "x + residual", 1>;
def LNBwd_Dx : LNBwd_Role<"dx", LNBwd_RowBlock, "gradient of x">;
def LNBwd_Dresidual
    : LNBwd_Role<"dresidual", LNBwd_RowBlock, "dx in another type", 1>;

//===----------------------------------------------------------------------===//
// Operands of an operation
//===----------------------------------------------------------------------===//

/// A role as one operation has it.
class LNBwd_Operand<LNBwd_Role operandRole, bit operandIsOptional,
                    string text = operandRole.text> {
  LNBwd_Role role = operandRole;
  bit isOptional = operandIsOptional;
  defvar described = text # ", " # operandRole.shape;
  /// For the `arguments` of the operation.
  Arg constraint = !if(operandIsOptional,
                       Arg<Optional<LNBwd_Shaped>, described>,
                       Arg<LNBwd_Shaped, described>);
  /// For its `assemblyFormat`.
  defvar name = operandRole.name;
  string format = !if(operandIsOptional,
      "(`" # name # "` `(` $" # name # "^ `:` type($" # name # ") `)`)?",
      "`" # name # "` `(` $" # name # " `:` type($" # name # ") `)`");
}

/// An operand that is always there.
class LNBwd_Given<LNBwd_Role role, string text = role.text>
    : LNBwd_Operand<role, 0, text>;
/// One that may be absent: its term then is, or nobody wants it.
class LNBwd_Maybe<LNBwd_Role role, string text = role.text>
    : LNBwd_Operand<role, 1, text>;

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDROLES_TD
