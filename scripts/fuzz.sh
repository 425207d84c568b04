#!/usr/bin/env bash
# Fuzzes what comes from outside and is read by our own code, with libFuzzer and
# the sanitizers for addresses and undefined behaviour: compiled files with their
# plans, AMD code objects, machine code that is executed under all checks, the
# runner's command line. Builds in build-fuzz.
#
#   scripts/fuzz.sh [SECONDS]   seconds for each (20); LNBWD_FUZZ_SEED sets the seed
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seconds=${1:-20}
[[ $seconds =~ ^[0-9]+$ ]] || { echo "error: expected a number of seconds, got '$seconds'" >&2; exit 2; }
seed=${LNBWD_FUZZ_SEED:-$RANDOM$RANDOM}
usual_dir=${LNBWD_BUILD_DIR:-$source_dir/build}
# fuzzer-no-link: without the marks of what has been reached, libFuzzer keeps no
# input and takes none of the corpus.
configure_sanitized build-fuzz address,undefined,fuzzer-no-link \
  -DLNBWD_ENABLE_FUZZERS=ON -DLNBWD_ENABLE_COMPILER=OFF -DLNBWD_ENABLE_TESTS=OFF
build lnbwd-fuzz-program lnbwd-fuzz-options lnbwd-fuzz-code-object lnbwd-fuzz-instructions

corpus=$build_dir/corpus
mkdir -p "$corpus"/{program,options,code-object,instructions}
number=0
for chip in $(chips_of simulated); do
  file=$corpus/program/$chip
  [ -f "$file" ] || "$usual_dir/bin/lnbwd-run" --chip "$chip" --n 8 --m 1 --keep "$file" >/dev/null
  { printf "\\x$(printf %02x "$number")"; cat "$file"; } >"$corpus/code-object/$chip"
  # Pieces of the code of compiled kernels, this compiler's and clang's.
  for code in "$file" "$usual_dir/simulator/unittests/kernels/"*"$chip"-*; do
    [ -f "$code" ] || continue
    "$llvm_dir/bin/llvm-objcopy" -O binary --only-section=.text "$code" "$corpus/text"
    split -b 2044 "$corpus/text" "$corpus/piece-"
    for piece in "$corpus/piece-"*; do
      { printf "\\x$(printf %02x "$number")\\x00\\x00"; cat "$piece"; } \
        >"$corpus/instructions/$(basename "$code")-${piece##*-}"
    done
    rm "$corpus/piece-"*
  done
  number=$((number + 1))
done
printf -- '--n\n8\n--chip\n%s\n--m\n3\n--verify\n--init\nhuge' "$(chips_of default)" >"$corpus/options/one"
printf -- 'k.hsaco\n--shuffle-waves=3\n--check\n--json' >"$corpus/options/two"

# LLVM's packages are not instrumented; see scripts/sanitize.sh.
export ASAN_OPTIONS=allow_user_poisoning=0:detect_container_overflow=0:handle_segv=0
export LSAN_OPTIONS=suppressions=$source_dir/scripts/leak-suppressions.txt
status=0
echo "seed $seed"
for name in program options code-object instructions; do
  say "Fuzzing: $name, $seconds s"
  "$build_dir/bin/lnbwd-fuzz-$name" -max_total_time="$seconds" -timeout=30 -seed="$seed" \
    -rss_limit_mb=4096 -detect_leaks=0 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$build_dir/fuzz-$name-" "$corpus/$name" 2>&1 |
    tee "$build_dir/fuzz-$name.log" |
    grep -E 'stat::(number_of_executed|new)_units|ERROR|SUMMARY|Test unit' || status=1
  [ "${PIPESTATUS[0]}" -eq 0 ] || status=1
  if grep -q 'no interesting inputs were found' "$build_dir/fuzz-$name.log"; then
    echo "error: lnbwd-fuzz-$name is not instrumented: remove $build_dir and run again" >&2
    status=1
  fi
done
exit "$status"
