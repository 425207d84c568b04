"""The lit suite: which files are tests, which tools they run, what they may require.

Features, probed once:
  ptxas      NVIDIA's assembler, in PATH or in $CUDA_HOME/bin
  gpu-cuda   a device that the CUDA driver can use
  gpu-hip    a device that the HIP runtime can use
  simulator  the build has the simulator of AMD machine code
  full       --param full (scripts/test.sh --full): tests that take some of many cases take all,
             and run what stands in "%if full %{ ... %}"

With LNBWD_VERIFY_ROUNDTRIP=1 in the environment every lnbwd-opt run prints and
parses its input again and compares.
"""

import os
import shutil
import subprocess
import sys

import lit.formats
import lit.llvm
from lit.llvm.subst import ToolSubst

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "EndToEnd"))
import chips

config.name = "lnbwd"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".td"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.lnbwd_binary_dir, "test")

lit.llvm.initialize(lit_config, config)
llvm_config = lit.llvm.llvm_config

config.substitutions.extend(
    [
        # The names of all chips, as messages list them.
        ("%{chips}", ", ".join(chips.FACTS)),
        ("%{source}", config.lnbwd_source_dir),
        ("%{libs}", config.lnbwd_libs_dir),
        # Which of the simulator's devices is this one, for tests through HIP's functions.
        ("%{hip-gfx942}", str(chips.SIMULATED.index("gfx942"))),
        ("%examples", os.path.join(config.lnbwd_source_dir, "examples")),
        # "%exits 2 COMMAND" succeeds if COMMAND ends with exit code 2.
        (
            "%exits",
            f"{sys.executable} {config.lnbwd_source_dir}/simulator/test/Inputs/expect_exit.py",
        ),
        ("%python", sys.executable),
        ("%{full}", "--full" if "full" in lit_config.params else ""),
        # The file itself, for runs that change PATH.
        ("%{lnbwd-opt}", os.path.join(config.lnbwd_tools_dir, "lnbwd-opt")),
    ]
)

opt_args = []
if os.environ.get("LNBWD_VERIFY_ROUNDTRIP", "0") not in ("", "0"):
    opt_args.append("--verify-roundtrip")

llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.lnbwd_tools_dir, append_path=True)
# Whatever runs on the simulator runs under its checks.
llvm_config.with_environment("LNBWD_SIM_CHECK", "all")
llvm_config.with_system_environment(
    ["CUDA_HOME", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "TMPDIR"]
)
llvm_config.add_tool_substitutions(
    [
        ToolSubst("lnbwd-opt", extra_args=opt_args, unresolved="fatal"),
        ToolSubst("lnbwd-lsp-server", unresolved="ignore"),
        ToolSubst("lnbwd-run", unresolved="ignore"),
        ToolSubst("lnbwd-sim", unresolved="ignore"),
    ],
    [config.lnbwd_tools_dir],
)
llvm_config.add_tool_substitutions(
    ["FileCheck", "clang", "count", "not", "split-file", "llvm-objdump", "llvm-readelf"],
    [config.llvm_tools_dir],
)


def has_ptxas():
    home = os.environ.get("CUDA_HOME")
    return bool(
        shutil.which("ptxas")
        or (home and shutil.which(os.path.join(home, "bin", "ptxas")))
    )


def has_device(library, init, count):
    """Whether the driver counts a device; asked in a process of its own, since
    a driver without a device may do anything."""
    probe = (
        "import ctypes, sys\n"
        f"driver = ctypes.CDLL({library!r})\n"
        "number = ctypes.c_int(0)\n"
        f"failed = driver.{init}(0) or driver.{count}(ctypes.byref(number))\n"
        "sys.exit(0 if not failed and number.value > 0 else 1)\n"
    )
    try:
        outcome = subprocess.run(
            [sys.executable, "-c", probe],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return outcome.returncode == 0


def find_hip_chip():
    """The chip of the first device that the HIP runtime can use, or nothing."""
    libraries = ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"]
    if not any(has_device(name, "hipInit", "hipGetDeviceCount") for name in libraries):
        return ""
    lister = os.path.join(config.llvm_tools_dir, "amdgpu-arch")
    try:
        outcome = subprocess.run(
            [lister], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    # Features follow the name: "gfx942:sramecc+:xnack-".
    chips = [line.split(":")[0].strip() for line in outcome.stdout.splitlines()]
    return chips[0] if chips else ""


hip_chip = find_hip_chip()
config.substitutions.append(("%{hip-chip}", hip_chip))

for feature, available in [
    ("ptxas", has_ptxas()),
    ("gpu-cuda", has_device("libcuda.so.1", "cuInit", "cuDeviceGetCount")),
    ("gpu-hip", bool(hip_chip)),
    (
        "simulator",
        os.path.exists(os.path.join(config.lnbwd_libs_dir, "liblnbwd-hip-sim.so")),
    ),
    ("full", "full" in lit_config.params),
]:
    if available:
        config.available_features.add(feature)
