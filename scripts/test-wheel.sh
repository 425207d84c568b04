#!/usr/bin/env bash
# Tests the wheels of scripts/wheel.sh where LLVM is not: in a new virtual
# environment, in a mount namespace in which LLVM's folders are empty (root).
#
#   scripts/test-wheel.sh [FOLDER [ROOT]]     default: dist
#
# With ROOT it is all done in there, a system of its own:
#
#   debootstrap --variant=minbase --include=python3,python3-venv bookworm ROOT
#
# PyTorch is taken from build/venv, or from the virtual environment whose
# interpreter LNBWD_TORCH_PYTHON names; Triton too, if it is there or in the
# folder that LNBWD_TRITON names (pip install --target). A minute or two; not a
# part of scripts/test.sh, since it needs the wheels, whose build is long.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

out=$(cd "${1:-$source_dir/dist}" && pwd)
root=${2:-}
torch_python=${LNBWD_TORCH_PYTHON:-$build_dir/venv/bin/python}
if [ -z "${LNBWD_TEST_WHEEL_INSIDE:-}" ]; then
  export LNBWD_TEST_WHEEL_INSIDE=1 LNBWD_TORCH_PYTHON=$torch_python
  exec unshare --mount bash "${BASH_SOURCE[0]}" "$out" "$root"
fi
if [ -n "$root" ]; then
  # What is tested, and what it is tested beside, is seen there where it is here.
  for folder in /proc /dev "$source_dir" "$out" "$(dirname "$(dirname "$torch_python")")" "${LNBWD_TRITON:-}"; do
    if [ -n "$folder" ]; then
      mkdir -p "$root$folder"
      mount --rbind "$folder" "$root$folder"
    fi
  done
  exec chroot "$root" env HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin bash "$source_dir/scripts/test-wheel.sh" "$out"
fi
hidden=()
for folder in "$llvm_dir" /opt/rocm "$source_dir/build/lib" "$source_dir/build-wheel"; do
  if [ -d "$folder" ]; then hidden+=("$folder"); fi
done
for folder in ${hidden[@]+"${hidden[@]}"}; do mount -t tmpfs -o ro none "$folder"; done
for library in /usr/lib/*/libLLVM* /usr/lib/*/libMLIR* /usr/lib/*/liblld*; do
  if [ -e "$library" ]; then mount --bind /dev/null "$library"; fi
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work LNBWD_CACHE_DIR=$work/cache
unset PYTHONPATH LNBWD_LIBRARY_DIR LNBWD_BUILD_DIR

new_environment() { # folder, wheel
  "$torch_python" -m venv "$1"
  "$1/bin/python" -m pip install -q --disable-pip-version-check --no-deps --no-index "$2"
}

# The heredocs below take the chips from here.
export default_chip=$(chips_of default) gpu_chip=$(chips_of gpu)
export all_chips="$(chips_of many) $gpu_chip"
last_chip=$(chips_of many | tr ' ' '\n' | tail -1)

say "LLVM is hidden"
python3 - <<'PY'
import ctypes, glob, sys
names = ["libLLVM.so.22.1", "libLLVM-22.so.1", "libMLIR.so.22.1"]
for name in names:
    try:
        ctypes.CDLL(name)
    except OSError:
        continue
    sys.exit(f"error: {name} can still be loaded")
PY

say "All: import, six chips, the console commands, one simulated run"
new_environment all "$(ls "$out"/lnbwd-*.whl)"
all/bin/python - <<'PY'
import os, sys
import lnbwd
from lnbwd.operations import LAYER_NORM_BWD
assert not {"torch", "numpy"} & set(sys.modules)
print("lnbwd", lnbwd.__version__, "in", lnbwd.__path__[0])
for chip in os.environ["all_chips"].split():
    kernel = lnbwd.compile(LAYER_NORM_BWD, n=1024, dtype="bf16", chip=chip)
    kernel.save(f"k-{chip}")
    print(chip, "compiled")
PY
for program in lnbwd-opt lnbwd-run lnbwd-sim; do "all/bin/$program" --help >"$program.txt"; done
all/bin/lnbwd-opt "$source_dir/examples/layer_norm_bwd.mlir" --lnbwd-pipeline=chip="$default_chip" --emit=hsaco -o opt.hsaco
all/bin/lnbwd-run opt.hsaco --m 64 --device sim --verify
all/bin/lnbwd-run --n 768 --dtype f16 --chip "$last_chip" --m 16 --device sim --verify

say "All, with PyTorch: python -m lnbwd.check --device sim"
{
  "$torch_python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
  echo "${LNBWD_TRITON:-}"
} >"$(all/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch-of-another.pth"
all/bin/python -m lnbwd.check --device sim

say "What the libraries show to a process: their own names, and none of LLVM"
if command -v nm >nm.path; then
  for library in all/lib/python3*/site-packages/lnbwd/lib/*.so; do
    nm -D --defined-only "$library" | awk '{print $3}' >names
    echo "$(basename "$library"): $(wc -l <names) names"
    # PyTorch's operators register themselves with PyTorch, and have its types.
    if [[ $library != *lnbwd-torch.so ]] && grep -vE '^(lnbwd|(__)?hip)' names; then
      echo "error: expected names of lnbwd and HIP alone" >&2
      exit 1
    fi
  done
else
  echo "not looked at: there is no nm"
fi

say "In one process with PyTorch and, if it is there, Triton, before and after"
cat >scale.py <<'PY'
import triton
import triton.language as tl

@triton.jit
def scale(source, target, count, block: tl.constexpr):
    index = tl.program_id(0) * block + tl.arange(0, block)
    inside = index < count
    tl.store(target + index, tl.load(source + index, mask=inside) * 2, mask=inside)
PY
for order in before after; do
  PYTHONPATH=$work all/bin/python - "$order" <<'PY'
import importlib.util, os, shutil, sys

def others():
    import torch
    found = ["torch"]
    if importlib.util.find_spec("triton"):
        import triton  # Its own LLVM and MLIR.
        from triton.backends.compiler import GPUTarget
        import scale
        nvidia = GPUTarget("cuda", int(os.environ["gpu_chip"].removeprefix("sm_")), 32)
        amd = GPUTarget("hip", os.environ["default_chip"], 64)
        for target, form in ((nvidia, "ptx"), (amd, "hsaco")):
            source = triton.compiler.ASTSource(
                fn=scale.scale, constexprs={"block": 256},
                signature={"source": "*fp32", "target": "*fp32", "count": "i32", "block": "constexpr"})
            compiled = triton.compile(source, target=target)
            assert len(compiled.asm[form]) > 500
            found.append(f"Triton {triton.__version__} to {form}")
    if shutil.which("g++"):  # Inductor compiles for the CPU in the same process.
        y = torch.compile(lambda x: torch.nn.functional.silu(x) * 2)(torch.ones(64))
        assert torch.allclose(y, torch.full((64,), 2 / (1 + 2.718281828 ** -1)))
        found.append("Inductor")
    return found

def ours():
    import lnbwd
    # Another row length each time, so that the cache does not answer.
    n = 640 if sys.argv[1] == "before" else 896
    lnbwd.compile(lnbwd.operations.LAYER_NORM_BWD, n=n, dtype="f32", chip=os.environ["default_chip"])
    import torch
    x = torch.randn(8, 512, requires_grad=True)
    with lnbwd.simulate(os.environ["default_chip"]):
        lnbwd.layer_norm(x, (512,)).sum().backward()
    assert x.grad.abs().max() < 1e-5

if sys.argv[1] == "before":
    found = others(); ours(); others()
else:
    import lnbwd
    lnbwd.compile(lnbwd.operations.RMS_NORM_BWD, n=512, dtype="f32", chip=os.environ["gpu_chip"])
    found = others(); ours()
print(sys.argv[1], ", ".join(found), "ok")
PY
done

say "The runtime half: import, no compiler, a clear error of its commands"
new_environment half "$(ls "$out"/lnbwd_runtime-*.whl)"
half/bin/python - <<'PY'
import os
import lnbwd
print("runtime", lnbwd.runtime.library_version())
try:  # Not what the cache has from above.
    lnbwd.compile(lnbwd.operations.LAYER_NORM_BWD, n=1000, dtype="bf16", chip=os.environ["default_chip"])
except lnbwd.LnbwdError as error:
    print("expected:", error)
else:
    raise SystemExit("error: expected no compiler in the runtime half")
PY
half/bin/lnbwd-run --help >run.txt
if half/bin/lnbwd-opt --help 2>message; then echo "error: expected no lnbwd-opt" >&2; exit 1; fi
cat message
say "The simulator alone, and with the runtime half"
new_environment sim "$(ls "$out"/lnbwd_sim-*.whl)"
sim/bin/lnbwd-sim --version
ls "$(sim/bin/python -m lnbwd_sim --include)"/lnbwd/Simulator/{HipDevice,SimulatorAPI}.h
# The versions of HIP's functions, without which each program's start has a warning.
grep -q hip_7.2 "$(sim/bin/python -m lnbwd_sim)"
if sim/bin/lnbwd-sim opt.hsaco --kernel none 2>message; then echo "error: expected no kernel of that name" >&2; exit 1; fi
cat message
LNBWD_SIM_LIBRARY=$(sim/bin/python -m lnbwd_sim) half/bin/lnbwd-run opt.hsaco --m 64 --device sim --verify
say "The wheels are right"
