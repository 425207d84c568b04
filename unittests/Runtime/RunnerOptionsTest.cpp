//===- RunnerOptionsTest.cpp - The runner's command line ------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "Options.h"
#include "TestPrograms.h"

#include "gtest/gtest.h"

#include <vector>

using namespace lnbwd::run;
using lnbwd::Element;

static Options parse(std::vector<const char *> arguments) {
  arguments.insert(arguments.begin(), "lnbwd-run");
  return parseOptions(static_cast<int>(arguments.size()), arguments.data());
}

static std::string refusal(const std::vector<const char *> &arguments) {
  try {
    parse(arguments);
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.exitCode(), BadInput);
    EXPECT_CONTAINS(failure.what(), "See lnbwd-run --help.");
    return failure.what();
  }
  return {};
}

namespace {

TEST(RunnerOptionsTest, ReadsAKernelFileAndItsOptions) {
  Options options =
      parse({"k.hsaco", "--m", "512", "--device=sim:gfx942", "--init",
             "large-mean", "--seed", "18446744073709551615", "--verify",
             "--time", "--json", "--eps", "1e-6"});
  EXPECT_EQ(options.kernelFile, "k.hsaco");
  EXPECT_EQ(options.rows, 512);
  EXPECT_EQ(options.device, "sim:gfx942");
  EXPECT_EQ(options.init, Init::LargeMean);
  EXPECT_EQ(options.seed, UINT64_MAX);
  EXPECT_EQ(options.epsilon, 1e-6);
  EXPECT_TRUE(options.verify && options.time && options.json);
}

TEST(RunnerOptionsTest, DefaultsAreModest) {
  Options options = parse({"k.hsaco"});
  EXPECT_EQ(options.rows, 1024);
  EXPECT_EQ(options.device, "");
  EXPECT_EQ(options.init, Init::Normal);
  EXPECT_FALSE(options.verify || options.time || options.json);
}

TEST(RunnerOptionsTest, ReadsWhatToCompile) {
  Options options = parse({"--n=1024", "--dtype", "bf16", "--chip", "gfx942",
                           "--schedule", "a=1,b=2", "--keep", "k.hsaco"});
  EXPECT_EQ(options.kernelFile, "");
  EXPECT_EQ(options.columns, 1024);
  EXPECT_EQ(options.format, Element::BF16);
  EXPECT_EQ(options.parameterFormat, Element::BF16);
  EXPECT_EQ(options.chip, "gfx942");
  EXPECT_EQ(options.schedule, "a=1,b=2");
  EXPECT_EQ(options.keepFile, "k.hsaco");
}

TEST(RunnerOptionsTest, TakesThreeNumbers) {
  Options options = parse({"1", "2", "1"});
  EXPECT_TRUE(options.verify && options.time);
  EXPECT_EQ(options.init, Init::Uniform);
  EXPECT_EQ(options.rows, 1024);
  EXPECT_EQ(options.columns, 512);
  EXPECT_EQ(options.chip, "gfx942");
  EXPECT_EQ(options.format, Element::F32);
  options = parse({"0", "1", "0", "--chip", "gfx1100", "--dtype", "f16", "--m",
                   "8", "--n", "511"});
  EXPECT_FALSE(options.verify || options.time);
  EXPECT_EQ(options.init, Init::Integers);
  EXPECT_EQ(options.rows, 8);
  EXPECT_EQ(options.columns, 511);
  EXPECT_EQ(options.chip, "gfx1100");
  EXPECT_EQ(options.format, Element::F16);
  options = parse({"k.hsaco", "1", "0", "0"});
  EXPECT_EQ(options.kernelFile, "k.hsaco");
  EXPECT_TRUE(options.verify && !options.time);
  EXPECT_EQ(options.init, Init::Zeros);
  EXPECT_CONTAINS(refusal({"2", "1", "1"}), "VERIFY: expected 0 or 1, got '2'");
  EXPECT_CONTAINS(refusal({"1", "3", "1"}),
                  "INIT: expected 0, 1 or 2, got '3'");
  EXPECT_CONTAINS(refusal({"1", "2", "x"}), "TIME: expected 0 or 1, got 'x'");
  EXPECT_CONTAINS(
      refusal({"1", "2", "1", "--verify"}),
      "expected --verify or the numbers VERIFY INIT TIME, got both");
}

TEST(RunnerOptionsTest, RefusesWhatItDoesNotUnderstand) {
  EXPECT_CONTAINS(refusal({}), "got no --n");
  EXPECT_CONTAINS(refusal({"--n", "64"}), "got no --chip");
  EXPECT_CONTAINS(refusal({"k", "--frobnicate"}),
                  "unknown option '--frobnicate'");
  EXPECT_CONTAINS(refusal({"k", "-x"}), "unknown option '-x'");
  EXPECT_CONTAINS(refusal({"k", "--m"}), "--m: expected a value (M)");
  EXPECT_CONTAINS(refusal({"k", "--device="}), "got an empty one");
  EXPECT_CONTAINS(refusal({"k", "--verify=1"}), "--verify takes no value");
  for (const char *number : {"x", "1x", "-1", "1.5", "9223372036854775808"})
    EXPECT_CONTAINS(refusal({"k", "--m", number}), "--m: expected an integer");
  EXPECT_CONTAINS(refusal({"--n", "0", "--chip", "c"}), "of 1 or more");
  EXPECT_CONTAINS(refusal({"k", "--seed", "-1"}), "--seed");
  for (const char *number : {"x", "-1", "nan", "inf", "1e-5x"})
    EXPECT_CONTAINS(refusal({"k", "--eps", number}), "--eps");
  EXPECT_CONTAINS(refusal({"k", "--init", "random"}),
                  "expected one of normal, uniform");
  EXPECT_CONTAINS(refusal({"--n", "1", "--chip", "c", "--dtype", "f64"}),
                  "expected f16, bf16 or f32, got 'f64'");
  for (const char *outputs : {",", "dx,", "dy", "dx,,dbeta"})
    EXPECT_CONTAINS(refusal({"--n", "1", "--chip", "c", "--outputs", outputs}),
                    "expected some of dx,dgamma,dbeta");
}

TEST(RunnerOptionsTest, RefusesContradictions) {
  EXPECT_CONTAINS(refusal({"k", "--n", "64"}), "is compiled already");
  EXPECT_CONTAINS(refusal({"k", "--keep", "f"}), "is compiled already");
  EXPECT_CONTAINS(refusal({"op.mlir", "--m", "4", "--chip", "gfx942"}),
                  "expected a compiled kernel, got 'op.mlir'; compile it: "
                  "lnbwd-opt op.mlir --lnbwd-pipeline=\"chip=");
  EXPECT_CONTAINS(refusal({"a", "b"}), "got 2 arguments");
}

TEST(RunnerOptionsTest, HelpNamesEveryOptionAndInit) {
  EXPECT_TRUE(parse({"--help"}).help);
  EXPECT_TRUE(parse({"-h", "a", "b"}).help);
  EXPECT_TRUE(parse({"--version"}).version);
  std::string text = helpText();
  for (const char *name :
       {"--m", "--device", "--init", "--seed", "--eps", "--verify", "--time",
        "--json", "--help", "--version", "--n", "--dtype", "--param-dtype",
        "--chip", "--schedule", "--no-gamma", "--outputs", "--keep",
        "Exit code"})
    EXPECT_CONTAINS(text, name);
  for (const InitDescription &init : initDescriptions())
    EXPECT_CONTAINS(text, init.name);
}

TEST(RunnerCompilerTest, WritesEveryOption) {
  std::string text = kernelMlir(
      parse({"--n", "8", "--chip", "c", "--op", "rms_norm_bwd", "--statistics",
             "output", "--residual", "f32", "--dtype", "bf16", "--row-stride",
             "16", "--accumulate", "--zero-centred-gamma", "--eps", "0.5"}));
  EXPECT_CONTAINS(text, "lnbwd.rms_norm_bwd dy(%dy : memref<?x8xbf16, "
                        "strided<[16, 1]>>) y(%y : ");
  EXPECT_CONTAINS(text, "rstd(%rstd : memref<?xf32>) dsum(%dsum : "
                        "memref<?x8xf32, strided<[16, 1]>>) outs dx(");
  EXPECT_CONTAINS(text, "dgamma(%dgamma : memref<8xf32>) {epsilon = "
                        "5.00000000000000000e-01 : f64, zero_centred_gamma, "
                        "accumulate}");
}

TEST(RunnerCompilerTest, RefusesOptionsThatContradict) {
  std::string unknown = refusal({"--n", "8", "--chip", "c", "--op", "softmax"});
  EXPECT_CONTAINS(unknown, "expected one of layer_norm, rms_norm, ");
  EXPECT_CONTAINS(unknown, ", got 'softmax'");
  EXPECT_CONTAINS(refusal({"--n", "8", "--chip", "c", "--op", "rms_norm",
                           "--outputs", "mean"}),
                  "--outputs: expected some of y,rstd separated by commas, "
                  "got 'mean'");
  EXPECT_CONTAINS(
      refusal({"--n", "8", "--chip", "c", "--op", "rms_norm", "--accumulate"}),
      "--accumulate is for a gradient");
  EXPECT_CONTAINS(refusal({"--n", "8", "--chip", "c", "--row-stride", "7"}),
                  "--row-stride: expected at least the 8 of --n, got 7");
}

TEST(RunnerCompilerTest, WritesTheOperation) {
  EXPECT_EQ(
      kernelMlir(parse({"--n", "8", "--chip", "c", "--dtype", "bf16"})),
      "func.func @layer_norm_bwd(%dy: memref<?x8xbf16>, %x: "
      "memref<?x8xbf16>, %gamma: memref<8xbf16>, %mean: memref<?xf32>, "
      "%rstd: memref<?xf32>, %dx: memref<?x8xbf16>, %dgamma: memref<8xbf16>, "
      "%dbeta: memref<8xbf16>) {\n"
      "  lnbwd.layer_norm_bwd dy(%dy : memref<?x8xbf16>) x(%x : "
      "memref<?x8xbf16>) gamma(%gamma : memref<8xbf16>) mean(%mean : "
      "memref<?xf32>) rstd(%rstd : memref<?xf32>) outs dx(%dx : "
      "memref<?x8xbf16>) dgamma(%dgamma : memref<8xbf16>) dbeta(%dbeta : "
      "memref<8xbf16>)\n"
      "  return\n}\n");
  std::string text =
      kernelMlir(parse({"--n", "8", "--chip", "c", "--no-gamma", "--outputs",
                        "dbeta", "--dtype", "f16", "--param-dtype", "f32"}));
  EXPECT_CONTAINS(text, "outs dbeta(%dbeta : memref<8xf32>)");
  EXPECT_EQ(text.find("gamma"), std::string::npos);
  EXPECT_EQ(text.find("dx"), std::string::npos);
}

} // namespace
