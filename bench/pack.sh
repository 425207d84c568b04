#!/usr/bin/env bash
# Packs the benchmark for a machine that has a GPU, Python and PyTorch but
# neither the compiler nor a network: the runtime library and lnbwd-run, our
# kernels, compiled here, the Python sources and the wheels of the peers.
#
#   bench/pack.sh FOLDER [arguments of operations.py compile]
#
# There, with FOLDER copied:
#
#   FOLDER/run.sh OUT [arguments of operations.py run]
#
# LNBWD_BUILD_DIR names the build folder if it is not build/ of this checkout;
# PYTHON a Python with pip, if python3 is not to be taken.
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export LNBWD_BUILD_DIR=${LNBWD_BUILD_DIR:-$source_dir/build}
python=${PYTHON:-python3}

case ${1:-} in
'' | -*) sed -n '2,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
esac
folder=$1
shift
library=$LNBWD_BUILD_DIR/lib/liblnbwd-runtime.so.0
runner=$LNBWD_BUILD_DIR/bin/lnbwd-run
for needed in "$library" "$runner"; do
  if [ ! -e "$needed" ]; then
    echo "error: $needed is not there: build lnbwd-run and lnbwd-opt first" >&2
    exit 1
  fi
done

rm -rf "$folder/python" "$folder/bench" "$folder/kernels"
mkdir -p "$folder/python/lnbwd" "$folder/wheels" "$folder/bench"
cp -RL "$source_dir/python/lnbwd/." "$folder/python/lnbwd/"
cp -R "$source_dir/bench/operations.py" "$source_dir/bench/lnbwd_bench" "$folder/bench/"
mkdir -p "$folder/python/lnbwd/lib"
cp -L "$library" "$folder/python/lnbwd/lib/"
mkdir -p "$folder/python/lnbwd/bin"
cp -L "$runner" "$folder/python/lnbwd/bin/"
cp "$source_dir/lib/Chips/Chips.json" "$folder/python/lnbwd/chips.json"
find "$folder" -name __pycache__ -prune -exec rm -rf {} +
"$python" "$source_dir/bench/operations.py" compile --out "$folder/kernels" "$@"
# (AITER is installed where it is wanted: it comes with ROCm's containers.)
"$python" -m pip download -q --no-deps --only-binary=:all: -d "$folder/wheels" liger-kernel ||
  echo "note: the wheel of liger-kernel could not be fetched; the peer will be left out" >&2

cat >"$folder/run.sh" <<'RUN'
#!/usr/bin/env bash
# Runs the packed benchmark: run.sh OUT [arguments of operations.py run]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?expected a folder for the results}
shift
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
for wheel in "$here"/wheels/*.whl; do
  [ ! -e "$wheel" ] || python3 -m pip install -q --root-user-action=ignore --no-index --no-deps --no-compile --target "$site" "$wheel"
done
# On an AMD GPU a PyTorch that does not know it is of use for the reference.
device=()
if grep -q '"chip": "gfx' "$here/kernels/operations.json" &&
  ! python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
  device=(--device "${LNBWD_DEVICE:-hip}")
fi
PYTHONPATH=$site${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1 \
  python3 "$here/bench/operations.py" run --kernels "$here/kernels" --out "$out" ${device[@]+"${device[@]}"} "$@"
RUN
chmod +x "$folder/run.sh"
du -sh "$folder"
