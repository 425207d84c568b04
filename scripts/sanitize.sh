#!/usr/bin/env bash
# Builds everything with the sanitizers for addresses and undefined behaviour,
# with assertions, and runs the lit suite, the unit tests and a part of the
# end-to-end grid; then fuzz.sh, which needs scripts/test.sh's build, and tsan.sh.
# Installs what is needed (Debian 12); builds in build-sanitize.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
takes_no_arguments "$@"

configure_sanitized build-sanitize address,undefined
build
make_venv pytest==9.2.0 numpy==2.4.6

# LLVM and MLIR come from Debian's packages, which are not instrumented. Their
# headers mark memory of arenas and containers as not to be touched in what we
# compile; the libraries use the same memory without lifting the marks.
export ASAN_OPTIONS=allow_user_poisoning=0:detect_container_overflow=0
export UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS=suppressions=$source_dir/scripts/leak-suppressions.txt

status=0
say "Unit tests (GoogleTest)"
ctest --test-dir "$build_dir" --output-on-failure -j "$(nproc)" |
  grep -vE '^ *(Start|[0-9]+/[0-9]+ Test .* Passed)' || status=1
say "lit"
"$llvm_dir/bin/lit" -s -v "$build_dir/test" "$build_dir/simulator/test" || status=1
say "End to end (pytest): three rows of each length, in each type, on a chip of each wave size"
LNBWD_TEST_BY_LNBWD_OPT=1 LNBWD_BUILD_DIR=$build_dir "$venv_dir/bin/python" -m pytest -q -p no:cacheprovider --full \
  -k "($(chips_of default) and not bf16 or $(chips_of many | sed 's/.* //') and bf16) and m3" "$source_dir/test/EndToEnd" || status=1

say "Loaders under libFuzzer"
"$source_dir/scripts/fuzz.sh" 20 || status=1
say "Threads under ThreadSanitizer"
"$source_dir/scripts/tsan.sh" || status=1

say "Total"
[ "$status" -eq 0 ] && echo "no finding" || echo "failures: see above"
exit "$status"
