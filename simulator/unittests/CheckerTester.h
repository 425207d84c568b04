//===- CheckerTester.h - Kernels for the tests of checks --------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the tests of checked launches share: a kernel whose text is spelt for
// each chip, run on two buffers with all checks on.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_UNITTESTS_SIMULATOR_CHECKERTESTER_H
#define LNBWD_UNITTESTS_SIMULATOR_CHECKERTESTER_H

#include "Assembler/Assembler.h"
#include "HipTester.h"
#include "WaveTester.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstring>
#include <string>
#include <vector>

namespace lnbwd::sim {

/// Replaces the names in capitals, which stand for what each generation calls
/// an instruction.
inline std::string spell(std::string S, const std::string &Chip) {
  const bool Cdna3 = Chip == "gfx942" || Chip == "gfx950";
  struct Word {
    const char *Name, *Gfx9, *Gfx11, *Gfx12;
  };
  const Word Words[] = {
      {"GLOAD1", "global_load_dword", "global_load_b32", "global_load_b32"},
      {"GLOAD2", "global_load_dwordx2", "global_load_b64", "global_load_b64"},
      {"GSTORE2", "global_store_dwordx2", "global_store_b64",
       "global_store_b64"},
      {"GSTORE1", "global_store_dword", "global_store_b32", "global_store_b32"},
      {"GADD", "global_atomic_add", "global_atomic_add_u32",
       "global_atomic_add_u32"},
      {"GCAS", "global_atomic_cmpswap", "global_atomic_cmpswap_b32",
       "global_atomic_cmpswap_b32"},
      {"GSWAP", "global_atomic_swap", "global_atomic_swap_b32",
       "global_atomic_swap_b32"},
      {"RETURN", Cdna3 ? "sc0" : "glc", "glc", "th:TH_ATOMIC_RETURN"},
      {"COHERENT", Cdna3 ? "sc1" : "glc",
       chipNamed(Chip).Generation == 10 ? "glc dlc" : "glc", "scope:SCOPE_DEV"},
      // Of an atomic that is one for all of the device, and of a store that
      // others wait for.
      {"OFALL", "", "", "scope:SCOPE_DEV"},
      {"FLAGBIT", Cdna3 ? "sc1" : "", "", "scope:SCOPE_DEV"},
      // What stands before a store or an atomic that releases what the wave has
      // stored, and after a load or an atomic that takes it, for the device.
      {"RELEASE",
       Cdna3 ? "buffer_wbl2 sc1\ns_waitcnt vmcnt(0)" : "s_waitcnt vmcnt(0)",
       "s_waitcnt_vscnt null, 0x0",
       chipNamed(Chip).isCdna5()
           ? "global_wb scope:SCOPE_DEV\ns_wait_storecnt 0x0"
           : "s_wait_storecnt 0x0"},
      {"ACQUIRE", Cdna3 ? "buffer_inv sc1" : "buffer_wbinvl1_vol",
       "buffer_gl1_inv\nbuffer_gl0_inv", "global_inv scope:SCOPE_DEV"},
      {"SCLOAD", "scratch_load_dword", "scratch_load_b32", "scratch_load_b32"},
      {"SCSTORE", "scratch_store_dword", "scratch_store_b32",
       "scratch_store_b32"},
      {"SLOAD1", "s_load_dword", "s_load_b32", "s_load_b32"},
      {"SLOAD2", "s_load_dwordx2", "s_load_b64", "s_load_b64"},
      {"SLOAD4", "s_load_dwordx4", "s_load_b128", "s_load_b128"},
      {"DSWRITE1", "ds_write_b32", "ds_store_b32", "ds_store_b32"},
      {"DSWRITE4", "ds_write_b128", "ds_store_b128", "ds_store_b128"},
      {"DSREAD1", "ds_read_b32", "ds_load_b32", "ds_load_b32"},
      {"DSREAD2", "ds_read_b64", "ds_load_b64", "ds_load_b64"},
      {"ADDV", "v_add_u32", "v_add_nc_u32", "v_add_nc_u32"},
      {"WAITV", "s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(0)",
       "s_wait_loadcnt 0x0"},
      {"WAITST", "s_waitcnt vmcnt(0)", "s_waitcnt_vscnt null, 0x0",
       "s_wait_storecnt 0x0"},
      {"WAIT1V", "s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(1)",
       "s_wait_loadcnt 0x1"},
      {"WAITL", "s_waitcnt lgkmcnt(0)", "s_waitcnt lgkmcnt(0)",
       "s_wait_dscnt 0x0"},
      {"WAIT1L", "s_waitcnt lgkmcnt(1)", "s_waitcnt lgkmcnt(1)",
       "s_wait_dscnt 0x1"},
      {"WAITS", "s_waitcnt lgkmcnt(0)", "s_waitcnt lgkmcnt(0)",
       "s_wait_kmcnt 0x0"},
      {"WAIT1S", "s_waitcnt lgkmcnt(1)", "s_waitcnt lgkmcnt(1)",
       "s_wait_kmcnt 0x1"},
      {"WAITX", "", "", chipNamed(Chip).isCdna5() ? "s_wait_xcnt 0x0" : ""},
      {"BARRIER", "s_barrier", "s_barrier",
       "s_barrier_signal -1\ns_barrier_wait -1"},
      {"WORKGROUP", "s2", "s2", "ttmp9"},
      {"EXEC", "exec", "exec_lo", "exec_lo"},
      {"SMOVMASK", "s_mov_b64", "s_mov_b32", "s_mov_b32"},
      {"VCC", "vcc", "vcc_lo", "vcc_lo"},
      // A work-item's number shifted right by this is its wave's.
      {"WAVESHIFT", "6", "5", "5"},
  };
  // The longest names first, as some begin with others.
  std::vector<const Word *> Order;
  for (const Word &W : Words)
    Order.push_back(&W);
  llvm::sort(Order, [](const Word *A, const Word *B) {
    return std::strlen(A->Name) > std::strlen(B->Name);
  });
  for (const Word *W : Order) {
    const bool IsMemory = llvm::StringRef(W->Gfx9).contains("load") ||
                          llvm::StringRef(W->Gfx9).contains("store") ||
                          llvm::StringRef(W->Gfx9).contains("atomic") ||
                          llvm::StringRef(W->Gfx9).starts_with("ds_");
    // Generation 10 has the memory instructions' names of generation 9.
    const unsigned Generation = chipNamed(Chip).Generation;
    const char *To = Generation == 9 || (Generation == 10 && IsMemory) ? W->Gfx9
                     : isGfx12(Chip) ? W->Gfx12
                                     : W->Gfx11;
    for (size_t At = 0; (At = S.find(W->Name, At)) != std::string::npos;
         At += std::strlen(To))
      S.replace(At, std::strlen(W->Name), To);
  }
  return S;
}

/// Makes a descriptor in s[To:To+3] of so many bytes at s[From:From+1].
inline std::string bufferOf(const std::string &Chip, unsigned To, unsigned From,
                            uint64_t Bytes) {
  const bool Wide = chipNamed(Chip).isCdna5();
  auto Register = [](unsigned R) { return " s" + std::to_string(R); };
  std::string Text = "s_mov_b32" + Register(To) + "," + Register(From) +
                     "\ns_and_b32" + Register(To + 1) + "," +
                     Register(From + 1) + ", 0xffff\n";
  if (Wide)
    Text += "s_or_b32" + Register(To + 1) + "," + Register(To + 1) + ", " +
            std::to_string(uint32_t(Bytes << 25)) + "\n";
  return Text + "s_mov_b32" + Register(To + 2) + ", " +
         std::to_string(Wide ? Bytes >> 7 : Bytes) + "\ns_mov_b32" +
         Register(To + 3) + ", " +
         (Wide           ? "0\n"
          : isGfx9(Chip) ? "0x27000\n"
                         : "0x31016fac\n");
}

/// s[4:5] and s[6:7] are the two arguments, s3 the workgroup's number, v0 the
/// work-item's x, v1 = 4 * v0.
inline const char *const Prologue = R"(
  SLOAD4 s[4:7], s[0:1], 0x0
  s_mov_b32 s3, WORKGROUP
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 2, v0
  WAITS
)";

/// Kernels written by hand have the wait states that hardware does not keep
/// only where they are what a test is about.
constexpr unsigned AllButHazards =
    LNBWD_SIM_CHECK_ALL & ~unsigned(LNBWD_SIM_CHECK_HAZARDS);

/// Two buffers of 16 KiB; checks on while it lives.
class CheckerTest : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    Chip = GetParam();
    useChip(Chip);
    Before = lnbwdSimGetChecks();
    lnbwdSimSetChecks(AllButHazards);
    EXPECT_HIP(hipMalloc(&A, Bytes));
    EXPECT_HIP(hipMalloc(&B, Bytes));
    EXPECT_HIP(hipMemset(A, 0, Bytes));
    K.KernargBytes = 16;
    K.LdsBytes = 1024;
    // Some chips would have y and z in v1 and v2.
    K.WorkItemDimensions = 1;
    K.Body = Prologue;
  }
  void TearDown() override {
    (void)hipFree(A);
    (void)hipFree(B);
    lnbwdSimSetChecks(Before);
    lnbwdSimSetShuffle(0);
  }
  /// Runs the body after the prologue; the message of the error, or "".
  std::string run(const std::string &Text, dim3 Grid = 1, dim3 Block = 64) {
    KernelText Whole = K;
    Whole.Body = spell(K.Body + Text + "\n", Chip);
    std::string Error;
    auto Code = assembleCodeObject(kernelText(Whole, Chip), Chip, 5, Error,
                                   Whole.WaveSize);
    EXPECT_FALSE(Code.empty()) << Error << Whole.Body;
    if (Code.empty())
      return "does not assemble";
    LoadedModule M(Code);
    Launched = launch(M.function("k"), Grid, Block, 0, A, B);
    return Launched == hipSuccess ? "" : lnbwdSimLastErrorMessage();
  }
  unsigned waveItems() const { return isGfx9(Chip) ? 64 : 32; }

  static constexpr size_t Bytes = 16384;
  std::string Chip;
  /// The checks of other tests.
  unsigned Before = 0;
  void *A = nullptr, *B = nullptr;
  KernelText K;
  hipError_t Launched = hipSuccess;
};

} // namespace lnbwd::sim

#define EXPECT_SAYS(TEXT, PART)                                                \
  do {                                                                         \
    const std::string &Said = (TEXT);                                          \
    EXPECT_NE(Said.find(PART), std::string::npos) << Said;                     \
  } while (0)
#define EXPECT_CLEAN(TEXT) EXPECT_EQ((TEXT), "")

#endif // LNBWD_UNITTESTS_SIMULATOR_CHECKERTESTER_H
