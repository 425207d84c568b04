"""Runs a command and succeeds if it ends with the expected exit code.

usage: expect_exit.py CODE COMMAND [ARGUMENT...]
"""

import subprocess
import sys

expected = int(sys.argv[1])
code = subprocess.run(sys.argv[2:]).returncode
if code != expected:
    print(f"expected exit code {expected}, got {code}", file=sys.stderr)
    sys.exit(1)
