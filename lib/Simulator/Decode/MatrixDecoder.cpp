//===- MatrixDecoder.cpp - Decoding of matrix instructions ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names of matrix instructions say everything: v_mfma_f32_16x16x32_bf16,
// v_mfma_f32_4x4x4_16b_f16, v_wmma_i32_16x16x16_iu8. The number of blocks,
// which gfx90a's names leave out, follows from the size of the result.
//
//===----------------------------------------------------------------------===//

#include "Decode/MatrixDecoder.h"

#include "lnbwd/ISA/InstructionRecord.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace lnbwd;
using namespace lnbwd::sim;

static std::string notModelled(StringRef What) {
  return "the matrix operation is not implemented with " + What.str();
}

/// Reads a number off the front.
static bool takeNumber(StringRef &S, uint8_t &Number) {
  unsigned X;
  if (S.consumeInteger(10, X) || X == 0 || X > 64)
    return false;
  Number = uint8_t(X);
  return true;
}

/// gfx942 has the kinds of fp8 and bf8 with one zero, later chips OCP's.
std::optional<MatrixType> MatrixDecoder::smallFloat(StringRef Name) const {
  const bool OneZero = Chip.MatrixGeneration == 3;
  if (Name == "fp8")
    return OneZero ? MatrixType::FP8Fnuz : MatrixType::FP8;
  if (Name == "bf8")
    return OneZero ? MatrixType::BF8Fnuz : MatrixType::BF8;
  return std::nullopt;
}

std::string MatrixDecoder::decode(const AsmText &Asm, Inst &I) {
  StringRef Name = I.Record->Name;
  I.Class = InstClass::Vector;
  MatrixShape S;
  bool Mfma = Name.consume_front("v_mfma_");
  if (!Mfma && !Name.consume_front("v_wmma_"))
    return NotImplemented;
  S.Layout = Mfma                    ? MatrixLayout::Mfma
             : Chip.Generation == 11 ? MatrixLayout::WmmaGfx11
                                     : MatrixLayout::WmmaGfx12;
  StringRef Result = Name.split('_').first;
  Name = Name.drop_front(Result.size() + 1);
  uint8_t Columns;
  if (!takeNumber(Name, S.M) || !Name.consume_front("x") ||
      !takeNumber(Name, Columns) || !Name.consume_front("x") ||
      !takeNumber(Name, S.K) || Columns != S.M)
    return NotImplemented;
  Name.consume_front("_");
  // "16b_f16"
  if (size_t B = Name.find("b_"); B < 3)
    Name = Name.drop_front(B + 2);
  Name.consume_back("_1k");
  auto Type = StringSwitch<std::optional<MatrixType>>(Name)
                  .Case("f16", MatrixType::F16)
                  .Case("bf16", MatrixType::BF16)
                  .Case("f32", MatrixType::F32)
                  .Case("f64", MatrixType::F64)
                  .Cases({"i8", "iu8"}, MatrixType::I8)
                  .Default(std::nullopt);
  S.SourceB = Type.value_or(MatrixType::F32);
  if (auto [A, B] = Name.split('_'); smallFloat(A) && smallFloat(B)) {
    Type = smallFloat(A);
    S.SourceB = *smallFloat(B);
  }
  StringRef Wanted = !Type                      ? ""
                     : *Type == MatrixType::F64 ? "f64"
                     : *Type == MatrixType::I8  ? "i32"
                                                : "f32";
  if (!Type || Result != Wanted)
    return notModelled("these types");
  S.Source = *Type;
  S.SignedA = S.SignedB = Mfma;
  for (StringRef M : Asm.Modifiers) {
    auto [Key, Value] = M.split(':');
    SmallVector<unsigned, 4> Bits;
    if (Key == "neg_lo" && S.Source == MatrixType::I8 &&
        parseBitList(Value, Bits) && Bits.size() >= 2) {
      // Which of the sources are signed.
      S.SignedA = Bits[0];
      S.SignedB = Bits[1];
    } else {
      return notModelled("the modifier " + M.str());
    }
  }
  if (Asm.Operands.size() != 4)
    return OperandCount;
  const OperandType Accumulator = S.Source == MatrixType::F64 ? OperandType::F64
                                  : S.Source == MatrixType::I8
                                      ? OperandType::B32
                                      : OperandType::F32;
  Operand *Places[] = {&I.Dst, &I.Src[0], &I.Src[1], &I.Src[2]};
  for (unsigned K = 0; K < 4; ++K) {
    std::string Error =
        Operands.source(Asm.Operands[K], Accumulator, *Places[K]);
    if (!Error.empty())
      return Error;
    bool Constant = K == 3 && Places[K]->Kind == OperandKind::Constant;
    if (Places[K]->Kind != OperandKind::VGPR && !Constant)
      return "an operand is not a vector register";
  }
  I.NumSrc = 3;
  // Elements of a lane, and of all.
  const unsigned Dwords = I.Src[0].Dwords;
  const unsigned ResultElements =
      I.Dst.Dwords * N / (S.Source == MatrixType::F64 ? 2 : 1);
  S.PerLane = uint8_t(S.Source == MatrixType::F64   ? Dwords / 2
                      : S.Source == MatrixType::F32 ? Dwords
                      : S.Source == MatrixType::I8 || isSmallFloat(S.Source)
                          ? Dwords * 4
                          : Dwords * 2);
  S.Blocks = uint8_t(ResultElements / (unsigned(S.M) * S.M));
  bool Fits = I.Src[1].Dwords == Dwords && S.Blocks && S.PerLane &&
              (I.Src[2].Kind == OperandKind::Constant ||
               I.Src[2].Dwords == I.Dst.Dwords);
  switch (S.Layout) {
  case MatrixLayout::Mfma:
    Fits &= (S.M == 32 || S.M == 16 || S.M == 4) && S.Blocks <= N / S.M &&
            N / S.M / S.Blocks * S.PerLane == S.K &&
            (S.Source != MatrixType::F64 || S.M == 16);
    break;
  case MatrixLayout::WmmaGfx11:
    Fits &= S.M == 16 && S.Blocks == 1 && S.PerLane == S.K;
    break;
  case MatrixLayout::WmmaGfx12:
    Fits &= S.M == 16 && S.Blocks == 1 && N == 32 && S.PerLane * 2 == S.K;
    break;
  }
  if (!Fits)
    return notModelled("this shape");
  Shapes.push_back(S);
  I.Matrix = &Shapes.back();
  I.Run = Table.RunMatrix;
  return "";
}
