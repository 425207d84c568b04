#!/usr/bin/env bash
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs tests of Triton kernels on simulated AMD chips, as action.yml does:
#
#   amdgpu-test.sh CHIPS TESTS [SARIF]     e.g. gfx942,gfx1201 test/kernels out.sarif
#
# AMDGPU_PACKAGE is what pip installs; by default the wheel in the folder above, as
# a release has it, or else this checkout's simulator, which pip then builds.
set -euo pipefail
chips=${1:?expected chips, separated by commas}
tests=${2:?expected a folder or file of tests}
sarif=${3:-amdgpu.sarif}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
wheels=("$here"/lnbwd_sim-*.whl)
[ -e "${wheels[0]}" ] || wheels=("$here")
python3 -m pip install "${AMDGPU_PACKAGE:-${wheels[0]}[triton]}"
python3 -m pytest --amdgpu "$chips" --amdgpu-sarif "$sarif" --junitxml=amdgpu.xml "$tests"
