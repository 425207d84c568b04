# Shared by the scripts of this folder; sourced, not run.
#
# Everything that the project needs comes from Debian 12's packages and PyPI.
# Each step is skipped when there is nothing to do, so that a second run takes
# seconds.

set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=${LNBWD_BUILD_DIR:-$source_dir/build}
llvm_dir=/usr/lib/llvm-22

packages=(
  llvm-22-dev libmlir-22-dev mlir-22-tools llvm-22-tools # the compiler's libraries, FileCheck and lit
  lld-22 liblld-22-dev                                   # linking of code objects
  clang-22 clang-tools-22                                # kernels of the simulator's tests; clang-offload-bundler
  libamdhip64-dev nlohmann-json3-dev                     # the runtime: HIP's headers, JSON
  libgtest-dev zlib1g-dev libzstd-dev libxml2-dev
  cmake ninja-build g++ ccache python3 python3-dev python3-venv
)

# The chips of a list that test/EndToEnd/chips.py knows.
chips_of() { python3 "$source_dir/test/EndToEnd/chips.py" "$1"; }

# The comment at the top of a script is its help.
case ${1:-} in -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[-1]}"; exit 0 ;; esac
takes_no_arguments() {
  [ $# -eq 0 ] || { echo "error: unknown argument '$1', expected none" >&2; exit 2; }
}

say() { printf '\n== %s\n' "$*"; }

# Runs a command and shows what it prints in lines of a pattern: how far it is. If
# it fails, the end of all.
show_some() { # pattern, command
  local pattern=$1 log
  shift
  log=$(mktemp)
  if ! "$@" 2>&1 | tee "$log" | { grep --line-buffered -E "$pattern" || true; }; then
    tail -n 30 "$log" >&2
    echo "error: this step failed; its whole log is in $log" >&2
    exit 1
  fi
  rm -f "$log"
}

# Installs what is missing of the packages, and of those given as arguments.
install_packages() {
  local missing=() package
  for package in "${packages[@]}" "$@"; do
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      missing+=("$package")
    fi
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "Installing ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    echo "error: these packages are missing; install them as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  install_missing() {
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"; } ||
      { echo "(LLVM 22 is in bookworm-security: /etc/apt/sources.list should have it)"; return 1; }
  }
  show_some '^(Need to get|Fetched)' install_missing
}

# Configures $build_dir. What decides an object's flags are CMakeLists.txt's
# defaults, so that demo.sh, test.sh and `pip install .` compile nothing twice;
# the PyTorch that test.sh installs adds lib/Torch and changes nothing else.
# Arguments go to CMake too, for folders that are built otherwise (fuzz.sh, ...).
configure() {
  local settings=(-DMLIR_DIR="$llvm_dir/lib/cmake/mlir" -DLLVM_DIR="$llvm_dir/lib/cmake/llvm"
    -DLLVM_EXTERNAL_LIT="$llvm_dir/bin/lit" "$@")
  local torch_python=$build_dir/venv/bin/python configured=$build_dir/.configured
  if [ -x "$torch_python" ]; then settings+=(-DLNBWD_TORCH_PYTHON="$torch_python"); fi
  if [ -f "$build_dir/build.ninja" ] && [ "$(cat "$configured" 2>/dev/null)" = "${settings[*]}" ]; then return; fi
  say "Configuring in $build_dir"
  cmake -G Ninja -S "$source_dir" -B "$build_dir" "${settings[@]}" >"$build_dir.configure.log" 2>&1 ||
    { cat "$build_dir.configure.log" >&2; exit 1; }
  rm -f "$build_dir.configure.log"
  echo "${settings[*]}" >"$configured"
}

# Configures another folder, once, with sanitizers, which clang has, and with
# assertions: FOLDER SANITIZERS [further arguments].
configure_sanitized() {
  build_dir=$source_dir/$1
  install_packages libclang-rt-22-dev
  [ -f "$build_dir/build.ninja" ] || configure -DLNBWD_SANITIZERS="$2" "${@:3}" \
    -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O1 -DCMAKE_CXX_FLAGS_DEBUG=-O1
}

# Builds the given targets, or everything.
build() {
  say "Building"
  ninja -C "$build_dir" "$@"
}

# A virtual environment with the Python packages given, in the build folder.
make_venv() {
  venv_dir=$build_dir/venv
  if [ ! -x "$venv_dir/bin/python" ]; then
    /usr/bin/python3 -m venv "$venv_dir"
  fi
  local stamp="$venv_dir/.installed-$(printf '%s ' "$@" | cksum | cut -d' ' -f1)"
  if [ ! -e "$stamp" ]; then
    say "Installing $* into a virtual environment"
    # Its downloads take minutes.
    show_some 'Downloading .* [MG]B\)$' "$venv_dir/bin/python" -m pip install --disable-pip-version-check "$@"
    touch "$stamp"
  fi
}
