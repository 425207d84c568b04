#!/usr/bin/env bash
# Packs what a machine with a GPU, Python and PyTorch, but no compiler and no
# network, needs to validate and time this project.
#
#   scripts/pack-gpu.sh [--device cuda|hip] [--chip CHIP] [--sample] FOLDER [PART...]
#
# All parts, if none is named. The chip is LNBWD_CHIP, or the usual one of
# lib/Chips/Chips.json for the device. --sample packs a few kernels of each part,
# to try the pack itself.
#
#   grid       the end-to-end grid of LayerNorm backward
#   family     the other operations, their options, and the example programs
#   published  failures published of others; for cuda compute-sanitizer's four tools
#   bench      the operations, ours, PyTorch, Liger (AITER on AMD) and the stream side by side
#   tune       the search for schedules; brings the compiler itself along
#   python     the Python package's tests, its check and its benchmark
#
# There, with FOLDER copied, each part is one command:
#
#   bash FOLDER/PART/run.sh OUT
#
# and `bash FOLDER/python/run.sh OUT ddp` trains on two GPUs. docs/install.md
# says what each does and what to expect. Everything is
# compiled by build/ of this checkout, which scripts/test.sh makes, by the Python
# of its virtual environment or LNBWD_PACK_PYTHON. LNBWD_DEVICE there names
# another device than the first: cuda:1, hip:1.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

device=cuda
chip=${LNBWD_CHIP:-}
sample=
while [[ ${1:-} == -* ]]; do
  case $1 in
  --sample) sample=1; shift; continue ;;
  --device | --chip) ;;
  *) echo "error: unknown option '$1', expected --device, --chip or --sample" >&2; exit 2 ;;
  esac
  if [ $# -lt 2 ]; then
    echo "error: $1: expected a value" >&2
    exit 2
  fi
  if [ "$1" = --device ]; then device=$2; else chip=$2; fi
  shift 2
done
if [ $# -eq 0 ]; then
  echo "error: expected a folder; see scripts/pack-gpu.sh --help" >&2
  exit 2
fi
case $device in
cuda | hip) ;;
*) echo "error: --device: expected cuda or hip, got '$device'" >&2; exit 2 ;;
esac
parts=(grid family published bench tune python)
folder=$(mkdir -p "$1" && cd "$1" && pwd)
shift
if [ $# -gt 0 ]; then
  for part in "$@"; do
    if [[ " ${parts[*]} " != *" $part "* ]]; then
      echo "error: unknown part '$part', expected one of: ${parts[*]}" >&2
      exit 2
    fi
  done
  parts=("$@")
fi
if [ -z "$chip" ]; then
  chip=$(chips_of "$([ "$device" = hip ] && echo default || echo gpu)")
fi
chips=$(chips_of "$device")
if [[ " $chips " != *" $chip "* ]]; then
  echo "error: --chip: expected one of $chips for $device, got '$chip'" >&2
  exit 2
fi
export LNBWD_BUILD_DIR=$build_dir
python=${LNBWD_PACK_PYTHON:-$build_dir/venv/bin/python}
reference= # Which scripts/demo.sh does not build.
if [[ " ${parts[*]} " == *" family "* ]]; then reference=lib/liblnbwd-reference.so; fi
for needed in bin/lnbwd-opt bin/lnbwd-run lib/liblnbwd-runtime.so $reference; do
  if [ ! -e "$build_dir/$needed" ]; then
    echo "error: $build_dir/$needed is not there: run scripts/test.sh first" >&2
    exit 1
  fi
done
modules=numpy
if [[ " ${parts[*]} " == *" bench "* ]]; then modules=numpy,torch; fi
if [[ " ${parts[*]} " == *" python "* ]]; then modules=numpy,torch,pytest; fi
if ! "$python" -c "import $modules" 2>/dev/null; then
  echo "error: expected a Python with $modules, got $python: run scripts/test.sh first, or name one:" \
    "LNBWD_PACK_PYTHON=env/bin/python" >&2
  exit 1
fi

# A build folder with what runs there: the runner and its library.
put_runner() { # folder
  mkdir -p "$1/bin" "$1/lib"
  cp -L "$build_dir/bin/lnbwd-run" "$1/bin/"
  cp -L "$build_dir"/lib/liblnbwd-runtime.so* "$1/lib/"
}

write_run() { # part; the commands come on standard input
  {
    echo '#!/usr/bin/env bash'
    echo '# run.sh OUT: results go to the folder OUT.'
    echo 'set -euo pipefail'
    echo 'here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)'
    echo 'out=$(mkdir -p "${1:?expected a folder for the results}" && cd "$1" && pwd)'
    echo 'shift'
    echo 'cd "$here"'
    echo "chip=$chip"
    echo "device=\${LNBWD_DEVICE:-$device}"
    cat
  } >"$folder/$1/run.sh"
}

pack_grid() {
  put_runner "$folder/grid/build"
  mkdir -p "$folder/grid/test"
  cp "$source_dir"/test/EndToEnd/{grid,chips,compiling,samples}.py "$source_dir"/lib/Chips/{Chips.json,generate_chips.py} "$folder/grid/test/"
  "$python" "$source_dir/test/EndToEnd/grid.py" compile --build "$build_dir" --chips "$chip" --out "$folder/grid/kernels" ${sample:+--few}
  write_run grid <<'RUN'
python3 test/grid.py run --build build --kernels kernels --device "$device" "$@" | tee "$out/grid.txt"
RUN
}

pack_family() {
  put_runner "$folder/family/build"
  cp -L "$build_dir/lib/liblnbwd-reference.so" "$folder/family/build/lib/"
  mkdir -p "$folder/family/test/EndToEnd"
  cp "$source_dir"/test/EndToEnd/{family,examples,device,chips,compiling,samples,reference}.py "$source_dir"/lib/Chips/{Chips.json,generate_chips.py} "$folder/family/test/EndToEnd/"
  local every=${sample:+60}
  every=${every:-1}
  "$python" "$source_dir/test/EndToEnd/family.py" compile --build "$build_dir" --chips "$chip" --out "$folder/family/kernels" --every "$every"
  "$python" "$source_dir/test/EndToEnd/examples.py" compile --build "$build_dir" --chip "$chip" --out "$folder/family/example-kernels"
  mkdir -p "$folder/family/python"
  cp -RL "$source_dir/python/lnbwd" "$folder/family/python/"
  mkdir -p "$folder/family/python/lnbwd/lib"
  cp -L "$build_dir/lib/liblnbwd-runtime.so.0" "$folder/family/python/lnbwd/lib/"
  cp "$source_dir/lib/Chips/Chips.json" "$folder/family/python/lnbwd/chips.json"
  { echo "every=$every"; cat; } <<'RUN' | write_run family
export LNBWD_BUILD_DIR=$here/build
python3 test/EndToEnd/examples.py run --build build --kernels example-kernels --chip "$chip" --device "$device" | tee "$out/examples.txt"
python3 test/EndToEnd/family.py run --build build --kernels kernels --chips "$chip" --device "$device" --every "$every" "$@" | tee "$out/family.txt"
RUN
}

pack_published() {
  "$python" "$source_dir/test/Integration/published/on_gpu.py" prepare --build "$build_dir" --chip "$chip" --out "$folder/published"
  { echo "most=${sample:+4}"; cat; } <<'RUN' | write_run published
python3 on_gpu.py run --only large --budget 400 --device "$device" ${most:+--most-rows "$most"} "$@" | tee "$out/large.txt"
# Its tools are NVIDIA's.
[ "${device%%:*}" = cuda ] || exit 0
python3 on_gpu.py run --only sanitizer --budget 560 --device "$device" | tee "$out/sanitizer.txt"
RUN
}

# operations.py with kernels that are compiled here.
put_operations() { # folder, arguments of operations.py compile
  local folder=$1
  shift
  mkdir -p "$folder/python" "$folder/bench"
  cp -RL "$source_dir/python/lnbwd" "$folder/python/"
  put_runner "$folder/python/lnbwd"
  cp "$source_dir/lib/Chips/Chips.json" "$folder/python/lnbwd/chips.json"
  cp -R "$source_dir/bench/operations.py" "$source_dir/bench/lnbwd_bench" "$folder/bench/"
  "$python" "$source_dir/bench/operations.py" compile --out "$folder/kernels" --chip "$chip" "$@"
}

pack_bench() {
  put_operations "$folder/bench" ${sample:+--shapes 33x513}
  # (AITER is installed where it is wanted: it comes with ROCm's containers.)
  "$python" -m pip download -q --no-deps --only-binary=:all: -d "$folder/bench/wheels" liger-kernel ||
    echo "note: the wheel of liger-kernel could not be fetched; the peer will be left out" >&2
  write_run bench <<'RUN'
python3 -c 'import numpy, torch' 2>/dev/null || { echo "error: expected a python3 with NumPy and PyTorch, got $(command -v python3)" >&2; exit 2; }
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
for wheel in wheels/*.whl; do
  [ ! -e "$wheel" ] || python3 -m pip install -q --root-user-action=ignore --no-index --no-deps --no-compile --target "$site" "$wheel"
done
PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1 \
  python3 bench/operations.py run --kernels kernels --out "$out" "$@"
RUN
}

# The compiler with every library that a small system might not have.
pack_tune() {
  # Without kernels: the search compiles its own.
  put_operations "$folder/tune" --only none
  local staging file
  staging=$(mktemp -d)
  for file in "$build_dir/bin/lnbwd-opt" $(ldd "$build_dir/bin/lnbwd-opt" | sed -nE 's/.*=> (\/[^ ]+) .*/\1/p' |
    grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so'); do
    strip -s -o "$staging/$(basename "$file")" "$file"
  done
  mkdir -p "$folder/tune/tools"
  cp -R "$source_dir/tools/lnbwd-tune" "$folder/tune/tools/"
  tar -C "$staging" -cf "$folder/tune/compiler.tar" .
  # A sample is not sent anywhere.
  [ -n "$sample" ] || xz -T0 -6 "$folder/tune/compiler.tar"
  rm -rf "$staging"
  { echo "few=(${sample:+--shapes 64x1024 --candidates 2})"; cat; } <<'RUN' | write_run tune
# More arguments go to lnbwd-tune (--shapes 8192x4096).
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' compiler.tar* "$dir"
printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s/lnbwd-opt "$@"\n' "$dir" "$dir" >"$dir/run"
chmod +x "$dir/run"
export LNBWD_OPT=$dir/run PYTHONUNBUFFERED=1 PATH=$PATH:/usr/local/cuda/bin
# It ends with 1 where the model's choice is not the best.
python3 tools/lnbwd-tune/lnbwd-tune --chip "$chip" --device "$device" --sweep "$out/sweep.jsonl.xz" "${few[@]}" "$@" || [ $? = 1 ]
RUN
}

pack_python() {
  "$python" "$source_dir/test/python/pack_for_device.py" "$folder/python" --chip "$chip" ${sample:+--sample} ${PIP_NO_INDEX:+--no-wheels}
}

for part in "${parts[@]}"; do
  say "Packing $part"
  rm -rf "${folder:?}/$part"
  mkdir -p "$folder/$part"
  "pack_$part"
  find "$folder/$part" -name __pycache__ -prune -exec rm -rf {} +
  du -sh "$folder/$part"
done
