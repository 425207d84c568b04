//===- TimelineTest.cpp - The timeline of a prediction ----------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file for Perfetto: that it is valid JSON, that the events of a wave
// follow one another without gaps, that waits stand at the instructions that
// wait, and that nothing is left out unsaid.
//
//===----------------------------------------------------------------------===//

#include "HipTester.h"

#include "Assembler/Assembler.h"

#include "llvm/Support/JSON.h"

#include <map>
#include <set>
#include <string>

using namespace lnbwd::sim;
using llvm::json::Object;

namespace {
constexpr unsigned Waves = 4, Grid = 3;
constexpr const char *Chip = "gfx942";

/// A load that is waited for, a barrier, a branch that is taken, a store that
/// the end waits for.
constexpr const char *Body = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                             "v_lshlrev_b32_e32 v0, 2, v0\n"
                             "s_waitcnt lgkmcnt(0)\n"
                             "global_load_dword v1, v0, s[4:5]\n"
                             "s_waitcnt vmcnt(0)\n"
                             "s_barrier\n"
                             "s_branch over\n"
                             "s_nop 0\n"
                             "s_nop 0\n"
                             "s_nop 0\n"
                             "over:\n"
                             "v_add_f32 v1, v1, v1\n"
                             "global_store_dword v0, v1, s[4:5]\n";

struct Events {
  llvm::json::Value File = nullptr, Prediction = nullptr;
  /// Those with a duration, by wave, in the order of the file.
  std::map<int64_t, std::vector<const Object *>> OfWaves;
  std::vector<std::string> Names; ///< of the others
  size_t Count = 0;               ///< with a duration
};
} // namespace

static Events predicted(const std::string &Options, const char *OfChip = Chip) {
  useChip(OfChip);
  KernelText K;
  K.Body = OfChip == std::string(Chip) ? Body : "s_nop 0\n";
  K.KernargBytes = 8;
  std::string Error;
  const std::vector<uint8_t> Bytes =
      assembleCodeObject(kernelText(K, OfChip), OfChip, 5, Error);
  EXPECT_FALSE(Bytes.empty()) << Error;
  Events Found;
  if (Bytes.empty())
    return Found;
  LoadedModule M(Bytes);
  Buffer<uint8_t> B(1 << 16);
  EXPECT_EQ(lnbwdSimSetTiming(Options.c_str()), 0)
      << lnbwdSimLastErrorMessage();
  EXPECT_HIP(launch(M.function("k"), dim3(Grid), dim3(Waves * 64), 0, B.get()));
  auto File = llvm::json::parse(lnbwdSimGetTimelineJson());
  auto Prediction = llvm::json::parse(lnbwdSimGetTimingJson());
  lnbwdSimSetTiming(nullptr);
  EXPECT_TRUE(bool(File)) << toString(File.takeError());
  EXPECT_TRUE(bool(Prediction));
  Found.File = std::move(*File);
  Found.Prediction = std::move(*Prediction);
  for (const llvm::json::Value &V :
       *Found.File.getAsObject()->getArray("traceEvents")) {
    const Object &E = *V.getAsObject();
    if (E.getString("ph") == "X") {
      Found.OfWaves[*E.getInteger("tid")].push_back(&E);
      ++Found.Count;
    } else {
      Found.Names.push_back(E.getString("name")->str());
      if (const Object *Arguments = E.getObject("args"))
        Found.Names.back() += " " + Arguments->getString("name")->str();
    }
  }
  return Found;
}

static const llvm::json::Array *warningsOf(const llvm::json::Value &V) {
  return V.getAsObject()->getArray("warnings");
}

TEST(Timeline, TheEventsOfAWaveFollowOneAnother) {
  const Events E = predicted("timeline");
  ASSERT_EQ(E.OfWaves.size(), size_t(Waves));
  for (const auto &[Wave, List] : E.OfWaves)
    for (size_t K = 1; K < List.size(); ++K)
      EXPECT_NEAR(*List[K - 1]->getNumber("ts") +
                      *List[K - 1]->getNumber("dur"),
                  *List[K]->getNumber("ts"), 1e-9)
          << "wave " << Wave << ", event " << K;
}

TEST(Timeline, WaitsStandAtTheInstructionsThatWait) {
  const Events E = predicted("timeline");
  std::set<std::string> At;
  for (const auto &[Wave, List] : E.OfWaves)
    for (const Object *X : List)
      if (const Object *A = X->getObject("args"))
        At.insert(X->getString("name")->str() + " at " +
                  A->getString("instruction")->str());
  EXPECT_TRUE(At.count("wait: scalar memory at s_waitcnt lgkmcnt(0)"));
  EXPECT_TRUE(At.count("wait: memory at s_waitcnt vmcnt(0)"));
  EXPECT_TRUE(At.count("wait: barrier at s_barrier"));
  EXPECT_TRUE(At.count("wait: memory at s_endpgm"));
}

TEST(Timeline, TheProcessSaysWhatItShows) {
  const Events E = predicted("timeline");
  ASSERT_FALSE(E.Names.empty());
  EXPECT_NE(E.Names[0].find("predicted on MI300X (model error on held-out"),
            std::string::npos);
  EXPECT_NE(E.Names[0].find("k, 1 of 3 workgroups"), std::string::npos);
  const Events Other = predicted("timeline", "gfx1100");
  ASSERT_FALSE(Other.Names.empty());
  EXPECT_NE(Other.Names[0].find("(uncalibrated)"), std::string::npos);
}

TEST(Timeline, NothingIsLeftOutUnsaid) {
  const Events All = predicted("timeline");
  EXPECT_FALSE(warningsOf(All.Prediction));
  const Events Some = predicted("timeline;timeline=10");
  EXPECT_EQ(Some.Count, 10u);
  const std::string LeftOut = std::to_string(All.Count - 10);
  // In the file, at the place, and for the tools.
  EXPECT_EQ(Some.Names.back(), "the timeline ends here: " + LeftOut +
                                   " further events are left out");
  const Object &Notes = *Some.File.getAsObject()->getObject("otherData");
  EXPECT_EQ(Notes.getArray("warnings")->size(), 1u);
  ASSERT_TRUE(warningsOf(Some.Prediction));
  const std::string Warning =
      warningsOf(Some.Prediction)->front().getAsString()->str();
  EXPECT_NE(Warning.find("leaves out " + LeftOut), std::string::npos);
  EXPECT_NE(Warning.find("timeline=" + std::to_string(All.Count)),
            std::string::npos);
  // With as many nothing is missing.
  EXPECT_EQ(predicted("timeline;timeline=" + std::to_string(All.Count)).Count,
            All.Count);
}

TEST(Timeline, ALimitIsANumberOfEvents) {
  useChip(Chip);
  EXPECT_EQ(lnbwdSimSetTiming("timeline=0"), -1);
  EXPECT_EQ(lnbwdSimSetTiming("timeline=many"), -1);
}
