#!/usr/bin/env bash
# Runs the packed tests on a machine with a GPU (pack_for_device.py says how
# they get there), and prints a short table last. All output is kept in OUT.
#
#   bash run.sh OUT          tests and lnbwd.check on one GPU
#   bash run.sh OUT ddp      data-parallel training on two GPUs
#
# Where PyTorch knows no GPU, the tests and lnbwd.check run on the simulator that
# LNBWD_SIM_LIBRARY names.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$(mkdir -p "${1:?expected a folder for the results}" && cd "$1" && pwd)
python3 -c 'import numpy, torch' 2>/dev/null || { echo "error: expected a python3 with NumPy and PyTorch, got $(command -v python3)" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for wheel in "$here"/wheels/*.whl; do
  [ ! -e "$wheel" ] || python3 -m pip install -q --root-user-action=ignore --no-index --no-deps --no-compile --target "$work/site" "$wheel" || exit 1
done
cp -R "$here/cache" "$work/cache"
export PYTHONPATH=$here/python:$work/site${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1
export LNBWD_TEST_INSTALLED=1 LNBWD_CACHE_DIR=$work/cache PYTHONDONTWRITEBYTECODE=1
# NCCL leaves NVLink's multicast alone.
export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NVSHMEM_DISABLE_NVLS=1
cd "$work"
where=$(python3 -c 'import torch; print("gpu" if torch.cuda.is_available() else "sim")')
rows=()
note() { rows+=("$(printf '%-28s %s' "$1" "$2")"); }

if [ "${2:-}" = ddp ]; then
  python3 -m torch.distributed.run --nproc-per-node=2 "$here/tests/ddp.py" 2>&1 | tee "$out/ddp.txt"
  note "DDP, 2 GPUs" "$(grep verdict "$out/ddp.txt")"
  python3 -m torch.distributed.run --nproc-per-node=2 "$here/tests/sequence_parallel.py" 2>&1 | tee "$out/sequence_parallel.txt"
  note "distributed tensors, 2 GPUs" "$(grep verdict "$out/sequence_parallel.txt")"
else
  timeout 420 python3 -m pytest -q -p no:cacheprovider -rf --tb=short -s "$here"/tests/test_torch_*.py >"$out/pytest.txt" 2>&1
  note "tests" "$(tail -n 1 "$out/pytest.txt")"
  while read -r line; do note "training" "$line"; done < <(grep -ohE "(layer|rms)_norm, 200 steps.*" "$out/pytest.txt")
  read -ra check_arguments <"$here/check_arguments"
  timeout 60 python3 -m lnbwd.check --device "$where" "${check_arguments[@]}" >"$out/check.txt" 2>&1
  note "lnbwd.check" "exit code $?; $(tail -n 1 "$out/check.txt")"
fi
if [ "${2:-}" != ddp ] && [ "$where" = gpu ]; then
  timeout 120 python3 "$here/tests/capture_step.py" --graphs 5 >"$out/capture_step.txt" 2>&1
  note "steps in graphs" "exit code $?; $(tail -n 1 "$out/capture_step.txt")"
  timeout 60 python3 "$here/tests/host_cost.py" --json "$out/host_cost.json" >"$out/host_cost.txt" 2>&1
  note "host_cost" "exit code $?"
  cat "$out/host_cost.txt"
fi
if [ "${2:-}" != ddp ]; then
  grep -E "^FAILED|^ERROR" "$out/pytest.txt" | head -n 40
fi
printf '\n== %s\n' "$(python3 -c 'import sys, torch; print(torch.cuda.get_device_name(0) if torch.cuda.is_available() else "no GPU", "torch", torch.__version__, "Python", sys.version.split()[0])')"
printf '%s\n' "${rows[@]}"
