//===- MatrixLayout.h - Where elements of matrices lie ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types by name, and where the elements of matrices lie.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_DECODE_MATRIXLAYOUT_H
#define LNBWD_LIB_SIMULATOR_DECODE_MATRIXLAYOUT_H

#include "Core/MatrixShape.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace lnbwd::sim {

enum class MatrixFamily : uint8_t { Mfma, Smfmac, Wmma, Swmmac };

/// The type of that name in a mnemonic. OneZero: fp8 and bf8 are those of
/// gfx942, with one zero; later chips have OCP's.
std::optional<MatrixType> matrixType(llvm::StringRef Name, bool OneZero);

/// What the places depend on beside the shape.
struct MatrixLayout {
  unsigned Generation; ///< of the instruction set, 9 and more
  unsigned WaveSize;
  bool IsCdna5 = false;
  /// CBSZ, ABID and BLGP of v_mfma: 2^AGroup blocks of A take the place of
  /// block ABlock among them, and BPattern says which lanes give B.
  unsigned AGroup = 0, ABlock = 0, BPattern = 0;
};

/// Fills the places of S, whose other members are set already. DwordsA and
/// DwordsB are the registers of the factors.
void locateElements(MatrixShape &S, MatrixFamily Family, const MatrixLayout &P,
                    unsigned DwordsA, unsigned DwordsB);

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_DECODE_MATRIXLAYOUT_H
