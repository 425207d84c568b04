#!/usr/bin/env bash
# Tests the package with versions of PyTorch, each in a virtual environment of
# its own in build/torch-VERSION, on the CPU and a simulated chip.
#
#   scripts/test-torch.sh [VERSION...]    default: the oldest and the newest that
#                                         are supported, and what users have
#
# A part of a release, and of no other run: PyPI's PyTorch is some gigabytes,
# which stay in build/. Needs what scripts/demo.sh has built.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

versions=("$@")
[ $# -gt 0 ] || versions=(2.10.0 2.11.0 2.13.0 2.14.1)
if [ ! -e "$build_dir/lib/liblnbwd-torch.so" ]; then
  echo "error: expected $build_dir/lib/liblnbwd-torch.so, got no such file; run scripts/test.sh first" >&2
  exit 1
fi
export PYTHONPATH=$source_dir/python LNBWD_LIBRARY_DIR=$build_dir/lib
wrong=()
for version in "${versions[@]}"; do
  say "torch $version"
  venv=$build_dir/torch-$version
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check "torch==$version" numpy
  folder=$(mktemp -d)
  LNBWD_CACHE_DIR=$folder TORCHINDUCTOR_CACHE_DIR=$folder/inductor "$venv/bin/python" \
    "$source_dir/test/python/torch_versions.py" || wrong+=("$version")
  rm -rf "$folder"
done
if [ ${#wrong[@]} -gt 0 ]; then
  echo "error: these versions of PyTorch are not right: ${wrong[*]}" >&2
  exit 1
fi
