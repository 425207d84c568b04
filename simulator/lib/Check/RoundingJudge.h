//===- RoundingJudge.h - Values that differ in rounding ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Triton has all lanes store the result of a reduction to one place of LDS,
// and each has combined it in another order. Whether two f32 values are such
// results, or no more than near each other, shows when the launch is executed
// again and rounds up: results of arithmetic then move by about as much as they
// differ.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_SIMULATOR_CHECK_ROUNDINGJUDGE_H
#define LNBWD_LIB_SIMULATOR_CHECK_ROUNDINGJUDGE_H

#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

namespace lnbwd::sim {

class RoundingJudge {
public:
  /// Two stores of one instruction to one place, at one time of their waves.
  struct Place {
    uint16_t Instruction = 0;
    uint32_t Wave = 0, Clock = 0, Address = 0;
    uint16_t Lanes = 0; ///< of one wave; 0: of several
    bool operator==(const Place &O) const {
      return Instruction == O.Instruction && Wave == O.Wave &&
             Clock == O.Clock && Address == O.Address && Lanes == O.Lanes;
    }
  };
  /// Whether two values that are stored there count as one. The first time all
  /// numbers do, to be judged later.
  bool accepts(const Place &At, uint32_t X, uint32_t Y);
  bool hasCases() const { return !Cases.empty(); }
  /// Values count that are the same, too: rounded up, others are.
  bool wantsAll() const { return TheStage == Stage::Compares; }
  /// The launch is executed again, and rounds up.
  void expectOthers() { TheStage = Stage::Compares; }
  /// Whether all cases are results of arithmetic that differ in rounding; those
  /// that do not move say nothing, if others of their instruction do. From now
  /// on the instructions of the others are not accepted.
  bool judge();

private:
  enum class Stage : uint8_t { Gathers, Compares, Judged };
  struct Case {
    Place At;
    float X, Y;               ///< as usual
    float UpX = 0, UpY = 0;   ///< rounded up
    bool IsThere = false;     ///< also when rounded up
    float difference() const; ///< of X and Y, relative
    bool differsInRounding() const;
    bool isUnmoved() const;
  };
  Stage TheStage = Stage::Gathers;
  std::mutex Lock; ///< of what follows
  std::vector<Case> Cases;
  std::set<uint16_t> Good;
};

} // namespace lnbwd::sim

#endif // LNBWD_LIB_SIMULATOR_CHECK_ROUNDINGJUDGE_H
