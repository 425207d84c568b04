#!/usr/bin/env bash
# Installs what is needed (Debian 12), builds, and runs every test: unit tests,
# lit, the Python package's, and the end-to-end grid. Ends with one line,
# "N passed, N failed".
#
#   scripts/test.sh          a sample of the end-to-end grid, and of the bars
#   scripts/test.sh --full   all of both
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

pytest_flags=()
lit_flags=()
for argument in "$@"; do
  case $argument in
  --full) pytest_flags+=(--full) lit_flags+=(--param full) ;;
  -h | --help) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  *) echo "error: unknown argument '$argument', expected --full" >&2; exit 2 ;;
  esac
done

install_packages clang-format-22
make_venv pytest==9.2.0 pytest-xdist==3.8.0 numpy==2.4.6 torch==2.13.0 hypothesis==6.170.15 \
  nbclient==0.11.0 nbformat==5.11.1 ipykernel==7.4.0 matplotlib==3.11.2 ruff==0.17.5 mypy==2.4.1 \
  transformers==5.23.0
# Beside it and not in it: torchvision's operators are for another build of
# PyTorch, and transformers would import it (test/python/timm_models.py).
if [ ! -d "$build_dir/beside/timm" ]; then
  "$venv_dir/bin/python" -m pip install -q --disable-pip-version-check --no-deps \
    --target "$build_dir/beside" timm==1.0.31 torchvision==0.28.0
fi
# After the environment: its PyTorch is the one whose headers lib/Torch is built with.
configure
build

passed=0
failed=0
# What all that this script started, and waited for, has taken of the processor.
processor_seconds() { awk -v ticks="$(getconf CLK_TCK)" '{printf "%d", ($16 + $17) / ticks}' "/proc/$$/stat"; }
seconds=$SECONDS
used=$(processor_seconds)
# Adds what a suite counted, and says what it took. A suite that fails without
# counting a failure, or that counts nothing, is one failure.
count() { # name, exit code, passed, failed
  local name=$1 code=$2 ok=${3:-0} bad=${4:-0}
  if [ "$code" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  if [ "$ok" -eq 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  passed=$((passed + ok))
  failed=$((failed + bad))
  local now
  now=$(processor_seconds)
  echo "$name: $ok passed, $bad failed; $((SECONDS - seconds)) s, $((now - used)) s of the processor"
  seconds=$SECONDS
  used=$now
}
log=$(mktemp)
executed=$(mktemp)
types=$(mktemp)
trap 'rm -f "$log" "$executed" "$types"' EXIT

# One process, so that it runs beside the others; said below.
(cd "$source_dir" && exec "$venv_dir/bin/mypy" --cache-dir "$build_dir/.mypy-cache") >"$types" 2>&1 &
types_job=$!

say "Formatting (clang-format)"
code=0
(cd "$source_dir" && git ls-files '*.cpp' '*.h' '*.h.in' '*.c' | xargs -n 16 -P "$(nproc)" clang-format-22 --dry-run --Werror) || code=$?
count "clang-format" "$code" "$((code == 0))" "$((code != 0))"

say "Python: style (ruff)"
code=0
(cd "$source_dir" && "$venv_dir/bin/ruff" check -q --cache-dir "$build_dir/.ruff-cache") || code=$?
count "ruff" "$code" "$((code == 0))" "$((code != 0))"

say "Unit tests (GoogleTest)"
# The simulator's are many and short, and a process takes longer to start than
# most of them to run: several in each. What they execute goes to coverage.md in the build folder.
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
export -f run_shard
export build_dir executed
shards=$((16 * $(nproc)))
code=0
seq 0 $((shards - 1)) | xargs -P "$(nproc)" -I{} bash -c "run_shard {} $shards" | tee "$log" |
  { grep -v '^\[==' || true; } || code=$?
total=$(sed -nE 's/^\[==.*\] ([0-9]+) tests? from .* ran\. .*/\1/p' "$log" | awk '{s += $1} END {print s + 0}')
bad=$(sed -nE 's/^ *([0-9]+) FAILED TESTS?$/\1/p' "$log" | awk '{s += $1} END {print s + 0}')
count "unit tests of the simulator" "$code" "$((total - bad))" "$bad"
if [ "$code" -eq 0 ]; then
  "$venv_dir/bin/python" "$source_dir/simulator/scripts/coverage.py" --executed "$executed" || code=$?
  count "coverage of instructions" "$code" "$((code == 0))" "$((code != 0))"
fi

code=0
ctest --test-dir "$build_dir" -LE simulator --output-on-failure -j"$(nproc)" 2>&1 | tee "$log" |
  { grep -vE '^ *(Start|[0-9]+/[0-9]+ Test .* Passed)' || true; } || code=$?
total=$(sed -nE 's/.*tests failed out of ([0-9]+).*/\1/p; s/.*([0-9]+) tests? failed out of ([0-9]+).*/\2/p' "$log" | tail -n 1)
bad=$(sed -nE 's/.*, ([0-9]+) tests? failed out of [0-9]+.*/\1/p' "$log" | tail -n 1)
count "other unit tests" "$code" "$((${total:-0} - ${bad:-0}))" "${bad:-0}"

say "Python: types (mypy)"
code=0
wait "$types_job" || code=$?
cat "$types"
count "mypy" "$code" "$((code == 0))" "$((code != 0))"

say "lit"
code=0
"$llvm_dir/bin/lit" -s -v "${lit_flags[@]}" "$build_dir/test" "$build_dir/simulator/test" 2>&1 | tee "$log" || code=$?
ok=$(sed -nE 's/^ *Passed *: *([0-9]+).*/\1/p' "$log" | tail -n 1)
bad=$(sed -nE 's/^ *(Failed|Unresolved|Timed Out|Unexpectedly Passed) *: *([0-9]+).*/\2/p' "$log" | awk '{s += $1} END {print s + 0}')
count "lit" "$code" "${ok:-0}" "$bad"

say "Python tests (pytest)"
code=0
# A process that dies ends the run: another in its place may wait for ever. Files
# go in their order: those with few tests are not the short ones.
LNBWD_BUILD_DIR=$build_dir "$venv_dir/bin/python" -m pytest -q -p no:cacheprovider \
  --numprocesses="$(nproc)" --max-worker-restart=0 --dist=loadfile --no-loadscope-reorder "${pytest_flags[@]}" "$source_dir/test" "$source_dir/simulator/test" 2>&1 | tee "$log" || code=$?
summary=$(tail -n 1 "$log")
ok=$(sed -nE 's/(^|.* )([0-9]+) passed.*/\2/p' <<<"$summary")
bad=$(sed -nE 's/(^|.* )([0-9]+) (failed|error).*/\2/p' <<<"$summary")
count "pytest" "$code" "${ok:-0}" "${bad:-0}"

say "Total"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
