#!/usr/bin/env bash
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Measures the errors of the functions of row programs over all float32 numbers
# (docs/numerics.md), and holds them to their bounds. Builds one file, needs
# GoogleTest alone, and takes about an hour of one core; the tests run for one
# number in 4099.
#
#   scripts/math-errors.sh [FILTER]   e.g. scripts/math-errors.sh '*Erf'
set -euo pipefail
cd "$(dirname "$0")/.."

build=${LNBWD_BUILD_DIR:-build}
mkdir -p "$build"
# Nothing may be fused that the source does not fuse.
"${CXX:-c++}" -std=c++17 -O2 -march=native -ffp-contract=off \
  -o "$build/math-errors" unittests/Conversion/MathExpansionsTest.cpp \
  -lgtest -lgtest_main -lpthread
LNBWD_ALL_FLOATS=1 "$build/math-errors" --gtest_filter="${1:-*}"
