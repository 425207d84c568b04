//===- WaveTester.h - One wave under the tests' control ---------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Assembles instructions, sets registers, runs them on a wave and looks at the
// registers afterwards. On top of it, tables of cases: one instruction, several
// inputs with their expected results, each input in a lane of its own.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_UNITTESTS_SIMULATOR_WAVETESTER_H
#define LNBWD_UNITTESTS_SIMULATOR_WAVETESTER_H

#include "Core/Execution.h"
#include "Core/Launch.h"
#include "Core/Wave.h"
#include "Decode/CodeDecoder.h"
#include "Execute/ExecTable.h"
#include "Load/CodeObject.h"

#include "gtest/gtest.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace lnbwd::sim {

/// Sets of chips: those whose instructions differ.
enum ChipSet : unsigned {
  GFX90A = 1,
  GFX942 = 2,
  GFX950 = 4,
  GFX1100 = 8,
  GFX1201 = 16,
  GFX908 = 32,
  GFX1030 = 64,
  GFX1250 = 128,
  GFX9 = GFX90A | GFX942 | GFX950,
  GFX11Plus = GFX1100 | GFX1201 | GFX1250,
  AllChips = GFX9 | GFX11Plus | GFX908 | GFX1030,
  DotChips = AllChips & ~GFX1250, ///< with v_dot2
  Dot11Plus = GFX11Plus & ~GFX1250
};

class WaveTester {
public:
  /// WaveSize 0 is the chip's usual one.
  explicit WaveTester(const std::string &Chip, unsigned WaveSize = 0,
                      const ExecTable &Table = hostExecTable());

  unsigned lanes() const { return W->N; }
  /// The lanes of a vector register or accumulation register.
  uint32_t *v(unsigned R) { return W->row(R); }
  uint32_t *a(unsigned R) { return W->row(RowAGPR0 + R); }
  uint32_t &s(unsigned R) { return W->S[R]; }
  uint64_t s64(unsigned R) const { return W->scalar64(R); }
  void setS64(unsigned R, uint64_t X) { W->setScalar64(R, X); }
  uint64_t vcc() const { return W->mask(SlotVCC); }
  void setVcc(uint64_t X) { W->setMask(SlotVCC, X); }
  uint64_t exec() const { return W->exec(); }
  void setExec(uint64_t X) { W->setScalar64(SlotExec, X); }
  bool scc() const { return W->S[SlotSCC]; }
  void setScc(bool X) { W->S[SlotSCC] = X; }
  void setMode(uint32_t X) { W->updateMode(X); }
  uint32_t mode() const { return W->Mode; }
  std::vector<uint8_t> &lds() { return LdsBytes; }
  const WaveCounters &counters();
  Wave &wave() { return *W; }

  /// Lets the wave access this memory, and nothing else.
  void allow(void *P, size_t Bytes);
  void setScratch(unsigned BytesPerLane);

  /// Assembles and runs; false with error() set if it cannot be assembled or
  /// does not run to its end.
  bool run(const std::string &Text);
  const std::string &error() const { return Error; }

private:
  std::string Chip;
  const ExecTable &Table;
  std::unique_ptr<Launch> L = std::make_unique<Launch>();
  CodeObject Object;
  Kernel TheKernel;
  Workgroup WG;
  std::unique_ptr<Wave> W = std::make_unique<Wave>();
  std::unique_ptr<LaneTemps> Temps = std::make_unique<LaneTemps>();
  struct Freer {
    void operator()(void *P) const { std::free(P); }
  };
  std::unique_ptr<uint32_t, Freer> Registers;
  std::vector<uint8_t> LdsBytes, Scratch, Code;
  std::string Error;
};

const SimulatedChip &chipNamed(const std::string &Name);
/// Names of the chips of a set.
std::vector<std::string> chipsIn(unsigned Set);
inline bool isGfx9(const std::string &Chip) {
  return chipNamed(Chip).Generation == 9;
}
inline bool isGfx12(const std::string &Chip) {
  return chipNamed(Chip).Generation == 12;
}

/// Inputs and result of one lane. A is in v[2:3], B in v[4:5], C in v[6:7]; the
/// result is v0 or v[0:1], which held 0xdddddddd twice.
struct LaneRow {
  uint64_t A, B, C, Expected;
};
/// Text names the registers as above; "v0" or "v[0:1]" comes first.
struct LaneCase {
  const char *Text;
  unsigned Chips;
  std::vector<LaneRow> Rows;
};
/// Runs the cases on all their chips, with every execution table of the host.
void runLaneCases(const std::vector<LaneCase> &Cases);

/// Inputs and results of a scalar instruction: A in s[2:3], B in s[4:5], the
/// result in s0 or s[0:1], which held 0xdddddddd twice. SccIn and SccOut may be
/// -1: SCC is 1 before, and must be 1 after.
struct ScalarRow {
  uint64_t A, B;
  int SccIn;
  uint64_t Expected;
  int SccOut;
};
struct ScalarCase {
  const char *Text;
  unsigned Chips;
  std::vector<ScalarRow> Rows;
};
void runScalarCases(const std::vector<ScalarCase> &Cases);

/// Bits of numbers, for the tables.
inline uint32_t f32(float X) {
  uint32_t U;
  std::memcpy(&U, &X, 4);
  return U;
}
inline uint64_t f64(double X) {
  uint64_t U;
  std::memcpy(&U, &X, 8);
  return U;
}
constexpr uint32_t Inf32 = 0x7f800000, NaN32 = 0x7fc00000;
constexpr uint64_t Inf64 = 0x7ff0000000000000, NaN64 = 0x7ff8000000000000;

} // namespace lnbwd::sim

#endif // LNBWD_UNITTESTS_SIMULATOR_WAVETESTER_H
