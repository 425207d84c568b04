# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime half by itself: numpy arrays, the simulator, no torch and no compiler library."""

import gc
import json
import os
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from conftest import BUILD, ROOT
from lnbwd import RuntimeStatusError, runtime

N = 192
SOURCE = f"""
func.func @layer_norm_bwd(%dy: memref<?x{N}xf32>, %x: memref<?x{N}xf32>, %gamma: memref<{N}xf32>,
                          %mean: memref<?xf32>, %rstd: memref<?xf32>, %dx: memref<?x{N}xf32>,
                          %dgamma: memref<{N}xf32>, %dbeta: memref<{N}xf32>) {{
  lnbwd.layer_norm_bwd dy(%dy : memref<?x{N}xf32>) x(%x : memref<?x{N}xf32>)
      gamma(%gamma : memref<{N}xf32>) mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
      outs dx(%dx : memref<?x{N}xf32>) dgamma(%dgamma : memref<{N}xf32>)
      dbeta(%dbeta : memref<{N}xf32>)
  return
}}
"""


@pytest.fixture(scope="module")
def code(opt_compile):
    return opt_compile(SOURCE, "gfx942")


def reference(dy, x, gamma, eps=1e-5):
    dy, x, gamma = (a.astype(np.float64) for a in (dy, x, gamma))
    mean = x.mean(1, keepdims=True)
    rstd = 1 / np.sqrt(x.var(1, keepdims=True) + eps)
    xhat = (x - mean) * rstd
    wdy = dy * gamma
    dx = rstd * (wdy - xhat * (wdy * xhat).mean(1, keepdims=True) - wdy.mean(1, keepdims=True))
    return mean[:, 0], rstd[:, 0], dx, (dy * xhat).sum(0), dy.sum(0)


def run(kernel, rows, seed=0):
    """Launches on random rows; gives the outputs and the float64 reference of each."""
    rng = np.random.default_rng(seed)
    dy, x = (rng.standard_normal((rows, N)).astype(np.float32) for _ in range(2))
    gamma = rng.standard_normal(N).astype(np.float32)
    mean, rstd, *expected = reference(dy, x, gamma)
    inputs = [dy, x, gamma, mean.astype(np.float32), rstd.astype(np.float32)]
    outputs = [np.full((rows, N), np.nan, np.float32)] + [np.full(N, np.nan, np.float32)] * 2
    outputs = [a.copy() for a in outputs]
    device = kernel.device
    buffers = [device.allocate(a.nbytes) for a in inputs + outputs]
    for buffer, array in zip(buffers, inputs, strict=False):
        buffer.upload_from(array.ctypes.data, array.nbytes)
    size = kernel.workspace_size(rows)
    workspace = device.allocate(size)
    kernel.launch([b.pointer for b in buffers], rows, workspace.pointer, size)
    device.synchronize()
    for buffer, array in zip(buffers[5:], outputs, strict=True):
        buffer.download_to(array.ctypes.data, array.nbytes)
    return outputs, expected


@pytest.mark.parametrize("rows", [1, 5, 64])
def test_gradients_on_the_simulator(code, rows):
    program = runtime.Program.from_bytes(code)
    kernel = runtime.Kernel(runtime.Device.open("sim", program.chip), program)
    for output, expected in zip(*run(kernel, rows), strict=True):
        np.testing.assert_allclose(output, expected, atol=1e-6 * max(1, np.abs(expected).max()))


def test_what_a_program_says(code, tmp_path):
    path = tmp_path / "kernel.hsaco"
    path.write_bytes(code)
    program = runtime.Program.from_file(path)
    assert (program.name, program.chip, program.format) == ("layer_norm_bwd", "gfx942", "hsaco")
    assert [a.name for a in program.arguments] == ["dy", "x", "gamma", "mean", "rstd", "dx",
                                                   "dgamma", "dbeta"]
    assert program.arguments[0] == runtime.Argument("dy", "read", "row_block", "f32", N)
    assert program.arguments[3].kind == "row_scalar"
    assert program.arguments[6] == runtime.Argument("dgamma", "write", "column", "f32", N)
    assert program.argument_size(0, 7) == 7 * N * 4
    assert json.loads(program.plan)["chip"] == "gfx942"


def test_what_a_device_says():
    device = runtime.Device.open("sim:gfx942")
    assert device.chip == "gfx942"
    assert device.info.is_simulated and device.info.compute_units == 304
    assert device is runtime.Device.open("sim:gfx942")
    free, total = device.memory()
    assert 0 < free <= total


@pytest.mark.parametrize("chip,units", [("gfx1100", 96), ("gfx1201", 64),
                                        ("gfx1250", 256)])
def test_rdna_has_two_compute_units_for_each_multiprocessor_of_hip(chip, units):
    assert runtime.Device.open(f"sim:{chip}").info.compute_units == units


def test_counters_of_the_simulator(code):
    program = runtime.Program.from_bytes(code)
    kernel = runtime.Kernel(runtime.Device.open("sim:gfx942"), program)
    kernel.device.reset_counters()
    run(kernel, 8)
    counters = kernel.device.counters()
    # dx alone is that many bytes; so is each of dy and x.
    assert counters.global_bytes_written >= 8 * N * 4
    assert counters.global_bytes_read >= 2 * 8 * N * 4
    kernel.device.reset_counters()
    assert kernel.device.counters().waves == 0


@pytest.mark.parametrize("keeps_lock", [True, False])
def test_a_launch_that_keeps_the_lock(code, keeps_lock):
    """A thread that waits for the interpreter's lock has it when a launch gives it up, not before:
    the interval after which it is demanded has been made long."""
    program = runtime.Program.from_bytes(code)
    kernel = runtime.Kernel(runtime.Device.open("sim:gfx942"), program, keeps_lock)
    buffers = [kernel.device.allocate(program.argument_size(place, 1)) for place in range(8)]
    size = kernel.workspace_size(1)
    workspace, event = kernel.device.allocate(size), kernel.device.create_event()
    interval, turns, ends = sys.getswitchinterval(), [], threading.Event()

    def count():
        while not ends.is_set():
            turns.append(None)
            time.sleep(0)

    thread = threading.Thread(target=count)
    sys.setswitchinterval(60)
    try:
        thread.start()
        while not turns:
            time.sleep(0)
        before = len(turns)
        for buffer in buffers * 2:
            buffer.fill(0)
            event.record()
        for _ in range(8):
            kernel.launch([b.pointer for b in buffers], 1, workspace.pointer, size)
        after = len(turns)
    finally:
        ends.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert (after == before) == keeps_lock


def test_launches_from_several_threads(code):
    program = runtime.Program.from_bytes(code)
    kernel = runtime.Kernel(runtime.Device.open("sim:gfx942"), program)
    errors = []

    def work(seed):
        for output, expected in zip(*run(kernel, 8, seed), strict=True):
            if not np.allclose(output, expected, atol=1e-4):
                errors.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


LINEAR = """
func.func @linear(%x: memref<?x64xbf16>, %w: memref<64x64xbf16>, %out: memref<?x64xbf16>) {
  lnbwd.rowwise @linear domain(m | k, n) ins(%x[m, k] : memref<?x64xbf16>,
      %w[n, k] : memref<64x64xbf16>) outs(%out[m, n] : memref<?x64xbf16>)
      attributes {operand_names = ["x", "w", "out"]} {
  ^row(%xr: vector<64xbf16>, %wr: vector<64x64xbf16>):
    %p = lnbwd.linear %xr, %wr : vector<64xbf16>, vector<64x64xbf16>
    %y = arith.truncf %p : vector<64xf32> to vector<64xbf16>
    lnbwd.yield %y : vector<64xbf16>
  }
  return
}
"""


def test_a_product_over_its_own_input_is_an_error(opt_compile):
    program = runtime.Program.from_bytes(opt_compile(LINEAR, "gfx942"))
    kernel = runtime.Kernel(runtime.Device.open("sim", program.chip), program)
    device = kernel.device
    size = kernel.workspace_size(4)
    workspace = device.allocate(size)
    x, w, out = (device.allocate(rows * 64 * 2) for rows in (4, 64, 4))
    for buffer, rows in ((x, 4), (w, 64)):
        zeros = np.zeros((rows, 64), np.uint16)
        buffer.upload_from(zeros.ctypes.data, zeros.nbytes)
    kernel.launch([x.pointer, w.pointer, out.pointer], 4, workspace.pointer, size)
    device.synchronize()
    with pytest.raises(RuntimeStatusError, match=r"argument 2 \('out'\), which is written, "
                       r"overlaps argument 0 \('x'\)") as error:
        kernel.launch([x.pointer, w.pointer, x.pointer], 4, workspace.pointer, size)
    assert error.value.status_name == "LNBWD_ERROR_INVALID_ARGUMENT"


@pytest.mark.parametrize("damage,words", [
    (lambda code: b"", "the file is empty"),
    (lambda code: code[:1000], "ends? at|cut off|beyond"),
    (lambda code: b"not a kernel", "got a file that is none of these"),
])
def test_a_damaged_program_is_an_error(code, damage, words):
    with pytest.raises(RuntimeStatusError, match=words):
        runtime.Program.from_bytes(damage(code))


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(RuntimeStatusError, match="cannot open") as error:
        runtime.Program.from_file(tmp_path / "none.hsaco")
    assert error.value.status_name == "LNBWD_ERROR_FILE"


def test_another_chip_is_an_error(code):
    program = runtime.Program.from_bytes(code)
    with pytest.raises(RuntimeStatusError, match="compiled for gfx942") as error:
        runtime.Kernel(runtime.Device.open("sim:gfx90a"), program)
    assert error.value.status_name == "LNBWD_ERROR_WRONG_CHIP"


@pytest.mark.parametrize("spec", ["gpu", "sim:", "cuda:x"])
def test_a_bad_device_is_an_error(spec):
    with pytest.raises(RuntimeStatusError, match="device: expected 'sim'"):
        runtime.Device.open(spec)


def test_bad_launches_are_errors(code):
    program = runtime.Program.from_bytes(code)
    kernel = runtime.Kernel(runtime.Device.open("sim:gfx942"), program)
    with pytest.raises(ValueError, match=r"expected 8 addresses \(dy, x, gamma"):
        kernel.launch([0] * 7, 0)
    with pytest.raises(RuntimeStatusError, match=r"'dy'.*null pointer"):
        kernel.launch([0] * 8, 1)
    with pytest.raises(RuntimeStatusError, match="expected 0 or more, got -1"):
        kernel.workspace_size(-1)
    buffer = kernel.device.allocate(64)
    for copy in (buffer.upload_from, buffer.download_to):
        with pytest.raises(ValueError, match="expected at most 64 bytes, got 128"):
            copy(0, 128)


def test_handles_are_given_back(code):
    program = runtime.Program.from_bytes(code)
    kernel = runtime.Kernel(runtime.Device.open("sim:gfx942"), program)
    program.close()
    program.close()
    outputs, expected = run(kernel, 2)
    np.testing.assert_allclose(outputs[0], expected[0], atol=1e-5)
    del kernel
    gc.collect()


def test_needs_neither_torch_nor_numpy():
    """In a process of its own, where importing either is an error."""
    text = ("import sys; sys.modules['torch'] = sys.modules['numpy'] = None\n"
            f"sys.path.insert(0, {str(ROOT / 'python')!r})\n"
            "import lnbwd; from lnbwd import runtime\n"
            "print(runtime.Device.open('sim:gfx1100').info.wave_size)")
    result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                            check=True)
    assert result.stdout == "32\n"


def test_a_missing_library_is_an_error(tmp_path):
    text = (f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r})\n"
            "from lnbwd import runtime; from lnbwd.core.runtime import bindings\n"
            f"bindings.library_folders = lambda: [__import__('pathlib').Path({str(tmp_path)!r})]\n"
            "runtime.library_version()")
    result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 1
    assert "liblnbwd-runtime.so was not found in" in result.stderr
    assert "LNBWD_LIBRARY_DIR" in result.stderr


@pytest.mark.skipif(bool(os.environ.get("LNBWD_TEST_INSTALLED")), reason="needs a build folder")
def test_the_folder_that_was_given_is_the_one_that_is_named(tmp_path):
    """Libraries of elsewhere are not taken in the place of those that were asked for."""
    text = (f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
            "from lnbwd import runtime\nruntime.library_version()")
    shutil.copytree(ROOT / "python" / "lnbwd", tmp_path / "lnbwd")
    shutil.copy(ROOT / "lib" / "Chips" / "Chips.json", tmp_path / "lnbwd" / "chips.json")
    (tmp_path / "lnbwd" / "lib").mkdir()
    for file in (BUILD / "lib").glob("liblnbwd-runtime.so*"):
        shutil.copy(file, tmp_path / "lnbwd" / "lib")
    for folder, words in (("", ""), (str(tmp_path / "none"), (
            f"liblnbwd-runtime.so was not found in {tmp_path / 'none'}, which LNBWD_LIBRARY_DIR "
            "names; "))):
        result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                                check=False, env={**os.environ, "LNBWD_LIBRARY_DIR": folder})
        assert (words in result.stderr and result.returncode == 1) if words else (
            result.returncode == 0), result.stderr


@pytest.mark.parametrize("content", [None, "no JSON"])
def test_a_copy_without_the_description_of_the_chips(tmp_path, content):
    shutil.copytree(ROOT / "python" / "lnbwd", tmp_path / "lnbwd")
    if content:
        (tmp_path / "lnbwd" / "chips.json").write_text(content)
    result = subprocess.run(
        [sys.executable, "-c", "import lnbwd.runtime"], capture_output=True, text=True,
        check=False, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("lnbwd.core.base.errors.LnbwdError: expected the description of the "
                           f"chips in {tmp_path / 'lnbwd' / 'chips.json'}, or in "
                           "lib/Chips/Chips.json of a checkout, got ")
    assert "pip install ." in last


@pytest.mark.simulator
def test_a_device_says_whether_its_times_mean_anything():
    device = runtime.Device.open("sim:gfx942")
    assert device.is_stand_in
    # More than the L2, which is all that HIP tells of.
    assert device.cache_bytes == 256 << 20 > device.info.l2_bytes
