//===- LaneDriver.cpp - Operands in, kernel, result out -------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the lane kernel of a vector ALU instruction: fetches the sources,
// applies what the encoding adds to them (DPP, SDWA, negation, half
// selection, denormal and rounding modes), and writes the result in the
// active lanes. Instructions that the decoder found to be plain take the
// short functions at the end.
//
//===----------------------------------------------------------------------===//

#include "Execute/LaneSupport.h"

#include <cfenv>

namespace lnbwd::sim::LNBWD_SIM_VARIANT {

static bool flushesInput(const Wave &W, OperandType T) {
  unsigned Shift = T == OperandType::F32 || T == OperandType::PkF32
                       ? ModeDenormF32Shift
                       : ModeDenormF16F64Shift;
  return !(W.Mode >> Shift & 1);
}
static bool flushesOutput(const Wave &W, OperandType T) {
  unsigned Shift = T == OperandType::F32 || T == OperandType::PkF32
                       ? ModeDenormF32Shift
                       : ModeDenormF16F64Shift;
  return !(W.Mode >> Shift & 2);
}

/// Flushes the denormals of the rows of a value, if it is a floating one.
static void flushRows(uint32_t *R, OperandType T, unsigned N) {
  switch (T) {
  case OperandType::F32:
    FOR_LANES(L, N)
    R[L] = flush32(R[L]);
    break;
  case OperandType::PkF32:
    FOR_LANES(L, 2 * N)
    R[L] = flush32(R[L]);
    break;
  case OperandType::F16:
    FOR_LANES(L, N)
    R[L] = flush16(R[L] & 0xffff);
    break;
  case OperandType::PkF16:
    FOR_LANES(L, N)
    R[L] = flush16(R[L] & 0xffff) | flush16(R[L] >> 16) << 16;
    break;
  case OperandType::F64:
    for (unsigned L = 0; L < N; ++L) {
      uint64_t X = flush64(join(R[L], R[L + N]));
      R[L] = uint32_t(X);
      R[L + N] = uint32_t(X >> 32);
    }
    break;
  default:
    break;
  }
}

static void selectSdwa(uint32_t *R, Sdwa Sel, bool Signed, unsigned N) {
  unsigned Shift = 0, Width = 32;
  if (Sel <= Sdwa::Byte3) {
    Shift = unsigned(Sel) * 8;
    Width = 8;
  } else if (Sel != Sdwa::Dword) {
    Shift = Sel == Sdwa::Word1 ? 16 : 0;
    Width = 16;
  }
  unsigned Up = 32 - Width;
  FOR_LANES(L, N) {
    uint32_t X = (R[L] >> Shift) << Up;
    R[L] = Signed ? uint32_t(int32_t(X) >> Up) : X >> Up;
  }
}

static void negate(uint32_t *R, uint32_t KeepBits, uint32_t FlipBits,
                   unsigned N) {
  FOR_LANES(L, N)
  R[L] = (R[L] & KeepBits) ^ FlipBits;
}

/// Absolute value and negation of the floating types.
static void applySign(uint32_t *R, OperandType T, uint8_t Mods, unsigned N) {
  bool Abs = Mods & ModAbs, Neg = Mods & ModNeg;
  if (!Abs && !Neg)
    return;
  switch (T) {
  case OperandType::F16:
  case OperandType::BF16:
  case OperandType::I16:
    negate(R, Abs ? ~0x8000u : ~0u, Neg ? 0x8000 : 0, N);
    break;
  case OperandType::F64:
  case OperandType::B64:
    negate(R + N, Abs ? 0x7fffffff : ~0u, Neg ? 0x80000000 : 0, N);
    break;
  default:
    negate(R, Abs ? 0x7fffffff : ~0u, Neg ? 0x80000000 : 0, N);
    break;
  }
}

/// Temp[L] is Row[P.From[L]].
static void permuteRow(uint32_t *Temp, const uint32_t *Row, const DppPattern &P,
                       unsigned N) {
#if defined(__AVX2__)
  if (P.WithinRows) {
    for (unsigned L = 0; L < N; L += 8) {
      const auto *Sixteen = reinterpret_cast<const __m256i *>(Row + (L & ~15u));
      const __m256i From = _mm256_cvtepu8_epi32(
          _mm_loadl_epi64(reinterpret_cast<const __m128i *>(P.From + L)));
      const __m256i Low =
          _mm256_permutevar8x32_epi32(_mm256_loadu_si256(Sixteen), From);
      const __m256i High =
          _mm256_permutevar8x32_epi32(_mm256_loadu_si256(Sixteen + 1), From);
      const __m256i IsHigh = _mm256_slli_epi32(From, 28);
      _mm256_storeu_ps(reinterpret_cast<float *>(Temp + L),
                       _mm256_blendv_ps(_mm256_castsi256_ps(Low),
                                        _mm256_castsi256_ps(High),
                                        _mm256_castsi256_ps(IsHigh)));
    }
    return;
  }
#endif
  for (unsigned L = 0; L < N; ++L)
    Temp[L] = Row[P.From[L]];
}

/// Moves the lanes of a DPP operand and takes from Writable the lanes that keep
/// their old result.
static void permuteDpp(Wave &W, const Inst *I, const uint32_t *Row,
                       uint32_t *Temp, unsigned Rows, uint64_t &Writable) {
  const unsigned N = W.N;
  const DppPattern &P = *I->Dpp;
  // Lanes that have a source, and of these those whose source is active.
  uint64_t Valid = P.Valid;
  if (!(I->Flags & FlagDppFetchInactive) && W.exec() != W.FullMask) {
    const uint64_t Exec = W.exec();
    uint64_t Active = 0;
    for (unsigned L = 0; L < N; ++L)
      Active |= (Exec >> P.From[L] & 1) << L;
    Valid &= Active;
  }
  for (unsigned R = 0; R < Rows; ++R, Row += N, Temp += N) {
    permuteRow(Temp, Row, P, N);
    if (Valid != W.FullMask) {
      uint32_t Keep[64];
      expandMask(Keep, Valid, N);
      FOR_LANES(L, N)
      Temp[L] &= Keep[L];
    }
  }
  if (!(I->Flags & FlagDppBoundCtrl))
    Writable &= Valid;
  Writable &= I->DppEnabled;
}

/// Brings one source into the form the kernel expects.
static const uint32_t *prepareSource(Wave &W, const Inst *I, unsigned K,
                                     uint64_t &Writable) {
  const Operand &O = I->Src[K];
  const unsigned N = W.N;
  const OperandType T = I->Lane->Src[K];
  const unsigned Rows = rowsOf(T);
  uint32_t *Temp = W.T->Src[K];
  const uint32_t *Row = sourceRow(W, O, Temp);
  const unsigned Bit = 1u << K;
  bool Low = I->OpSel & Bit, High = I->OpSelHi & Bit;

  const bool Flushes =
      (I->Flags & FlagFlushes) ||
      (W.SpecialFP && (I->Lane->Flags & LaneFloat) && flushesInput(W, T));
  const bool Plain = T == OperandType::F32 || T == OperandType::B32;
  const bool Dpp = K == 0 && (I->Flags & FlagDpp);
  if (T == OperandType::Mask ||
      (Plain && !Dpp && !(I->Flags & FlagSdwa) && !O.Mods && !Flushes))
    return Row;
  if (Dpp) {
    // Row is a VGPR here, so Temp is free.
    permuteDpp(W, I, Row, Temp, Rows, Writable);
  } else if (Row != Temp) {
    for (unsigned R = 0; R < Rows; ++R)
      copyRow(Temp + R * N, Row + R * N, N);
  }

  if (I->Flags & FlagSdwa)
    selectSdwa(Temp, O.Sel, O.Mods & ModSext, N);
  if (O.Mods & ModHigh)
    FOR_LANES(L, N)
  Temp[L] >>= 16;

  switch (T) {
  case OperandType::F16:
  case OperandType::BF16:
  case OperandType::I16:
    if (Low)
      FOR_LANES(L, N)
    Temp[L] >>= 16;
    applySign(Temp, T, O.Mods, N);
    break;
  case OperandType::PkF16:
  case OperandType::PkBF16:
  case OperandType::PkI16: {
    unsigned LowShift = Low ? 16 : 0, HighShift = High ? 16 : 0;
    uint32_t Flip = 0;
    if (T != OperandType::PkI16)
      Flip =
          (I->NegLo & Bit ? 0x8000u : 0) | (I->NegHi & Bit ? 0x80000000u : 0);
    FOR_LANES(L, N)
    Temp[L] =
        ((Temp[L] >> LowShift & 0xffff) | Temp[L] >> HighShift << 16) ^ Flip;
    break;
  }
  case OperandType::PkF32: {
    uint32_t FlipLow = I->NegLo & Bit ? 0x80000000u : 0;
    uint32_t FlipHigh = I->NegHi & Bit ? 0x80000000u : 0;
    FOR_LANES(L, N) {
      uint32_t X = Temp[L], Y = Temp[L + N];
      Temp[L] = (Low ? Y : X) ^ FlipLow;
      Temp[L + N] = (High ? Y : X) ^ FlipHigh;
    }
    break;
  }
  case OperandType::PkB32:
    // v_pk_mov_b32: op_sel chooses the dword of each source.
    if (K == 0 && Low)
      copyRow(Temp, Temp + N, N);
    if (K == 1 && !Low)
      copyRow(Temp + N, Temp, N);
    break;
  case OperandType::Mix:
    if (High) {
      const unsigned Shift = Low ? 16 : 0;
      if (I->Lane->Flags & LaneMixesBFloat) {
        FOR_LANES(L, N)
        Temp[L] = Temp[L] >> Shift << 16;
      } else {
        FOR_LANES(L, N)
        Temp[L] = halfToF32(Temp[L] >> Shift & 0xffff);
      }
    }
    applySign(Temp, OperandType::F32, O.Mods, N);
    break;
  default:
    applySign(Temp, T, O.Mods, N);
    break;
  }
  if (Flushes)
    flushRows(Temp, T, N);
  return Temp;
}

template <typename T>
static typename T::Bits clamp(typename T::Bits X, bool NaNToZero) {
  if (isNaN<T>(X))
    return NaNToZero ? 0 : X;
  const auto F = T::value(X);
  return F <= 0 ? 0 : F >= 1 ? typename T::Bits(T::Bias) << T::FractionBits : X;
}
static uint32_t clampF32(uint32_t X, bool NaNToZero) {
  return clamp<Number32>(X, NaNToZero);
}
static uint32_t clampF16(uint32_t X, bool NaNToZero) {
  return clamp<Number16>(X & 0xffff, NaNToZero);
}

/// Output modifiers and output denormals.
static void finishResult(Wave &W, const Inst *I, uint32_t *Out) {
  const unsigned N = W.N;
  const OperandType T = I->Lane->Dst;
  const bool Zero = W.Mode & ModeDX10Clamp;
  if (I->Omod) {
    float Scale = I->Omod == 1 ? 2.0f : I->Omod == 2 ? 4.0f : 0.5f;
    for (unsigned L = 0; L < N; ++L) {
      if (T == OperandType::F32)
        Out[L] = bits(asF32(Out[L]) * Scale);
      else if (T == OperandType::F16)
        Out[L] = halfBits(half(Out[L]) * Scale);
      else if (T == OperandType::F64) {
        uint64_t X = bits(asF64(join(Out[L], Out[L + N])) * double(Scale));
        Out[L] = uint32_t(X);
        Out[L + N] = uint32_t(X >> 32);
      }
    }
  }
  if (I->Flags & FlagClamp) {
    for (unsigned L = 0; L < N; ++L) {
      switch (T) {
      case OperandType::PkF32:
        Out[L + N] = clampF32(Out[L + N], Zero);
        [[fallthrough]];
      case OperandType::F32:
        Out[L] = clampF32(Out[L], Zero);
        break;
      case OperandType::F16:
        Out[L] = clampF16(Out[L], Zero);
        break;
      case OperandType::PkF16:
        Out[L] = clampF16(Out[L], Zero) | clampF16(Out[L] >> 16, Zero) << 16;
        break;
      case OperandType::F64: {
        uint64_t X = clamp<Number64>(join(Out[L], Out[L + N]), Zero);
        Out[L] = uint32_t(X);
        Out[L + N] = uint32_t(X >> 32);
        break;
      }
      default:
        break; // Integers: the kernel saturates.
      }
    }
  }
  if ((I->Flags & FlagFlushes) ||
      (W.SpecialFP && (I->Lane->Flags & LaneFloat) && flushesOutput(W, T)))
    flushRows(Out, T, N);
}

static void writeResult(Wave &W, const Inst *I, uint32_t *Out,
                        uint64_t Writable) {
  const unsigned N = W.N;
  uint32_t *D = W.row(I->Dst.Reg);
  const OperandType T = I->Lane->Dst;
  if (I->Flags & FlagSdwa) {
    unsigned Shift = 0, Width = 32;
    if (I->DstSel <= Sdwa::Byte3) {
      Shift = unsigned(I->DstSel) * 8;
      Width = 8;
    } else if (I->DstSel != Sdwa::Dword) {
      Shift = I->DstSel == Sdwa::Word1 ? 16 : 0;
      Width = 16;
    }
    if (Width < 32) {
      uint32_t Field = ((1u << Width) - 1) << Shift;
      for (unsigned L = 0; L < N; ++L) {
        uint32_t X = Out[L] << Shift & Field;
        if (I->Flags & FlagPreserve)
          X |= D[L] & ~Field;
        else if (I->Flags & FlagSdwaSext) {
          unsigned Up = 32 - Width - Shift;
          uint32_t Extended = uint32_t(int32_t(X << Up) >> Up);
          X = Extended;
        }
        Out[L] = X;
      }
    }
    copyLanes(D, Out, Writable, N);
    return;
  }
  if (T == OperandType::F16 || T == OperandType::BF16 ||
      T == OperandType::I16) {
    if (I->Flags & FlagDstHigh) {
      FOR_LANES(L, N)
      Out[L] = (D[L] & 0xffff) | Out[L] << 16;
    } else if (!(I->Flags & FlagDstZeroHigh)) {
      FOR_LANES(L, N)
      Out[L] = (D[L] & 0xffff0000) | (Out[L] & 0xffff);
    }
  }
  for (unsigned R = 0; R < rowsOf(T); ++R)
    copyLanes(D + R * N, Out + R * N, Writable, N);
}

static LaneKernel chooseKernel(const Wave &W, const Inst *I) {
  LaneKernel Other = I->Lane->Alternative;
  return Other && !(W.Mode & ModeIEEE) ? Other : I->Kernel;
}

static void setLaneMask(Wave &W, const Inst *I, uint64_t Mask) {
  if (I->Dst2.Kind == OperandKind::SGPR)
    W.setMask(I->Dst2.Reg, Mask);
  if (I->Lane->Flags & LaneExecResult)
    W.setMask(SlotExec, Mask);
}

/// Makes results a unit in the last place smaller, but for zeros, infinities,
/// NaN and round numbers, which every card gets right. Not larger: divisions of
/// integers are made of reciprocals that are not too large.
static void roundDown(uint32_t *Out, OperandType T, unsigned N) {
  const bool IsHalf = T == OperandType::F16;
  const uint32_t Exponent = IsHalf ? 0x7c00 : 0x7f800000,
                 Fine = IsHalf ? 0xf : 0xfff;
  for (unsigned L = 0; L < N; ++L)
    if (T == OperandType::F64 ? Out[L] > 0
                              : (Out[L] & Fine) && ~Out[L] & Exponent)
      --Out[L];
}

static const Inst *runLaneSlow(Wave &W, const Inst *I) {
  const LaneOpInfo &Lane = *I->Lane;
  const unsigned N = W.N;
  uint64_t Writable = W.exec();
  const uint32_t *Sources[4];
  for (unsigned K = 0; K < I->NumSrc; ++K)
    Sources[K] = prepareSource(W, I, K, Writable);
  for (unsigned K = I->NumSrc; K < 4; ++K)
    Sources[K] = W.T->Src[K];

  uint32_t *Out = W.T->Out;
  LaneKernel Kernel = chooseKernel(W, I);
  bool Rounded = false;
  if (W.SpecialFP && (Lane.Flags & LaneFloat)) {
    // MODE's order: to nearest even, up, down, to zero.
    static const int HostModes[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD,
                                     FE_TOWARDZERO};
    auto Uses16 = [](OperandType T) {
      return T == OperandType::F16 || T == OperandType::PkF16 ||
             T == OperandType::BF16 || T == OperandType::PkBF16;
    };
    auto Uses64 = [](OperandType T) { return T == OperandType::F64; };
    unsigned Wide = W.Mode >> ModeRoundF16F64Shift & 3;
    unsigned Single = W.Mode >> ModeRoundF32Shift & 3;
    bool IsDouble = Uses64(Lane.Dst) || Uses64(Lane.Src[0]);
    if (Uses16(Lane.Dst) && (Wide || Single))
      return fault(W, I, -1,
                   "16-bit floating-point results are only modelled with "
                   "rounding to nearest even, but MODE asks for another "
                   "rounding");
    unsigned Mode = IsDouble ? Wide : Single;
    if (!Mode && W.RoundsUp && !Uses16(Lane.Dst))
      Mode = 1;
    if (Mode) {
      std::fesetround(HostModes[Mode]);
      Rounded = true;
    }
  }
  Kernel(Out, Sources, N);
  if (I->Flags & FlagRoundsDown)
    roundDown(Out, Lane.Dst, N);
  if (Rounded)
    std::fesetround(FE_TONEAREST);

  if (Lane.Flags & LaneMaskResult) {
    setLaneMask(W, I, packMask(Out, N) & Writable);
    return I + 1;
  }
  if (Lane.Flags & LaneExtraMask) {
    uint64_t Mask = packMask(Out + rowsOf(Lane.Dst) * N, N) & W.exec();
    setLaneMask(W, I, Mask);
  }
  finishResult(W, I, Out);
  writeResult(W, I, Out, Writable);
  return I + 1;
}

/// Most sources are vector registers, which need no call.
[[gnu::noinline]] static const uint32_t *otherRow(Wave &W, const Operand &O,
                                                  uint32_t *Temp) {
  return sourceRow(W, O, Temp);
}

[[gnu::always_inline]] static inline void
fetch(Wave &W, const Inst *I, const uint32_t **Sources, unsigned NumSrc) {
  for (unsigned K = 0; K < 4; ++K)
    Sources[K] = K >= NumSrc ? W.T->Src[K]
                 : I->Src[K].Kind == OperandKind::VGPR
                     ? W.row(I->Src[K].Reg)
                     : otherRow(W, I->Src[K], W.T->Src[K]);
}

static inline bool needsSlow(const Wave &W, const Inst *I) {
  return __builtin_expect(W.SpecialFP && (I->Lane->Flags & LaneFloat), 0);
}

/// One result row. The number of sources is that of the instruction: a loop
/// that ends here and there costs more than it does.
template <unsigned NumSrc, bool Dpp = false>
static const Inst *runLane(Wave &W, const Inst *I) {
  if (needsSlow(W, I))
    return runLaneSlow(W, I);
  const uint32_t *Sources[4];
  fetch(W, I, Sources, NumSrc);
  uint64_t Writable = W.exec();
  if (Dpp) {
    permuteDpp(W, I, Sources[0], W.T->Src[0], 1, Writable);
    Sources[0] = W.T->Src[0];
  }
  LaneKernel Kernel = chooseKernel(W, I);
  uint32_t *D = W.row(I->Dst.Reg);
  if (Writable == W.FullMask) {
    Kernel(D, Sources, W.N);
  } else {
    Kernel(W.T->Out, Sources, W.N);
    copyLanes(D, W.T->Out, Writable, W.N);
  }
  return I + 1;
}

/// Several result rows, perhaps with a mask. They always go through the
/// temporaries, because a result row may be another row of a source.
static const Inst *runWide(Wave &W, const Inst *I) {
  if (needsSlow(W, I))
    return runLaneSlow(W, I);
  const unsigned N = W.N;
  const uint32_t *Sources[4];
  fetch(W, I, Sources, I->NumSrc);
  uint32_t *Out = W.T->Out;
  chooseKernel(W, I)(Out, Sources, N);
  uint32_t *D = W.row(I->Dst.Reg);
  uint64_t Exec = W.exec();
  const unsigned Rows = rowsOf(I->Lane->Dst);
  for (unsigned R = 0; R < Rows; ++R) {
    if (Exec == W.FullMask)
      copyRow(D + R * N, Out + R * N, N);
    else
      copyLanes(D + R * N, Out + R * N, Exec, N);
  }
  if (I->Lane->Flags & LaneExtraMask)
    setLaneMask(W, I, packMask(Out + Rows * N, N) & Exec);
  return I + 1;
}

static const Inst *runMask(Wave &W, const Inst *I) {
  if (needsSlow(W, I))
    return runLaneSlow(W, I);
  const uint32_t *Sources[4];
  fetch(W, I, Sources, I->NumSrc);
  I->Kernel(W.T->Out, Sources, W.N);
  setLaneMask(W, I, packMask(W.T->Out, W.N) & W.exec());
  return I + 1;
}

static ExecTable makeTable() {
  ExecTable T = {};
#define LNBWD_STRING(X) #X
#define LNBWD_NAME(X) LNBWD_STRING(X)
  T.Name = LNBWD_NAME(LNBWD_SIM_VARIANT);
  T.LaneOps[0] = integerOps();
  T.LaneOps[1] = floatOps();
  T.LaneOps[2] = doubleOps();
  T.LaneOps[3] = halfOps();
  T.LaneOps[4] = convertOps();
  T.LaneOps[5] = compareOps();
  T.CrossLane = crossLaneOps();
  T.RunLane = {runLane<0>, runLane<1>, runLane<2>, runLane<3>, runLane<4>};
  T.RunLaneDpp = {runLaneSlow, runLane<1, true>, runLane<2, true>,
                  runLane<3, true>, runLane<4, true>};
  T.RunLaneSlow = runLaneSlow;
  T.RunWide = runWide;
  T.RunMask = runMask;
  T.RunMatrix = multiplyMatrices;
  T.RunConversion = convertSmall;
  T.RunIndexed = indexedHandler();
  T.Scalar[0] = scalarAluOps();
  T.Scalar[1] = scalarFloatOps();
  T.Scalar[2] = controlOps();
  T.Memory[unsigned(MemoryOp::CopyTensor)] = copyTensor;
  T.Memory[unsigned(MemoryOp::ScalarLoad)] = scalarLoad;
  T.Memory[unsigned(MemoryOp::ScalarBufferLoad)] = scalarBufferLoad;
  addGlobalHandlers(T);
  addFlatHandlers(T);
  addBufferHandlers(T);
  addLdsHandlers(T);
  return T;
}

const ExecTable &execTable() {
  static const ExecTable Table = makeTable();
  return Table;
}

} // namespace lnbwd::sim::LNBWD_SIM_VARIANT
