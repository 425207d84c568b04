#!/usr/bin/env bash
# Installs what is needed (Debian 12), builds, and runs every test: unit tests,
# lit, the Python package's, and the end-to-end grid. Ends with one line,
# "N passed, N failed".
#
#   scripts/test.sh          of many cases that are alike, a sample
#   scripts/test.sh --full   all cases, fuzzers and packs
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

pytest_flags=()
lit_flags=()
for argument in "$@"; do
  case $argument in
  --full) pytest_flags+=(--full) lit_flags+=(--param full); export LNBWD_TEST_FULL=1 ;;
  *) echo "error: unknown argument '$argument', expected --full" >&2; exit 2 ;;
  esac
done

install_packages clang-format-22 git
make_venv pytest==9.2.0 pytest-xdist==3.8.0 numpy==2.4.6 torch==2.13.0 hypothesis==6.170.15 \
  nbclient==0.11.0 nbformat==5.11.1 ipykernel==7.4.0 matplotlib==3.11.2 ruff==0.17.5 mypy==2.4.1 \
  transformers==5.23.0 triton==3.9.0
# Beside it and not in it: torchvision's operators are for another build of
# PyTorch, and transformers would import it (test/python/timm_models.py).
if [ ! -d "$build_dir/beside/timm" ]; then
  "$venv_dir/bin/python" -m pip install -q --disable-pip-version-check --no-deps \
    --target "$build_dir/beside" timm==1.0.31 torchvision==0.28.0
fi
# After the environment: its PyTorch is the one whose headers lib/Torch is built with.
configure
build

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
# A lane is a shell that runs suites one after another; two run side by side.
begin_lane() {
  lane=$BASHPID
  seconds=$SECONDS
  used=0
}
# What all that the lane started, and waited for, has taken of the processor.
processor_seconds() { awk -v ticks="$(getconf CLK_TCK)" '{printf "%d", ($16 + $17) / ticks}' "/proc/$lane/stat"; }
# Keeps what a suite counted, and says what it took. A suite that fails without
# counting a failure, or that counts nothing, is one failure.
count() { # name, exit code, passed, failed
  local name=$1 code=$2 ok=${3:-0} bad=${4:-0} now
  if [ "$code" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  if [ "$ok" -eq 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  echo "$ok $bad" >>"$results/counts"
  now=$(processor_seconds)
  echo "$name: $ok passed, $bad failed; $((SECONDS - seconds)) s, $((now - used)) s of the processor"
  seconds=$SECONDS
  used=$now
}
check() { # name, command: passes or fails
  local name=$1 code=0
  shift
  say "$name"
  (cd "$source_dir" && "$@") || code=$?
  count "$name" "$code" "$((code == 0))" "$((code != 0))"
}
# What LNBWD_SIM_COVERAGE is: coverage.md in the build folder is made of it.
executed=$results/executed
# The simulator's unit tests are many and short, and a process takes longer to
# start than most of them to run: several in each.
run_shard() { # index, number of shards; names the test if the process dies
  local output code=0
  output=$(GTEST_SHARD_INDEX=$1 GTEST_TOTAL_SHARDS=$2 LNBWD_SIM_CHECK=all \
    LNBWD_SIM_COVERAGE=$executed "$build_dir/bin/lnbwd-sim-tests" 2>&1) || code=$?
  if [ "$code" -eq 0 ]; then
    grep ' ran\. ' <<<"$output"
  else
    grep -vE '^\[( RUN      |       OK )\]' <<<"$output"
    echo "exit code $code after: $(tail -n 1 <<<"$output")"
  fi
  return "$code"
}
format() { git ls-files '*.cpp' '*.h' '*.h.in' '*.c' | xargs -n 16 -P "$(nproc)" clang-format-22 --dry-run --Werror; }
export -f run_shard
export build_dir executed

programs() {
  local log=$results/log code total ok bad shards=$((16 * $(nproc)))
  begin_lane
  check "clang-format" format
  check "ruff" "$venv_dir/bin/ruff" check -q --cache-dir "$build_dir/.ruff-cache"

  say "Unit tests (GoogleTest)"
  code=0
  seq 0 $((shards - 1)) | xargs -P "$(nproc)" -I{} bash -c "run_shard {} $shards" | tee "$log" |
    { grep -v '^\[==' || true; } || code=$?
  total=$(sed -nE 's/^\[==.*\] ([0-9]+) tests? from .* ran\. .*/\1/p' "$log" | awk '{s += $1} END {print s + 0}')
  bad=$(sed -nE 's/^ *([0-9]+) FAILED TESTS?$/\1/p' "$log" | awk '{s += $1} END {print s + 0}')
  count "unit tests of the simulator" "$code" "$((total - bad))" "$bad"
  if [ "$code" -eq 0 ]; then
    check "coverage of instructions" "$venv_dir/bin/python" simulator/scripts/coverage.py --executed "$executed"
  fi

  code=0
  ctest --test-dir "$build_dir" -LE simulator --output-on-failure -j"$(nproc)" 2>&1 | tee "$log" |
    { grep -vE '^ *(Start|[0-9]+/[0-9]+ Test .* Passed)' || true; } || code=$?
  total=$(sed -nE 's/.*tests failed out of ([0-9]+).*/\1/p; s/.*([0-9]+) tests? failed out of ([0-9]+).*/\2/p' "$log" | tail -n 1)
  bad=$(sed -nE 's/.*, ([0-9]+) tests? failed out of [0-9]+.*/\1/p' "$log" | tail -n 1)
  count "other unit tests" "$code" "$((${total:-0} - ${bad:-0}))" "${bad:-0}"

  say "lit"
  code=0
  "$llvm_dir/bin/lit" -s -v "${lit_flags[@]}" "$build_dir/test" "$build_dir/simulator/test" 2>&1 | tee "$log" || code=$?
  ok=$(sed -nE 's/^ *Passed *: *([0-9]+).*/\1/p' "$log" | tail -n 1)
  bad=$(sed -nE 's/^ *(Failed|Unresolved|Timed Out|Unexpectedly Passed) *: *([0-9]+).*/\2/p' "$log" | awk '{s += $1} END {print s + 0}')
  count "lit" "$code" "${ok:-0}" "$bad"

  check "mypy" "$venv_dir/bin/mypy" --cache-dir "$build_dir/.mypy-cache"
}

# Says how far pytest is, of what it prints, where test.sh prints.
exec 3>&1
say_progress() {
  local percent=0 said=0
  sed -unE 's/.*\[ *([0-9]+)%\]$/\1/p' | while read -r percent; do
    if [ $((percent / 5)) -gt $((said / 5)) ]; then echo "Python tests: $percent %" >&3; fi
    said=$percent
  done
}

python_tests() {
  local log=$results/pytest code=0 summary ok bad
  begin_lane
  # A process that dies ends the run: another in its place may wait for ever. Files
  # go in their order: those with few tests are not the short ones.
  LNBWD_BUILD_DIR=$build_dir "$venv_dir/bin/python" -m pytest -q -p no:cacheprovider \
    --numprocesses="$(nproc)" --max-worker-restart=0 --dist=loadfile --no-loadscope-reorder \
    "${pytest_flags[@]}" "$source_dir/simulator/test" "$source_dir/test" 2>&1 | tee "$log" | say_progress || code=$?
  say "Python tests (pytest)"
  cat "$log"
  summary=$(tail -n 1 "$log")
  ok=$(sed -nE 's/(^|.* )([0-9]+) passed.*/\2/p' <<<"$summary")
  bad=$(sed -nE 's/(^|.* )([0-9]+) (failed|error).*/\2/p' <<<"$summary")
  count "pytest" "$code" "${ok:-0}" "${bad:-0}"
}

# Side by side, so that no core is idle behind the last long test of a suite. A lane
# that ends early is a failure.
(python_tests) >"$results/python" 2>&1 &
python_job=$!
(programs) || echo "0 1" >>"$results/counts"
wait "$python_job" || echo "0 1" >>"$results/counts"
cat "$results/python"

say "Total"
read -r passed failed < <(awk '{p += $1; f += $2} END {print p, f}' "$results/counts")
echo "$SECONDS s with the build"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
