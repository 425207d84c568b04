//===- MatrixTable.cpp - Matrix instructions by name ----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All matrix instructions that LLVM 22 knows for gfx908 to gfx950, gfx11 and
// gfx12. A new one is a row here, and nothing else if its elements lie as those
// of its family do.
//
// Which chip has an instruction LLVM's disassembler knows.
//
//===----------------------------------------------------------------------===//

#include "Decode/MatrixTable.h"

#include "llvm/ADT/StringMap.h"

using namespace llvm;
using namespace lnbwd::sim;

constexpr MatrixFamily Mfma = MatrixFamily::Mfma;
constexpr MatrixFamily Smfmac = MatrixFamily::Smfmac;
constexpr MatrixFamily Wmma = MatrixFamily::Wmma;
constexpr MatrixFamily Swmmac = MatrixFamily::Swmmac;
constexpr MatrixType F16 = MatrixType::F16;
constexpr MatrixType BF16 = MatrixType::BF16;
constexpr MatrixType F32 = MatrixType::F32;
constexpr MatrixType XF32 = MatrixType::XF32;
constexpr MatrixType F64 = MatrixType::F64;
constexpr MatrixType I4 = MatrixType::I4;
constexpr MatrixType I8 = MatrixType::I8;
constexpr MatrixType I32 = MatrixType::I32;
constexpr MatrixType FP8 = MatrixType::FP8;
constexpr MatrixType BF8 = MatrixType::BF8;

// Name, older name, family, M (and N), K, blocks, types of A, B and the result,
// whether those of A and B are in the text instead, and whether they are
// scaled.
// clang-format off
static const MatrixInstruction Table[] = {
    // f32 and f64.
    {"v_mfma_f32_32x32x1_2b_f32", "v_mfma_f32_32x32x1f32", Mfma, 32, 1, 2, F32, F32, F32},
    {"v_mfma_f32_16x16x1_4b_f32", "v_mfma_f32_16x16x1f32", Mfma, 16, 1, 4, F32, F32, F32},
    {"v_mfma_f32_4x4x1_16b_f32", "v_mfma_f32_4x4x1f32", Mfma, 4, 1, 16, F32, F32, F32},
    {"v_mfma_f32_32x32x2_f32", "v_mfma_f32_32x32x2f32", Mfma, 32, 2, 1, F32, F32, F32},
    {"v_mfma_f32_16x16x4_f32", "v_mfma_f32_16x16x4f32", Mfma, 16, 4, 1, F32, F32, F32},
    {"v_mfma_f32_16x16x8_xf32", nullptr, Mfma, 16, 8, 1, XF32, XF32, F32},
    {"v_mfma_f32_32x32x4_xf32", nullptr, Mfma, 32, 4, 1, XF32, XF32, F32},
    {"v_mfma_f64_16x16x4_f64", "v_mfma_f64_16x16x4f64", Mfma, 16, 4, 1, F64, F64, F64},
    {"v_mfma_f64_4x4x4_4b_f64", "v_mfma_f64_4x4x4f64", Mfma, 4, 4, 4, F64, F64, F64},
    // f16.
    {"v_mfma_f32_32x32x4_2b_f16", "v_mfma_f32_32x32x4f16", Mfma, 32, 4, 2, F16, F16, F32},
    {"v_mfma_f32_16x16x4_4b_f16", "v_mfma_f32_16x16x4f16", Mfma, 16, 4, 4, F16, F16, F32},
    {"v_mfma_f32_4x4x4_16b_f16", "v_mfma_f32_4x4x4f16", Mfma, 4, 4, 16, F16, F16, F32},
    {"v_mfma_f32_32x32x8_f16", "v_mfma_f32_32x32x8f16", Mfma, 32, 8, 1, F16, F16, F32},
    {"v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x16f16", Mfma, 16, 16, 1, F16, F16, F32},
    {"v_mfma_f32_16x16x32_f16", nullptr, Mfma, 16, 32, 1, F16, F16, F32},
    {"v_mfma_f32_32x32x16_f16", nullptr, Mfma, 32, 16, 1, F16, F16, F32},
    // bf16; _1k has twice the depth, and is all that newer chips have.
    {"v_mfma_f32_32x32x4_2b_bf16", "v_mfma_f32_32x32x4bf16_1k", Mfma, 32, 4, 2, BF16, BF16, F32},
    {"v_mfma_f32_16x16x4_4b_bf16", "v_mfma_f32_16x16x4bf16_1k", Mfma, 16, 4, 4, BF16, BF16, F32},
    {"v_mfma_f32_4x4x4_16b_bf16", "v_mfma_f32_4x4x4bf16_1k", Mfma, 4, 4, 16, BF16, BF16, F32},
    {"v_mfma_f32_32x32x8_bf16", "v_mfma_f32_32x32x8bf16_1k", Mfma, 32, 8, 1, BF16, BF16, F32},
    {"v_mfma_f32_16x16x16_bf16", "v_mfma_f32_16x16x16bf16_1k", Mfma, 16, 16, 1, BF16, BF16, F32},
    {"v_mfma_f32_16x16x32_bf16", nullptr, Mfma, 16, 32, 1, BF16, BF16, F32},
    {"v_mfma_f32_32x32x16_bf16", nullptr, Mfma, 32, 16, 1, BF16, BF16, F32},
    {"v_mfma_f32_32x32x2bf16", nullptr, Mfma, 32, 2, 2, BF16, BF16, F32},
    {"v_mfma_f32_16x16x2bf16", nullptr, Mfma, 16, 2, 4, BF16, BF16, F32},
    {"v_mfma_f32_4x4x2bf16", nullptr, Mfma, 4, 2, 16, BF16, BF16, F32},
    {"v_mfma_f32_32x32x4bf16", nullptr, Mfma, 32, 4, 1, BF16, BF16, F32},
    {"v_mfma_f32_16x16x8bf16", nullptr, Mfma, 16, 8, 1, BF16, BF16, F32},
    // i8.
    {"v_mfma_i32_32x32x4_2b_i8", "v_mfma_i32_32x32x4i8", Mfma, 32, 4, 2, I8, I8, I32},
    {"v_mfma_i32_16x16x4_4b_i8", "v_mfma_i32_16x16x4i8", Mfma, 16, 4, 4, I8, I8, I32},
    {"v_mfma_i32_4x4x4_16b_i8", "v_mfma_i32_4x4x4i8", Mfma, 4, 4, 16, I8, I8, I32},
    {"v_mfma_i32_32x32x8_i8", "v_mfma_i32_32x32x8i8", Mfma, 32, 8, 1, I8, I8, I32},
    {"v_mfma_i32_16x16x16_i8", "v_mfma_i32_16x16x16i8", Mfma, 16, 16, 1, I8, I8, I32},
    {"v_mfma_i32_32x32x16_i8", nullptr, Mfma, 32, 16, 1, I8, I8, I32},
    {"v_mfma_i32_16x16x32_i8", nullptr, Mfma, 16, 32, 1, I8, I8, I32},
    {"v_mfma_i32_16x16x64_i8", nullptr, Mfma, 16, 64, 1, I8, I8, I32},
    {"v_mfma_i32_32x32x32_i8", nullptr, Mfma, 32, 32, 1, I8, I8, I32},
    // fp8 and bf8. The types of f8f6f4 are in the instruction.
    {"v_mfma_f32_16x16x32_fp8_fp8", nullptr, Mfma, 16, 32, 1, FP8, FP8, F32},
    {"v_mfma_f32_16x16x32_fp8_bf8", nullptr, Mfma, 16, 32, 1, FP8, BF8, F32},
    {"v_mfma_f32_16x16x32_bf8_fp8", nullptr, Mfma, 16, 32, 1, BF8, FP8, F32},
    {"v_mfma_f32_16x16x32_bf8_bf8", nullptr, Mfma, 16, 32, 1, BF8, BF8, F32},
    {"v_mfma_f32_32x32x16_fp8_fp8", nullptr, Mfma, 32, 16, 1, FP8, FP8, F32},
    {"v_mfma_f32_32x32x16_fp8_bf8", nullptr, Mfma, 32, 16, 1, FP8, BF8, F32},
    {"v_mfma_f32_32x32x16_bf8_fp8", nullptr, Mfma, 32, 16, 1, BF8, FP8, F32},
    {"v_mfma_f32_32x32x16_bf8_bf8", nullptr, Mfma, 32, 16, 1, BF8, BF8, F32},
    {"v_mfma_f32_16x16x128_f8f6f4", nullptr, Mfma, 16, 128, 1, FP8, FP8, F32, true},
    {"v_mfma_f32_32x32x64_f8f6f4", nullptr, Mfma, 32, 64, 1, FP8, FP8, F32, true},
    {"v_mfma_scale_f32_16x16x128_f8f6f4", nullptr, Mfma, 16, 128, 1, FP8, FP8, F32, true, true},
    {"v_mfma_scale_f32_32x32x64_f8f6f4", nullptr, Mfma, 32, 64, 1, FP8, FP8, F32, true, true},
    // Sparse.
    {"v_smfmac_f32_16x16x32_f16", nullptr, Smfmac, 16, 32, 1, F16, F16, F32},
    {"v_smfmac_f32_32x32x16_f16", nullptr, Smfmac, 32, 16, 1, F16, F16, F32},
    {"v_smfmac_f32_16x16x64_f16", nullptr, Smfmac, 16, 64, 1, F16, F16, F32},
    {"v_smfmac_f32_32x32x32_f16", nullptr, Smfmac, 32, 32, 1, F16, F16, F32},
    {"v_smfmac_f32_16x16x32_bf16", nullptr, Smfmac, 16, 32, 1, BF16, BF16, F32},
    {"v_smfmac_f32_32x32x16_bf16", nullptr, Smfmac, 32, 16, 1, BF16, BF16, F32},
    {"v_smfmac_f32_16x16x64_bf16", nullptr, Smfmac, 16, 64, 1, BF16, BF16, F32},
    {"v_smfmac_f32_32x32x32_bf16", nullptr, Smfmac, 32, 32, 1, BF16, BF16, F32},
    {"v_smfmac_i32_16x16x64_i8", nullptr, Smfmac, 16, 64, 1, I8, I8, I32},
    {"v_smfmac_i32_32x32x32_i8", nullptr, Smfmac, 32, 32, 1, I8, I8, I32},
    {"v_smfmac_i32_16x16x128_i8", nullptr, Smfmac, 16, 128, 1, I8, I8, I32},
    {"v_smfmac_i32_32x32x64_i8", nullptr, Smfmac, 32, 64, 1, I8, I8, I32},
    {"v_smfmac_f32_16x16x64_fp8_fp8", nullptr, Smfmac, 16, 64, 1, FP8, FP8, F32},
    {"v_smfmac_f32_16x16x64_fp8_bf8", nullptr, Smfmac, 16, 64, 1, FP8, BF8, F32},
    {"v_smfmac_f32_16x16x64_bf8_fp8", nullptr, Smfmac, 16, 64, 1, BF8, FP8, F32},
    {"v_smfmac_f32_16x16x64_bf8_bf8", nullptr, Smfmac, 16, 64, 1, BF8, BF8, F32},
    {"v_smfmac_f32_32x32x32_fp8_fp8", nullptr, Smfmac, 32, 32, 1, FP8, FP8, F32},
    {"v_smfmac_f32_32x32x32_fp8_bf8", nullptr, Smfmac, 32, 32, 1, FP8, BF8, F32},
    {"v_smfmac_f32_32x32x32_bf8_fp8", nullptr, Smfmac, 32, 32, 1, BF8, FP8, F32},
    {"v_smfmac_f32_32x32x32_bf8_bf8", nullptr, Smfmac, 32, 32, 1, BF8, BF8, F32},
    {"v_smfmac_f32_16x16x128_fp8_fp8", nullptr, Smfmac, 16, 128, 1, FP8, FP8, F32},
    {"v_smfmac_f32_16x16x128_fp8_bf8", nullptr, Smfmac, 16, 128, 1, FP8, BF8, F32},
    {"v_smfmac_f32_16x16x128_bf8_fp8", nullptr, Smfmac, 16, 128, 1, BF8, FP8, F32},
    {"v_smfmac_f32_16x16x128_bf8_bf8", nullptr, Smfmac, 16, 128, 1, BF8, BF8, F32},
    {"v_smfmac_f32_32x32x64_fp8_fp8", nullptr, Smfmac, 32, 64, 1, FP8, FP8, F32},
    {"v_smfmac_f32_32x32x64_fp8_bf8", nullptr, Smfmac, 32, 64, 1, FP8, BF8, F32},
    {"v_smfmac_f32_32x32x64_bf8_fp8", nullptr, Smfmac, 32, 64, 1, BF8, FP8, F32},
    {"v_smfmac_f32_32x32x64_bf8_bf8", nullptr, Smfmac, 32, 64, 1, BF8, BF8, F32},
    // gfx11 and gfx12.
    {"v_wmma_f32_16x16x16_f16", nullptr, Wmma, 16, 16, 1, F16, F16, F32},
    {"v_wmma_f32_16x16x16_bf16", nullptr, Wmma, 16, 16, 1, BF16, BF16, F32},
    {"v_wmma_f16_16x16x16_f16", nullptr, Wmma, 16, 16, 1, F16, F16, F16},
    {"v_wmma_bf16_16x16x16_bf16", nullptr, Wmma, 16, 16, 1, BF16, BF16, BF16},
    {"v_wmma_i32_16x16x16_iu8", nullptr, Wmma, 16, 16, 1, I8, I8, I32},
    {"v_wmma_i32_16x16x16_iu4", nullptr, Wmma, 16, 16, 1, I4, I4, I32},
    {"v_wmma_i32_16x16x32_iu4", nullptr, Wmma, 16, 32, 1, I4, I4, I32},
    {"v_wmma_f32_16x16x16_fp8_fp8", nullptr, Wmma, 16, 16, 1, FP8, FP8, F32},
    {"v_wmma_f32_16x16x16_fp8_bf8", nullptr, Wmma, 16, 16, 1, FP8, BF8, F32},
    {"v_wmma_f32_16x16x16_bf8_fp8", nullptr, Wmma, 16, 16, 1, BF8, FP8, F32},
    {"v_wmma_f32_16x16x16_bf8_bf8", nullptr, Wmma, 16, 16, 1, BF8, BF8, F32},
    {"v_swmmac_f32_16x16x32_f16", nullptr, Swmmac, 16, 32, 1, F16, F16, F32},
    {"v_swmmac_f32_16x16x32_bf16", nullptr, Swmmac, 16, 32, 1, BF16, BF16, F32},
    {"v_swmmac_f16_16x16x32_f16", nullptr, Swmmac, 16, 32, 1, F16, F16, F16},
    {"v_swmmac_bf16_16x16x32_bf16", nullptr, Swmmac, 16, 32, 1, BF16, BF16, BF16},
    {"v_swmmac_i32_16x16x32_iu8", nullptr, Swmmac, 16, 32, 1, I8, I8, I32},
    {"v_swmmac_i32_16x16x32_iu4", nullptr, Swmmac, 16, 32, 1, I4, I4, I32},
    {"v_swmmac_i32_16x16x64_iu4", nullptr, Swmmac, 16, 64, 1, I4, I4, I32},
    {"v_swmmac_f32_16x16x32_fp8_fp8", nullptr, Swmmac, 16, 32, 1, FP8, FP8, F32},
    {"v_swmmac_f32_16x16x32_fp8_bf8", nullptr, Swmmac, 16, 32, 1, FP8, BF8, F32},
    {"v_swmmac_f32_16x16x32_bf8_fp8", nullptr, Swmmac, 16, 32, 1, BF8, FP8, F32},
    {"v_swmmac_f32_16x16x32_bf8_bf8", nullptr, Swmmac, 16, 32, 1, BF8, BF8, F32},
};
// clang-format on

const MatrixInstruction *lnbwd::sim::findMatrixInstruction(StringRef Name) {
  static const StringMap<const MatrixInstruction *> ByName = [] {
    StringMap<const MatrixInstruction *> Map;
    for (const MatrixInstruction &I : Table) {
      Map[I.Name] = &I;
      if (I.OldName)
        Map[I.OldName] = &I;
    }
    return Map;
  }();
  return ByName.lookup(Name);
}
