//===- MatrixDecoder.cpp - Decoding of matrix instructions ----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All matrix instructions that LLVM 22 knows for gfx908 to gfx950, gfx11 and
// gfx12: names, operands and modifiers. Which chip has which of them LLVM's
// disassembler knows.
//
//===----------------------------------------------------------------------===//

#include "Decode/Decoders.h"

#include "Core/Environment.h"

#include "lnbwd/ISA/InstructionRecord.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Regex.h"

#include <algorithm>

using namespace llvm;
using namespace lnbwd;
using namespace lnbwd::sim;

static std::string notImplementedWith(StringRef What) {
  return "the matrix operation is not implemented with " + What.str();
}

namespace {
/// What the name says:
/// v_FAMILY_[scale_|scale16_]RESULT[ADDEND]_MxMxK[_BLOCKSb][_]A[_B].
struct MatrixName {
  MatrixFamily Family;
  bool TypesInText; ///< cbsz and blgp are the types of the factors
  MatrixShape Shape;

  static std::optional<MatrixName> parse(StringRef Name, bool OneZero);
};
} // namespace

std::optional<MatrixName> MatrixName::parse(StringRef Name, bool OneZero) {
  static const Regex Grammar(
      "^v_(mfma|smfmac|wmma|swmmac)_(scale_|scale16_)?([a-z]+[0-9]+)(f32)?"
      "_([0-9]+)x[0-9]+x([0-9]+)(_([0-9]+)b)?"
      "_?(f8f6f4|[a-z]+[0-9]+)(_(1k|[a-z]+[0-9]+))?$");
  SmallVector<StringRef, 12> Part;
  if (!Grammar.match(Name, &Part))
    return std::nullopt;
  const bool Twice = Part[11] == "1k"; // bf16 at the depth of f16
  MatrixName N;
  N.Family = StringSwitch<MatrixFamily>(Part[1])
                 .Case("mfma", MatrixFamily::Mfma)
                 .Case("smfmac", MatrixFamily::Smfmac)
                 .Case("wmma", MatrixFamily::Wmma)
                 .Default(MatrixFamily::Swmmac);
  N.TypesInText = Part[9] == "f8f6f4";
  MatrixShape &S = N.Shape;
  const auto A = matrixType(N.TypesInText ? "fp8" : Part[9], OneZero);
  const auto B = Twice || Part[11].empty() ? A : matrixType(Part[11], OneZero);
  const auto Result = matrixType(Part[3], OneZero);
  if (!A || !B || !Result || Part[5].getAsInteger(10, S.M) ||
      Part[6].getAsInteger(10, S.K))
    return std::nullopt;
  S.A = *A;
  S.B = *B;
  S.Result = *Result;
  S.Addend = Part[4].empty() ? S.Result : MatrixType::F32;
  S.Sparse =
      N.Family == MatrixFamily::Smfmac || N.Family == MatrixFamily::Swmmac;
  S.Scaled = !Part[2].empty();
  S.ScaleBlock = Part[2] == "scale16_" ? 16 : 32;
  // Names before gfx940's do not say how many blocks there are; each lane has
  // so many elements of A.
  const unsigned PerLane = bitsOf(S.A) >= 32                   ? 1
                           : S.A == MatrixType::BF16 && !Twice ? 2
                                                               : 4;
  if (Part[8].getAsInteger(10, S.Blocks))
    S.Blocks = uint8_t(std::max(1u, 64 * PerLane / (S.M * S.K)));
  return N;
}

/// The type of a factor that cbsz or blgp says.
static bool formatOf(unsigned Number, MatrixType &T) {
  constexpr MatrixType Formats[] = {MatrixType::FP8, MatrixType::BF8,
                                    MatrixType::FP6, MatrixType::BF6,
                                    MatrixType::FP4};
  if (Number >= std::size(Formats))
    return false;
  T = Formats[Number];
  return true;
}

static OperandType addendType(MatrixType Addend) {
  switch (Addend) {
  case MatrixType::F64:
    return OperandType::F64;
  case MatrixType::I32:
    return OperandType::B32;
  case MatrixType::F16:
    return OperandType::F16;
  case MatrixType::BF16:
    return OperandType::BF16;
  default:
    return OperandType::F32;
  }
}

namespace {
struct Modifiers {
  unsigned Cbsz = 0, Abid = 0, Blgp = 0, IndexKey = 0;
  unsigned ScaleRow[2] = {}, ScaleFormat[2] = {}; ///< of CDNA5
  /// By source, as MachineOperands has them; those of the scales in place of
  /// the factors' ones.
  uint8_t NegLow = 0, NegHigh = 0, Half = 0, HalfHigh = 0;

  Modifiers(const MachineOperands &From, const MatrixName &Name);
};
} // namespace

Modifiers::Modifiers(const MachineOperands &From, const MatrixName &Name)
    : NegLow(From.NegLow), NegHigh(From.NegHigh), Half(From.Half),
      HalfHigh(From.HalfHigh) {
  auto Immediate = [&](unsigned K) {
    return K < From.Immediates.size() ? unsigned(From.Immediates[K]) : 0u;
  };
  if (Name.Family == MatrixFamily::Swmmac)
    IndexKey = From.Words[0] >> 11 & 3;
  if (Name.Family == MatrixFamily::Wmma && Name.TypesInText) {
    Cbsz = Immediate(0);
    Blgp = Immediate(1);
    for (unsigned K = 0; Name.Shape.Scaled && K < 2; ++K) {
      ScaleRow[K] = Immediate(2 + K);
      ScaleFormat[K] = Immediate(4 + K);
    }
  }
  if (From.Coded != isa::Encoding::Mai)
    return;
  Cbsz = Immediate(0);
  if (!Name.TypesInText) {
    Abid = Immediate(1);
    Blgp = Name.Family == MatrixFamily::Mfma ? Immediate(2) : 0;
    return;
  }
  Blgp = Immediate(1);
  for (unsigned K = 0; Name.Shape.Scaled && K < 2; ++K) {
    Half |= uint8_t(bool(Immediate(2 + K) & isa::ModifierHalf) << K);
    HalfHigh |= uint8_t(bool(Immediate(2 + K) & isa::ModifierHalfHigh) << K);
  }
}

/// Of CDNA5: a lane has the scales of its row, and of two rows of lanes either
/// may be meant.
static std::string applyScales(const Modifiers &Mods, MatrixShape &S) {
  S.ScalesByLane = true;
  for (unsigned K = 0; K < 2; ++K) {
    if (Mods.ScaleFormat[K])
      return notImplementedWith("these scales");
    S.ScaleLane[K] = uint8_t(16 * Mods.ScaleRow[K]);
  }
  return "";
}

/// Takes the modifiers over into the shape; what is not in them is a fault.
static std::string apply(const Modifiers &Mods, const MatrixName &Name,
                         const SimulatedChip &Chip, MatrixShape &S,
                         MatrixLayout &P) {
  const bool Mfma = Name.Family == MatrixFamily::Mfma;
  const bool Integer = isInteger(S.A);
  const bool SignsInBlgp =
      S.Result == MatrixType::F64 && Chip.MatrixGeneration >= 3;
  bool Unknown = false;
  if (S.Clamp && !Integer)
    return notImplementedWith("the modifier clamp");
  if (!Mfma && S.Scaled)
    if (std::string Error = applyScales(Mods, S); !Error.empty())
      return Error;
  if (Mfma && S.Scaled) {
    for (unsigned K = 0; K < 2; ++K)
      S.ScaleShift[K] =
          uint8_t(8 * ((Mods.Half >> K & 1) + 2 * (Mods.HalfHigh >> K & 1)));
  } else if (Chip.Generation == 11 && bitsOf(S.Result) == 16) {
    S.OneHalf = true;
    S.HighHalf = Mods.Half >> 2 & 1;
    Unknown |= Mods.Half & 3;
  } else {
    Unknown |= Mods.Half != 0;
  }
  if (Unknown)
    return notImplementedWith("the modifier op_sel");
  if (Mfma && SignsInBlgp) {
    S.NegLo = uint8_t(Mods.Blgp);
    S.NegHi = S.NegLo & 3;
  } else if (Integer && !Mfma && Name.Family != MatrixFamily::Smfmac) {
    // Which of the sources are signed.
    S.SignedA = Mods.NegLow & 1;
    S.SignedB = Mods.NegLow & 2;
    Unknown |= (Mods.NegLow & 4) || Mods.NegHigh;
  } else {
    S.NegLo = Mods.NegLow;
    S.NegHi = Mods.NegHigh;
  }
  if (Unknown)
    return notImplementedWith("the modifier neg");
  if (Name.Family == MatrixFamily::Swmmac) {
    S.IndexShift = uint8_t(Mods.IndexKey);
  } else if (Name.Family == MatrixFamily::Smfmac) {
    S.IndexShift = uint8_t(Mods.Cbsz ? 0 : Mods.Abid);
    Unknown = Mods.Blgp != 0;
  } else if (Name.TypesInText) {
    Unknown = Mods.Abid != 0;
  } else {
    P.AGroup = Mods.Cbsz;
    P.ABlock = Mods.Abid;
    P.BPattern = SignsInBlgp ? 0 : Mods.Blgp;
    Unknown = S.Result == MatrixType::F64
                  ? Mods.Cbsz || Mods.Abid || P.BPattern
                  : 1u << P.AGroup > S.Blocks || P.ABlock >= 1u << P.AGroup;
  }
  return Unknown ? notImplementedWith("this broadcast") : "";
}

std::string MatrixDecoder::decode(const MachineOperands &From, Inst &I) {
  I.Class = InstClass::Vector;
  std::optional<MatrixName> Name =
      MatrixName::parse(I.Record->Name, Chip.MatrixGeneration == 3);
  if (!Name)
    return NotImplemented;
  MatrixShape &S = Name->Shape;
  if (Chip.isCdna5() && S.Sparse)
    return NotImplemented;
  S.FlushesSubnormals = Chip.MatrixFlushesSubnormals &&
                        (S.A == MatrixType::F16 || S.A == MatrixType::BF16);
  S.RoundsDown =
      S.Result != MatrixType::F64 && RoundingVariable.read().value_or(0);
  const Modifiers Mods(From, *Name);
  S.Clamp = From.isClamped();
  if (Name->TypesInText &&
      !(formatOf(Mods.Cbsz, S.A) && formatOf(Mods.Blgp, S.B)))
    return notImplementedWith("these types");
  // Sources differ on where they lie then.
  if (Chip.isCdna5() && !S.Scaled && bitsOf(S.A) != bitsOf(S.B))
    return notImplementedWith("types of two sizes");
  MatrixLayout P;
  P.Generation = Chip.Generation;
  P.IsCdna5 = Chip.isCdna5();
  P.WaveSize = N;
  std::string Error = apply(Mods, *Name, Chip, S, P);
  if (!Error.empty())
    return Error;

  // A sparse one's addend is its result; the index follows the factors.
  Operand *const Dense[] = {&I.Dst,    &I.Src[0], &I.Src[1],
                            &I.Src[2], &I.Src[3], &S.ScaleB};
  Operand *const Sparse[] = {&I.Dst, &I.Src[0], &I.Src[1], &I.Src[3]};
  const ArrayRef<Operand *> Places =
      S.Sparse ? ArrayRef(Sparse) : ArrayRef(Dense, S.Scaled ? 6 : 4);
  if (From.List.size() != Places.size())
    return OperandCount;
  for (unsigned K = 0; K < Places.size(); ++K) {
    const bool Addend = K == 3 && !S.Sparse;
    Error = Operands.source(From.List[K],
                            Addend ? addendType(S.Addend) : OperandType::B32,
                            *Places[K]);
    if (!Error.empty())
      return Error;
    // With scales, the fields are those of another part of the encoding.
    if (Addend && Places[K]->Kind == OperandKind::Constant && !S.ScalesByLane)
      if (auto Value = From.inlineFloat(2, addendType(S.Addend)))
        Operands.constant(*Places[K], *Value);
    const bool Constant = Addend && Places[K]->Kind == OperandKind::Constant;
    if (Places[K]->Kind != OperandKind::VGPR && !Constant)
      return "an operand is not a vector register";
  }
  if (S.Sparse)
    I.Src[2] = I.Dst;
  I.NumSrc = S.Sparse || S.Scaled ? 4 : 3;
  if (S.Sparse) {
    const unsigned IndexBits = I.Src[0].Dwords * 64 / bitsOf(S.A);
    S.IndexShift = uint8_t(S.IndexShift * IndexBits % 32);
  }
  locateElements(S, Name->Family, P, I.Src[0].Dwords, I.Src[1].Dwords);
  Shapes.push_back(std::move(S));
  I.Matrix = &Shapes.back();
  I.Run = Table.RunMatrix;
  return "";
}

// The layouts of AMD's ISA documents (MI100 to MI350: 7.1 and its successors;
// RDNA3 and RDNA4: 7.9 and 7.12) and of AMD's matrix instruction calculator.
// Rows of A and columns of B go over lanes; along K each lane has some elements
// in a row. Only the order in which products are added depends on which of a
// lane's elements is which k, as long as A and B agree; where they have
// different types, or A is sparse, it decides what is multiplied.

std::optional<MatrixType> lnbwd::sim::matrixType(llvm::StringRef Name,
                                                 bool OneZero) {
  return llvm::StringSwitch<std::optional<MatrixType>>(Name)
      .Case("f64", MatrixType::F64)
      .Case("f32", MatrixType::F32)
      .Case("xf32", MatrixType::XF32)
      .Case("f16", MatrixType::F16)
      .Case("bf16", MatrixType::BF16)
      .Case("fp8", OneZero ? MatrixType::FP8Fnuz : MatrixType::FP8)
      .Case("bf8", OneZero ? MatrixType::BF8Fnuz : MatrixType::BF8)
      .Case("fp6", MatrixType::FP6)
      .Case("bf6", MatrixType::BF6)
      .Case("fp4", MatrixType::FP4)
      .Case("i32", MatrixType::I32)
      .Cases({"i8", "iu8"}, MatrixType::I8)
      .Case("iu4", MatrixType::I4)
      .Default(std::nullopt);
}

namespace {
/// A group of lanes, and an element of theirs.
struct AlongK {
  unsigned Group, Element;
};
} // namespace

static unsigned bitOf(unsigned X, unsigned Bit) { return X >> Bit & 1; }

/// Element K of a row that Groups of lanes share, PerLane each: runs of Run
/// elements round-robin.
static AlongK inRuns(unsigned K, unsigned Groups, unsigned Run) {
  return {K / Run % Groups, K / Run / Groups * Run + K % Run};
}

/// A kept element of a sparse row of A, of v_smfmac.
static AlongK sparseMfma(unsigned C, unsigned M, unsigned PerLane,
                         unsigned Bits) {
  const unsigned Groups = 64 / M;
  if (Bits != 8)
    return inRuns(C, Groups, PerLane);
  if (PerLane == 8)
    return inRuns(C, Groups, 4);
  if (M == 16)
    return {2 * bitOf(C, 5) + bitOf(C, 3),
            4 * (2 * bitOf(C, 2) + bitOf(C, 4)) + C % 4};
  return {bitOf(C, 4), 4 * (2 * bitOf(C, 2) + bitOf(C, 3)) + C % 4};
}

/// Of gfx12; in waves of 64 the upper half of the registers of a wave of 32
/// lies in the upper half of the lanes.
static AlongK wmmaGfx12(unsigned K, unsigned PerLane, unsigned Depth) {
  const unsigned Groups = Depth / PerLane, Group = K / PerLane;
  return {Groups == 4 ? 2 * (Group & 1) + Group / 2 : Group, K % PerLane};
}

/// The lane that gives B where it would be Lane, by BLGP.
static unsigned permuted(unsigned Lane, unsigned Pattern) {
  switch (Pattern) {
  case 0:
    return Lane;
  case 1:
  case 2:
    return Lane % 32 + 32 * (Pattern - 1);
  case 3:
    return (Lane + 16) % 64;
  default:
    return Lane % 16 + 16 * (Pattern - 4);
  }
}

/// Row (or column) I, depth K of block B of a factor.
static ElementLocation locateFactor(const MatrixShape &S, MatrixFamily Family,
                                    const MatrixLayout &P, bool IsA, unsigned I,
                                    unsigned K, unsigned B, unsigned Dwords) {
  const unsigned Bits = bitsOf(IsA ? S.A : S.B);
  const unsigned PerLane = Dwords * 32 / Bits;
  const unsigned Depth = IsA ? S.keptK() : S.K;
  const bool K128 = Depth == 128;
  AlongK Where{0, K};
  unsigned Stride = 16;
  switch (Family) {
  case MatrixFamily::Mfma: {
    const unsigned Groups = P.WaveSize / (S.M * S.Blocks);
    if (IsA && P.AGroup)
      B = (B >> P.AGroup << P.AGroup) + P.ABlock;
    // f8f6f4: the bytes of a lane are of two places.
    const unsigned Run = PerLane > 16 && Bits == 8 ? 16 : Depth / Groups;
    Where = inRuns(K, Groups, Run);
    Stride = S.M * S.Blocks;
    break;
  }
  case MatrixFamily::Smfmac:
    Where = IsA ? sparseMfma(K, S.M, PerLane, Bits)
                : inRuns(K, P.WaveSize / S.M, 8);
    Stride = S.M;
    break;
  case MatrixFamily::Wmma:
    // On gfx11 the upper lanes hold the same once more. On CDNA5 two halves of
    // the lanes take turns, as Triton has it: factors of one size have the same
    // order, on which sums do not depend.
    if (P.IsCdna5)
      Where = inRuns(K, 2, Bits == 32 ? 2 : !K128 ? 8 : Bits == 8 ? 16 : 32);
    else if (P.Generation >= 12)
      Where = wmmaGfx12(K, PerLane, Depth);
    break;
  case MatrixFamily::Swmmac:
    Where = wmmaGfx12(K, PerLane, Depth);
    break;
  }
  unsigned Lane = I + S.M * B + Stride * Where.Group;
  if (!IsA)
    Lane = permuted(Lane, P.BPattern);
  return {uint8_t(Lane), uint16_t(Where.Element * Bits)};
}

/// Lane and number of row I, column J of block B of the result.
static AlongK locateResult(const MatrixShape &S, MatrixFamily Family,
                           const MatrixLayout &P, unsigned I, unsigned J,
                           unsigned B) {
  const bool Wave64 = P.WaveSize == 64;
  if (Family == MatrixFamily::Mfma || Family == MatrixFamily::Smfmac) {
    if (S.Result == MatrixType::F64)
      return S.M == 4 ? AlongK{J + 4 * B + 16 * I, 0}
                      : AlongK{J + 16 * (I % 4), I / 4};
    if (S.M == 4)
      return {J + 4 * B, I};
    if (S.M == 16)
      return {J + 16 * (I / 4), 4 * B + I % 4};
    return {J + 32 * (I / 4 % 2), 16 * B + 4 * (I / 8) + I % 4};
  }
  if (P.Generation == 11)
    return Wave64 ? AlongK{J + 16 * (I % 4), I / 4}
                  : AlongK{J + 16 * (I % 2), I / 2};
  return Wave64 ? AlongK{J + 16 * (I / 8) + 32 * (I / 4 % 2), I % 4}
                : AlongK{J + 16 * (I / 8), I % 8};
}

void lnbwd::sim::locateElements(MatrixShape &S, MatrixFamily Family,
                                const MatrixLayout &P, unsigned DwordsA,
                                unsigned DwordsB) {
  const unsigned M = S.M, ResultBits = S.OneHalf ? 32 : bitsOf(S.Result);
  for (unsigned B = 0; B < S.Blocks; ++B) {
    for (unsigned I = 0; I < M; ++I)
      for (unsigned K = 0; K < S.keptK(); ++K)
        S.LocationsA.push_back(
            locateFactor(S, Family, P, true, I, K, B, DwordsA));
    for (unsigned K = 0; K < S.K; ++K)
      for (unsigned J = 0; J < M; ++J)
        S.LocationsB.push_back(
            locateFactor(S, Family, P, false, J, K, B, DwordsB));
    for (unsigned I = 0; I < M; ++I)
      for (unsigned J = 0; J < M; ++J) {
        const AlongK D = locateResult(S, Family, P, I, J, B);
        S.LocationsD.push_back(
            {uint8_t(D.Group),
             uint16_t(D.Element * ResultBits + (S.HighHalf ? 16 : 0))});
      }
  }
}
