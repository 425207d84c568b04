#!/usr/bin/env bash
# Many threads loading and launching at once under ThreadSanitizer: the runtime
# and the simulator, and the simulator's own tests of launches. Builds in
# build-tsan, without the compiler (LLVM's packages are not instrumented, so that
# its locks would not be seen); the kernels come from the usual build.
#
#   scripts/tsan.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usual_dir=${LNBWD_BUILD_DIR:-$source_dir/build}
build_dir=$source_dir/build-tsan
install_packages libclang-rt-22-dev
kernels=$(mktemp -d)
trap 'rm -rf "$kernels"' EXIT
for chip in gfx90a gfx942 gfx950 gfx1100 gfx1201; do
  "$usual_dir/bin/lnbwd-run" --chip "$chip" --n 96 --m 1 --keep "$kernels/$chip.hsaco" >/dev/null
done

if [ ! -f "$build_dir/build.ninja" ]; then
  configure -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DLNBWD_SANITIZERS=thread -DLNBWD_ENABLE_COMPILER=OFF \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O1 -DCMAKE_CXX_FLAGS_DEBUG=-O1
fi
build lnbwd-concurrency-tests lnbwd-sim-tests

status=0
say "Concurrency under ThreadSanitizer"
LNBWD_TEST_KERNELS=$kernels LNBWD_SIM_CHECK=all TSAN_OPTIONS=halt_on_error=1 \
  "$build_dir/bin/lnbwd-concurrency-tests" || status=1
LNBWD_SIM_CHECK=all TSAN_OPTIONS=halt_on_error=1 \
  "$build_dir/bin/lnbwd-sim-tests" --gtest_brief=1 --gtest_filter='Launch.*:Hip*.*:*Checker*/gfx942' || status=1
exit "$status"
