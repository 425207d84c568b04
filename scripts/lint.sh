#!/usr/bin/env bash
# Checks the formatting (clang-format) and the code (clang-tidy) of all tracked
# C and C++ sources; any finding is an error. Installs what is needed (Debian
# 12). Configures a build folder of its own, build-lint, and builds no more there
# than what TableGen generates.
#
#   scripts/lint.sh                  everything
#   scripts/lint.sh lib/Transforms   what lies there: files or folders
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in
-*) echo "error: unknown argument '$1', expected files or folders" >&2; exit 2 ;;
esac

# The tracked files with one of the given endings.
tracked() { # extended regular expression, files and folders
  local endings=$1
  shift
  git ls-files --full-name -- "$@" | { grep -E "\.($endings)\$" || true; }
}
[ $# -gt 0 ] || cd "$source_dir"
formatted=$(tracked 'cpp|h|h\.in|c' "$@")
checked=$(tracked 'cpp' "$@")
cd "$source_dir"
if [ -z "$formatted" ]; then
  echo "error: no tracked C or C++ source in $*" >&2
  exit 2
fi

build_dir=$source_dir/build-lint
install_packages clang-format-22 clang-tidy-22

say "Formatting (clang-format)"
xargs clang-format-22 --dry-run --Werror <<<"$formatted"
echo "$(wc -l <<<"$formatted") files are well formatted"

[ -n "$checked" ] || exit 0
if [ ! -f "$build_dir/build.ninja" ]; then
  # scripts/test.sh leaves a PyTorch there, whose headers lib/Torch needs.
  torch_python=$source_dir/build/venv/bin/python
  [ -x "$torch_python" ] || torch_python=python3
  configure -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_UNITY_BUILD=OFF -DLNBWD_ENABLE_FUZZERS=ON -DLNBWD_TORCH_PYTHON="$torch_python"
fi
build LNBwdIRIncGen LNBwdLaneIRIncGen LNBwdPassIncGen LNBwdLanePassIncGen \
  LNBwdConversionPassIncGen LNBwdLaunchPlanPassIncGen

say "Code (clang-tidy)"
if ! grep -q lib/Torch "$build_dir/compile_commands.json"; then
  echo "lib/Torch is left out: there is no PyTorch here; run scripts/test.sh once"
  checked=$(grep -v '^lib/Torch/' <<<"$checked" || true)
fi
[ -n "$checked" ] || exit 0
while read -r file; do
  if ! grep -qF "\"file\": \"$source_dir/$file\"" "$build_dir/compile_commands.json"; then
    echo "error: no target builds $file, so clang-tidy does not know its flags" >&2
    exit 1
  fi
done <<<"$checked"
# run-clang-tidy takes regular expressions over the absolute paths.
sed -E 's/[][().*+?^$|{}\\]/\\&/g; s|^|/|; s|$|$|' <<<"$checked" |
  xargs run-clang-tidy-22 -p "$build_dir" -quiet -j "$(nproc)"
echo "$(wc -l <<<"$checked") files without a finding"
