"""The lit suite of lnbwd-sim.

Features, probed once:
  hip-programs  HIP programs can be linked, and run with the simulator preloaded: a
                program without a sanitizer cannot take a library with one
"""

import os
import subprocess
import sys

import lit.formats
import lit.llvm
from lit.llvm.subst import ToolSubst

config.name = "simulator"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)

lit.llvm.initialize(lit_config, config)
llvm_config = lit.llvm.llvm_config

config.substitutions.extend(
    [
        ("%{libs}", config.lnbwd_libs_dir),
        # "%exits 2 COMMAND" succeeds if COMMAND ends with exit code 2.
        (
            "%exits",
            f"{sys.executable} {config.test_source_root}/Inputs/expect_exit.py",
        ),
        ("%python", sys.executable),
    ]
)
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.lnbwd_tools_dir, append_path=True)
# Whatever runs on the simulator runs under its checks.
llvm_config.with_environment("LNBWD_SIM_CHECK", "all")
llvm_config.with_system_environment(["TMPDIR"])
llvm_config.add_tool_substitutions(
    [ToolSubst("lnbwd-sim", unresolved="fatal")], [config.lnbwd_tools_dir]
)
llvm_config.add_tool_substitutions(
    ["FileCheck", "clang", "count", "not", "split-file"], [config.llvm_tools_dir]
)


def can_link_hip():
    """Whether clang finds the library that HIP programs are linked with."""
    library = "libamdhip64.so"
    try:
        outcome = subprocess.run(
            [os.path.join(config.llvm_tools_dir, "clang"), f"-print-file-name={library}"],
            capture_output=True,
            text=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return outcome.stdout.strip() != library


if not config.lnbwd_sanitizers and can_link_hip():
    config.available_features.add("hip-programs")
