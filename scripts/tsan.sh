#!/usr/bin/env bash
# Many threads compiling, loading and launching at once under ThreadSanitizer:
# the compiler, the runtime and the simulator, and the simulator's own tests of
# launches. Builds in build-tsan.
#
# LLVM's and MLIR's packages are not instrumented: what they do to memory is not
# seen, their mutexes are, as calls into the C library. Their headers' code is,
# as part of ours. That has led to no false report so far, so that there is no
# list of suppressions; a race in our own code is seen wherever LLVM's locks do
# not happen to order the two threads.
#
#   scripts/tsan.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
takes_no_arguments "$@"

configure_sanitized build-tsan thread
build lnbwd-concurrency-tests lnbwd-sim-tests

status=0
say "Concurrency under ThreadSanitizer"
export LNBWD_SIM_CHECK=all TSAN_OPTIONS=halt_on_error=1
"$build_dir/bin/lnbwd-concurrency-tests" || status=1
# Not those whose kernels read or write device memory that another workgroup
# writes, rightly or as the fault to be found: here that is the host's, and the
# same to ThreadSanitizer as our own.
"$build_dir/bin/lnbwd-sim-tests" --gtest_brief=1 --gtest_filter="Launch.*:Hip*.*:*Checker*/$(chips_of default):\
-*ReadCheckedByACompareSwap*:*FlagsOfOtherWorkgroups*:*GlobalRaceBetweenWorkgroups*" || status=1
exit "$status"
