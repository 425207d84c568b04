//===- ProductTester.h - Products of matrices, by name ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tests' own view of matrix instructions: what their names say, which
// element each place of a lane's registers holds (the simulator goes the other
// way), and the sum of products, exact.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_UNITTESTS_SIMULATOR_PRODUCTTESTER_H
#define LNBWD_UNITTESTS_SIMULATOR_PRODUCTTESTER_H

#include "WaveTester.h"

#include <functional>
#include <optional>
#include <random>

namespace lnbwd::sim {

struct ProductKind {
  std::string Name;
  enum { Mfma, Smfmac, Wmma, Swmmac } Family = Mfma;
  std::string A, B, Result; ///< types as names have them
  unsigned M = 0, K = 0, Blocks = 1;
  bool Scaled = false;
  bool sparse() const { return Family == Smfmac || Family == Swmmac; }
  unsigned kept() const { return sparse() ? K / 2 : K; }

  /// Nothing if the name is not that of a product.
  static std::optional<ProductKind> parse(const std::string &Name);
};

/// What a run chooses beside the instruction.
struct ProductChoice {
  unsigned Cbsz = 0, Abid = 0, Blgp = 0;
  unsigned Neg = 0, NegLo = 0, NegHi = 0; ///< bits by operand
  bool High = false, Clamp = false;
  bool SignedA = true, SignedB = true; ///< of iu8 and iu4
  unsigned Set = 0;                    ///< index_key
  unsigned ScaleBytes[2] = {0, 0};
  /// The bits of an element; nothing: some small number.
  std::function<std::optional<uint32_t>(const std::string &Type,
                                        std::mt19937 &)>
      Element;
};

/// Runs the product on random matrices and compares all of the result.
void checkProduct(const std::string &Chip, unsigned WaveSize,
                  const ProductKind &P, const ProductChoice &C,
                  const ExecTable &Table = hostExecTable());

/// The mnemonics of all matrix instructions that LLVM knows for a chip.
std::vector<std::string> matrixMnemonics(const std::string &Chip,
                                         unsigned WaveSize);

} // namespace lnbwd::sim

#endif // LNBWD_UNITTESTS_SIMULATOR_PRODUCTTESTER_H
