//===- BreadthTest.cpp - Ordinary kernels of all kinds --------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of Inputs/breadth.c, compiled by clang for every chip (and for
// wave64 on gfx1100) at two levels, executed under all checks and compared with
// host code.
//
//===----------------------------------------------------------------------===//

#include "HalfFloats.h"
#include "HipTester.h"
#include "TestKernels.h"

#include <cmath>

using namespace lnbwd::sim;

namespace {
struct Target {
  const char *Chip;
  unsigned Wave;
  const char *Level;
};

class Breadth : public ::testing::TestWithParam<Target> {
protected:
  void SetUp() override {
    const Target &T = GetParam();
    useChip(T.Chip);
    Before = lnbwdSimGetChecks();
    lnbwdSimSetChecks(LNBWD_SIM_CHECK_ALL);
    const auto Bytes = testKernels(std::string("breadth-") + T.Chip + "-" +
                                   std::to_string(T.Wave) + "-" + T.Level);
    if (Bytes.empty())
      GTEST_SKIP() << NoTestKernels;
    Module = std::make_unique<LoadedModule>(Bytes);
  }
  void TearDown() override {
    Module.reset();
    lnbwdSimSetChecks(Before);
  }
  bool has(const char *Name) {
    hipFunction_t F;
    bool Found = hipModuleGetFunction(&F, Module->get(), Name) == hipSuccess;
    (void)hipGetLastError();
    return Found;
  }
  hipFunction_t function(const char *Name) { return Module->function(Name); }
  std::string chip() const { return GetParam().Chip; }
  unsigned wave() const { return GetParam().Wave; }
  template <typename T, typename Result, typename F>
  void checkProduct(const char *Name, int Size, int K, F Convert);

  /// The checks of other tests.
  unsigned Before = 0;
  std::unique_ptr<LoadedModule> Module;
  unsigned Products = 0; ///< of matrices that were checked
};
} // namespace

static uint32_t next(uint32_t &State) {
  State = State * 1664525 + 1013904223;
  return State >> 8;
}

TEST_P(Breadth, Scan) {
  std::vector<uint32_t> X(3 * 256);
  uint32_t Seed = 1;
  for (uint32_t &V : X)
    V = next(Seed);
  Buffer<uint32_t> In(X), Out(X.size());
  ASSERT_HIP(launch(function("scan"), 3, 256, 0, In.get(), Out.get()));
  std::vector<uint32_t> Got = Out.read();
  uint32_t Sum = 0;
  for (size_t I = 0; I < X.size(); ++I) {
    Sum = (I % 256 ? Sum : 0) + X[I];
    ASSERT_EQ(Got[I], Sum) << I;
  }
}

TEST_P(Breadth, PackedArithmetic) {
  std::vector<uint16_t> X(128), Z(128);
  uint32_t Seed = 2;
  for (size_t I = 0; I < 128; ++I) {
    X[I] = toHalf(int(next(Seed) % 401) - 200);
    Z[I] = toBFloat(int(next(Seed) % 31) - 15);
  }
  Buffer<uint16_t> InX(X), InZ(Z), OutX(128), OutZ(128);
  ASSERT_HIP(launch(function("packed"), 1, 64, 0, InX.get(), InZ.get(),
                    OutX.get(), OutZ.get()));
  std::vector<uint16_t> GotX = OutX.read(), GotZ = OutZ.read();
  for (size_t I = 0; I < 128; ++I) {
    float V = fromHalf(X[I]);
    float Wanted = I % 2 ? -0.5f * V + 2.0f : 1.5f * V + 0.25f;
    Wanted = std::max(Wanted, 0.0f);
    EXPECT_NEAR(fromHalf(GotX[I]), Wanted, std::fabs(Wanted) * 0x1p-10) << I;
    float S = fromBFloat(Z[I]);
    EXPECT_NEAR(fromBFloat(GotZ[I]), S * S + S, std::fabs(S * S + S) * 0x1p-7)
        << I;
  }
}

TEST_P(Breadth, BufferLoads) {
  std::vector<uint32_t> X(1024);
  uint32_t Seed = 3;
  for (uint32_t &V : X)
    V = next(Seed);
  Buffer<uint32_t> In(X), Out(std::vector<uint32_t>(1024, 7));
  // The last six of 256 items are out of range.
  ASSERT_HIP(
      launch(function("buffers"), 4, 64, 0, In.get(), Out.get(), 250 * 16));
  std::vector<uint32_t> Got = Out.read();
  for (size_t I = 0; I < 1024; ++I) {
    uint32_t Wanted = X[I] + (I % 4 == 0 ? X[I + 1] : 0);
    EXPECT_EQ(Got[I], I < 1000 ? Wanted : 7) << I;
  }
}

TEST_P(Breadth, Integers64) {
  std::vector<uint64_t> A(64), B(64);
  uint32_t Seed = 4;
  for (size_t I = 0; I < 64; ++I) {
    A[I] = uint64_t(next(Seed)) << 40 ^ uint64_t(next(Seed)) << 17 ^ next(Seed);
    B[I] = (uint64_t(next(Seed)) << 40 ^ next(Seed)) >> (I % 60);
  }
  Buffer<uint64_t> InA(A), InB(B), Out(256);
  ASSERT_HIP(launch(function("integers64"), 1, 64, 0, InA.get(), InB.get(),
                    Out.get()));
  std::vector<uint64_t> Got = Out.read();
  for (size_t I = 0; I < 64; ++I) {
    uint64_t X = A[I], Z = B[I];
    EXPECT_EQ(Got[4 * I], X * Z + (X >> (Z & 63)) - (X << (X & 31)));
    EXPECT_EQ(Got[4 * I + 1], X / (Z | 1));
    EXPECT_EQ(Got[4 * I + 2], uint64_t(int64_t(X) % (int64_t(Z) | 1)));
    uint64_t P = X | 1, Q = Z | 1;
    while (Q) {
      uint64_t T = P % Q;
      P = Q;
      Q = T;
    }
    EXPECT_EQ(Got[4 * I + 3], P);
  }
}

TEST_P(Breadth, EarlyExit) {
  std::vector<int> X(300);
  uint32_t Seed = 5;
  for (int &V : X)
    V = int(next(Seed) % 1000) - 300;
  Buffer<int> In(X), Out(std::vector<int>(512, -7));
  ASSERT_HIP(launch(function("early_exit"), 1, 256, 0, In.get(), Out.get(),
                    int(X.size())));
  std::vector<int> Got = Out.read();
  for (int I = 0; I < 256; ++I) {
    int Found = -1, Seen = 0;
    for (int K = 0; K < int(X.size()); ++K) {
      int V = X[size_t(K)];
      if (V < 0)
        continue;
      ++Seen;
      if (V % 7 == I % 7 && V > I) {
        Found = K;
        break;
      }
      if (Seen > 40)
        break;
    }
    EXPECT_EQ(Got[size_t(2 * I)], I < 200 ? Found : -7) << I;
    EXPECT_EQ(Got[size_t(2 * I + 1)], I < 200 ? Seen : -7) << I;
  }
}

static int mix(const int *Table, int N, int Depth) {
  int Local[8];
  for (int I = 0; I < 8; ++I)
    Local[I] = Table[(I * 3 + Depth) % N];
  if (Depth == 0)
    return Local[N & 7];
  Local[Depth & 7] += Depth;
  return mix(Local, 8, Depth - 1) + Local[N & 7];
}

TEST_P(Breadth, CallsWithScratch) {
  std::vector<int> X(96);
  for (size_t I = 0; I < X.size(); ++I)
    X[I] = int(I * 7 % 31);
  Buffer<int> In(X);
  ASSERT_HIP(launch(function("calls_scratch"), 1, 96, 0, In.get(), 3));
  std::vector<int> Got = In.read();
  for (size_t I = 0; I < X.size(); ++I) {
    int Table[16];
    for (int K = 0; K < 16; ++K)
      Table[K] = X[I] * K + K;
    EXPECT_EQ(Got[I], mix(Table, 16, 3)) << I;
  }
}

TEST_P(Breadth, Ballots) {
  std::vector<uint32_t> X(192);
  uint32_t Seed = 6;
  for (uint32_t &V : X)
    V = next(Seed);
  Buffer<uint32_t> In(X), Out(384);
  ASSERT_HIP(launch(function("ballots"), 1, 192, 0, In.get(), Out.get()));
  std::vector<uint32_t> Got = Out.read();
  for (size_t I = 0; I < 192; ++I) {
    uint32_t Count = 0, Sum = 0;
    for (size_t L = I / wave() * wave(), K = 0; K < wave(); ++K, ++L) {
      Count += X[L] & 1;
      Sum += X[L];
    }
    EXPECT_EQ(Got[2 * I], Count) << I;
    EXPECT_EQ(Got[2 * I + 1], Sum) << I;
  }
}

TEST_P(Breadth, Tickets) {
  Buffer<uint32_t> Counter(1), Taken(256);
  Buffer<int> Largest(1);
  Buffer<float> Sum(1);
  ASSERT_HIP(launch(function("tickets"), 4, 64, 0, Counter.get(), Taken.get(),
                    Largest.get(), Sum.get()));
  std::vector<uint32_t> Got = Taken.read();
  std::sort(Got.begin(), Got.end());
  for (uint32_t I = 0; I < 256; ++I)
    EXPECT_EQ(Got[I], I);
  EXPECT_EQ(Counter.read()[0], 256u);
  EXPECT_EQ(Largest.read()[0], 255);
  EXPECT_EQ(Sum.read()[0], 128.0f);
}

/// Integers whose products and sums are exact in every type.
static std::vector<int> matrix(size_t Count, uint32_t Seed) {
  std::vector<int> X(Count);
  for (int &V : X)
    V = int(next(Seed) % 15) - 7;
  return X;
}
template <typename T, typename F>
static std::vector<T> converted(const std::vector<int> &X, F Function) {
  std::vector<T> Y;
  Y.reserve(X.size());
  for (int V : X)
    Y.push_back(T(Function(V)));
  return Y;
}

/// C = A (S × K, row-major) * B (K × S, column-major), checked exactly where
/// there is such a kernel.
template <typename T, typename Result, typename F>
void Breadth::checkProduct(const char *Name, int Size, int K, F Convert) {
  if (!has(Name))
    return;
  SCOPED_TRACE(Name);
  ++Products;
  auto A = matrix(size_t(Size) * size_t(K), 7),
       B = matrix(size_t(Size) * size_t(K), 8);
  Buffer<T> InA(converted<T>(A, Convert)), InB(converted<T>(B, Convert));
  Buffer<Result> Out(size_t(Size) * size_t(Size));
  ASSERT_HIP(
      launch(function(Name), 1, wave(), 0, InA.get(), InB.get(), Out.get(), K));
  std::vector<Result> Got = Out.read();
  for (int I = 0; I < Size; ++I)
    for (int J = 0; J < Size; ++J) {
      int Sum = 0;
      for (int D = 0; D < K; ++D)
        Sum += A[size_t(I * K + D)] * B[size_t(J * K + D)];
      ASSERT_EQ(Got[size_t(I * Size + J)], Result(Sum)) << I << ", " << J;
    }
}

TEST_P(Breadth, MatrixProducts) {
  auto Same = [](int X) { return X; };
  checkProduct<uint16_t, float>("gemm_f16", 16, 64, toHalf);
  checkProduct<uint16_t, float>("gemm_bf16", 16, 64, toBFloat);
  checkProduct<uint16_t, float>("gemm_f16_32", 32, 32, toHalf);
  checkProduct<uint16_t, float>("gemm_f16_deep", 16, 64, toHalf);
  checkProduct<uint16_t, float>("gemm_bf16_deep", 16, 64, toBFloat);
  checkProduct<float, float>("gemm_f32", 16, 32, Same);
  checkProduct<double, double>("gemm_f64", 16, 32, Same);
  checkProduct<int8_t, int>("gemm_i8", 16, 64, Same);
  // gfx1201 has no such kernel for wave64, and gfx1030 has no such
  // instructions; of gfx908's, only those that later chips have are known.
  const bool HasNone = chip() == "gfx908" || chip() == "gfx1030";
  EXPECT_GE(Products, HasNone            ? 0u
                      : chip()[3] == '9' ? 6u
                      : wave() == 64     ? 1u
                                         : 3u);
}

TEST_P(Breadth, MatrixBlocks) {
  if (!has("gemm_blocks"))
    GTEST_SKIP();
  auto A = matrix(256, 9), B = matrix(256, 10);
  Buffer<uint16_t> InA(converted<uint16_t>(A, toHalf)),
      InB(converted<uint16_t>(B, toHalf));
  Buffer<float> Out(256);
  ASSERT_HIP(launch(function("gemm_blocks"), 1, 64, 0, InA.get(), InB.get(),
                    Out.get()));
  std::vector<float> Got = Out.read();
  for (size_t Block = 0; Block < 16; ++Block)
    for (size_t I = 0; I < 4; ++I)
      for (size_t J = 0; J < 4; ++J) {
        int Sum = 0;
        for (size_t K = 0; K < 4; ++K)
          Sum += A[Block * 16 + I * 4 + K] * B[Block * 16 + J * 4 + K];
        ASSERT_EQ(Got[Block * 16 + I * 4 + J], float(Sum));
      }
}

INSTANTIATE_TEST_SUITE_P(
    AllChips, Breadth,
    ::testing::Values(Target{"gfx908", 64, "O0"}, Target{"gfx908", 64, "O2"},
                      Target{"gfx1030", 32, "O0"}, Target{"gfx1030", 32, "O2"},
                      Target{"gfx90a", 64, "O0"}, Target{"gfx90a", 64, "O2"},
                      Target{"gfx942", 64, "O0"}, Target{"gfx942", 64, "O2"},
                      Target{"gfx950", 64, "O0"}, Target{"gfx950", 64, "O2"},
                      Target{"gfx1100", 32, "O0"}, Target{"gfx1100", 32, "O2"},
                      Target{"gfx1100", 64, "O0"}, Target{"gfx1100", 64, "O2"},
                      Target{"gfx1201", 32, "O0"}, Target{"gfx1201", 32, "O2"}),
    [](const auto &Info) {
      return std::string(Info.param.Chip) + "_wave" +
             std::to_string(Info.param.Wave) + "_" + Info.param.Level;
    });
