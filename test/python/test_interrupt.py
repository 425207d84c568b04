# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SIGINT ends a simulated launch that would not end, in the tools and in Python.

How long that takes is bounded by the code (a look every 1024 instructions of a wave); the time
limits here are only there so that a failure ends.
"""

import os
import pathlib
import signal
import struct
import subprocess
import sys
import time

import pytest

from conftest import BUILD, ROOT

N = 192
PATIENCE = 300  # seconds
SOURCE = f"""
func.func @rms_norm(%x: memref<?x{N}xf32>, %gamma: memref<{N}xf32>, %y: memref<?x{N}xf32>,
                    %rstd: memref<?xf32>) {{
  lnbwd.rms_norm x(%x : memref<?x{N}xf32>) gamma(%gamma : memref<{N}xf32>)
      outs y(%y : memref<?x{N}xf32>) rstd(%rstd : memref<?xf32>)
  return
}}
"""
LAUNCH = """
import sys
from lnbwd import runtime

program = runtime.Program.from_file(sys.argv[1])
kernel = runtime.Kernel(runtime.Device.open("sim", program.chip), program)
buffers = [kernel.device.allocate(program.argument_size(k, 8))
           for k in range(len(program.arguments))]
workspace = kernel.device.allocate(max(kernel.workspace_size(8), 256))
print("ready", flush=True)
try:
    kernel.launch([b.pointer for b in buffers], 8, workspace.pointer, kernel.workspace_size(8))
except KeyboardInterrupt:
    print("interrupted")
"""


def without_end(code: bytes) -> bytes:
    """The code object with a branch to itself in place of every instruction."""
    code = bytearray(code)
    first, = struct.unpack_from("<Q", code, 32)
    size, count = struct.unpack_from("<HH", code, 54)
    for k in range(count):
        kind, flags, offset, _, _, length, _, _ = struct.unpack_from("<IIQQQQQQ", code,
                                                                     first + k * size)
        if kind == 1 and flags & 1:  # a segment of code
            code[offset:offset + length] = struct.pack("<I", 0xBF82FFFF) * (length // 4)
    return bytes(code)


@pytest.fixture(scope="module")
def endless(opt_compile, tmp_path_factory):
    path = tmp_path_factory.mktemp("endless") / "kernel.hsaco"
    path.write_bytes(without_end(opt_compile(
        SOURCE, "gfx942 schedule=threads_per_row=64,row_groups=1")))
    return path


def start(*command):
    """The process, with SIGINT as a terminal's would have it, and no limit of instructions."""
    environment = dict(os.environ, LNBWD_SIM_MAX_INSTRUCTIONS="0", LNBWD_SIM_THREADS="2",
                       PYTHONPATH=str(ROOT / "python"), LNBWD_LIBRARY_DIR=str(BUILD / "lib"))
    return subprocess.Popen([str(part) for part in command], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def wait_until_busy(process):
    """Until it has computed for half a second more: longer than anything takes but the launch."""
    def seconds():
        stat = pathlib.Path(f"/proc/{process.pid}/stat").read_text()
        fields = stat.rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    begin, limit = seconds(), time.monotonic() + PATIENCE
    while seconds() < begin + 0.5:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.05)


def interrupt(process):
    """Sends SIGINT; gives the output of the process, which has to end."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


@pytest.mark.simulator
@pytest.mark.parametrize("checks", ("all", "none"))
def test_python_gets_a_keyboard_interrupt(endless, checks, monkeypatch):
    monkeypatch.setenv("LNBWD_SIM_CHECK", checks)
    process = start(sys.executable, "-c", LAUNCH, endless)
    assert process.stdout.readline() == "ready\n"
    wait_until_busy(process)
    output, errors = interrupt(process)
    assert (output, process.returncode) == ("interrupted\n", 0), errors


@pytest.mark.simulator
def test_the_runner_dies_of_it(endless):
    process = start(BUILD / "bin" / "lnbwd-run", endless, "--m", "8", "--device", "sim")
    wait_until_busy(process)
    output, _ = interrupt(process)
    assert (output, process.returncode) == ("", -signal.SIGINT)


@pytest.mark.simulator
def test_the_simulator_dies_of_it_and_leaves_files_alone(endless, tmp_path):
    kept = tmp_path / "y"
    kept.write_bytes(b"as before")
    arguments = ["in:f32x1536", f"in:f32x{N}", f"out:f32x1536>{kept}", "out:f32x8", "i64=8",
                 "i64=8"]
    # Not the check of limits: which block the kernel was compiled for is not the point here.
    process = start(BUILD / "bin" / "lnbwd-sim", endless, "--kernel", "rms_norm", "--block", "64",
                    "--check", "memory", *(f"--arg={a}" for a in arguments))
    wait_until_busy(process)
    output, _ = interrupt(process)
    assert (output, process.returncode) == ("", -signal.SIGINT)
    assert kept.read_bytes() == b"as before"
    assert list(tmp_path.iterdir()) == [kept]
