//===- MatrixTable.h - Matrix instructions by name --------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row for each matrix instruction: sizes and types; and where the elements
// of its matrices lie.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_DECODE_MATRIXTABLE_H
#define LNBWD_LIB_SIMULATOR_DECODE_MATRIXTABLE_H

#include "Core/MatrixShape.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace lnbwd::sim {

enum class MatrixFamily : uint8_t { Mfma, Smfmac, Wmma, Swmmac };

struct MatrixInstruction {
  const char *Name;
  /// As chips before gfx940 write it, or null.
  const char *OldName;
  MatrixFamily Family;
  uint8_t M, K, Blocks;
  MatrixType A, B, Result;
  bool TypesInText = false; ///< cbsz and blgp are the types of the factors
  bool Scaled = false;
};

/// The row of a name, or null.
const MatrixInstruction *findMatrixInstruction(llvm::StringRef Name);

/// What the places depend on beside the row.
struct MatrixLayout {
  unsigned Generation; ///< of the instruction set, 9 and more
  unsigned WaveSize;
  /// CBSZ, ABID and BLGP of v_mfma: 2^AGroup blocks of A take the place of
  /// block ABlock among them, and BPattern says which lanes give B.
  unsigned AGroup = 0, ABlock = 0, BPattern = 0;
};

/// Fills the places of S, whose other members are set already. DwordsA and
/// DwordsB are the registers of the factors.
void locateElements(MatrixShape &S, MatrixFamily Family, const MatrixLayout &P,
                    unsigned DwordsA, unsigned DwordsB);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_DECODE_MATRIXTABLE_H
