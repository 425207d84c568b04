//===- WaveTester.cpp - One wave under the tests' control -----------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "WaveTester.h"

#include "Check/Effects.h"

#include "Assembler/Assembler.h"

#include <cstdlib>
#include <iterator>

using namespace lnbwd::sim;

const SimulatedChip &lnbwd::sim::chipNamed(const std::string &Name) {
  if (const SimulatedChip *C = chipByName(Name))
    return *C;
  std::abort();
}

std::vector<std::string> lnbwd::sim::chipsIn(unsigned Set) {
  std::vector<std::string> Names;
  // In the order of the bits.
  const char *const All[] = {"gfx90a",  "gfx942", "gfx950",  "gfx1100",
                             "gfx1201", "gfx908", "gfx1030", "gfx1250"};
  for (unsigned K = 0; K < std::size(All); ++K)
    if (Set >> K & 1)
      Names.push_back(All[K]);
  return Names;
}

WaveTester::WaveTester(const std::string &Chip, unsigned WaveSize,
                       const ExecTable &Table)
    : Chip(Chip), Table(Table), LdsBytes(4096, 0) {
  const SimulatedChip &Info = chipNamed(Chip);
  TheKernel.Name = "test";
  TheKernel.Rsrc3 = 4 << 14; // sixteen named barriers
  L->Symbols = &Object;
  L->TheKernel = &TheKernel;
  L->Chip = &Info;
  L->WaveSize = WaveSize ? WaveSize : Info.WaveSize;
  WG.NumWaves = WG.Alive = 1;
  const size_t Dwords = size_t(NumVectorRows) * L->WaveSize;
  Registers.reset(static_cast<uint32_t *>(std::aligned_alloc(64, Dwords * 4)));
  std::memset(Registers.get(), 0, Dwords * 4);
  W->N = L->WaveSize;
  W->FullMask = W->N == 64 ? ~0ull : 0xffffffffull;
  W->V = Registers.get();
  W->T = Temps.get();
  W->WG = &WG;
  W->L = L.get();
  std::memset(W->S, 0, sizeof(W->S));
  W->setScalar64(SlotExec, W->FullMask);
  W->setScalar64(SlotSharedBase, SharedAperture);
  W->setScalar64(SlotPrivateBase, PrivateAperture);
  // Compilers' default: all denormals, IEEE mode where it exists.
  W->updateMode(0xf0 | ModeDX10Clamp | (Info.Generation < 12 ? ModeIEEE : 0u));
}

const WaveCounters &WaveTester::counters() {
  W->flushCounts(W->exec());
  return W->Count;
}

void WaveTester::allow(void *P, size_t Bytes) {
  uint64_t Begin = reinterpret_cast<uint64_t>(P);
  L->Regions = {{Begin, Begin + Bytes}};
}

void WaveTester::setScratch(unsigned BytesPerLane) {
  Scratch.assign(size_t(BytesPerLane) * W->N, 0);
  W->Scratch = Scratch.data();
  W->ScratchSize = BytesPerLane;
  uint64_t Begin = reinterpret_cast<uint64_t>(Scratch.data());
  W->ScratchRegion = {Begin, Begin + Scratch.size()};
}

bool WaveTester::run(const std::string &Text) {
  Error.clear();
  Code = assembleText(Text + "\n\ts_endpgm\n", Chip, W->N, Error);
  if (Code.empty())
    return false;
  uint64_t Address = reinterpret_cast<uint64_t>(Code.data());
  DecodedCode P(*L->Chip, W->N, {CodeRange{Address, Code.size(), {}}}, Table);
  L->Code = &P;
  L->Failure = LaunchFailure::None;
  L->Stop = false;
  WG.Lds = LdsBytes.data();
  WG.LdsSize = uint32_t(LdsBytes.size());
  W->Status = WaveStatus::Running;
  W->LastRegion = {0, 0};
  const Inst *I = P.at(Address);
  auto Covered = Coverage::create(P);
  for (unsigned Left = 100000; I && Left; --Left) {
    if (W->exec() != W->CountedExec)
      W->flushCounts(W->exec());
    ++W->Count.Pending[unsigned(I->Class)];
    if (Covered)
      Covered->note(I);
    I = I->Run(*W, I);
  }
  if (W->Status == WaveStatus::Ended)
    return true;
  Error = L->Error.empty() ? "the wave did not end" : L->Error;
  L->Error.clear();
  return false;
}

void lnbwd::sim::runLaneCases(const std::vector<LaneCase> &Cases) {
  for (const ExecTable *Table : runnableExecTables())
    for (const LaneCase &Case : Cases)
      for (const std::string &Chip : chipsIn(Case.Chips)) {
        SCOPED_TRACE(std::string(Case.Text) + " on " + Chip + " (" +
                     Table->Name + ")");
        WaveTester T(Chip, 0, *Table);
        const size_t Rows = Case.Rows.size();
        for (unsigned L = 0; L < T.lanes(); ++L) {
          const LaneRow &R = Case.Rows[L % Rows];
          const uint64_t Inputs[3] = {R.A, R.B, R.C};
          for (unsigned K = 0; K < 3; ++K) {
            T.v(2 + 2 * K)[L] = uint32_t(Inputs[K]);
            T.v(3 + 2 * K)[L] = uint32_t(Inputs[K] >> 32);
          }
          T.v(0)[L] = T.v(1)[L] = 0xdddddddd;
        }
        if (!T.run(Case.Text)) {
          ADD_FAILURE() << T.error();
          continue;
        }
        bool Wide = std::string(Case.Text).find(" v[0:1]") != std::string::npos;
        for (unsigned L = 0; L < T.lanes(); ++L) {
          const LaneRow &R = Case.Rows[L % Rows];
          uint64_t Got = T.v(0)[L] | (Wide ? uint64_t(T.v(1)[L]) << 32 : 0);
          if (Got == R.Expected)
            continue;
          ADD_FAILURE() << "lane " << L << ": inputs " << hex(R.A) << ", "
                        << hex(R.B) << ", " << hex(R.C) << ": expected "
                        << hex(R.Expected) << ", got " << hex(Got);
          break;
        }
      }
}

void lnbwd::sim::runScalarCases(const std::vector<ScalarCase> &Cases) {
  for (const ScalarCase &Case : Cases)
    for (const std::string &Chip : chipsIn(Case.Chips))
      for (const ScalarRow &R : Case.Rows) {
        SCOPED_TRACE(std::string(Case.Text) + " on " + Chip + ", inputs " +
                     hex(R.A) + ", " + hex(R.B));
        WaveTester T(Chip);
        T.setS64(0, 0xddddddddddddddddull);
        T.setS64(2, R.A);
        T.setS64(4, R.B);
        T.setScc(R.SccIn != 0);
        if (!T.run(Case.Text)) {
          ADD_FAILURE() << T.error();
          continue;
        }
        bool Wide = std::string(Case.Text).find(" s[0:1]") != std::string::npos;
        EXPECT_EQ(hex(Wide ? T.s64(0) : T.s(0)), hex(R.Expected));
        EXPECT_EQ(T.scc(), R.SccOut != 0);
      }
}
