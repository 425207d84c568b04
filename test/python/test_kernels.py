# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd.compile, kernels on NumPy arrays, and the cache on disk: all without torch."""

import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import lnbwd
from conftest import ROOT
from lnbwd import CacheWarning, CompileError, LnbwdError, compiler
from lnbwd import precompile as run_precompile
from lnbwd.core.compile import cache, store
from lnbwd.core.compile.kernels import make_spec
from lnbwd.core.compile.spec import norm_source

pytestmark = pytest.mark.compiler

SOURCE = norm_source("layer_norm_bwd", n=64)
SPEC = SOURCE.spec("gfx942", "hsaco")
IS_ROOT = os.geteuid() == 0


compiled_once = functools.cache(store.compile_spec)


@pytest.fixture
def compilations(monkeypatch):
    """What the caches do not have and the compiler is asked for, in order. It is asked once for all
    tests of this file: they are about what is asked for, and test_compiler.py about the answers."""
    asked = []

    def compile_it(spec):
        asked.append(spec)
        return compiled_once(spec)

    monkeypatch.setattr(store, "compile_spec", compile_it)
    return asked


@pytest.fixture
def fresh(tmp_path, new_process, compilations):
    """An empty cache on disk, and nothing in memory."""
    folder = tmp_path / "cache"
    new_process(folder)
    return folder


def entries(folder):
    return sorted(folder.rglob("*.kernel"))


def code_of(spec):
    return store.kernel_store().code(spec)


def run_python(text, **environment):
    text = f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r})\n" + textwrap.dedent(text)
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                          env={**os.environ, **environment}, check=False)


# ----------------------------------------------------------------------------------------- compile


def test_a_kernel_and_its_parts(fresh, tmp_path):
    k = lnbwd.compile("layer_norm_bwd", n=64, dtype="bf16", chip="gfx942")
    assert k.code[:4] == b"\x7fELF"
    assert "v_pk_fma_f32" in k.isa
    assert "define" in k.llvm
    assert "lnbwd.layer_norm_bwd" in k.mlir
    assert k.chips == ("gfx942",) and k.compile_seconds > 0
    assert [a.name for a in k.program.arguments][-3:] == ["dx", "dgamma", "dbeta"]
    path = k.save(tmp_path / "k.hsaco")
    assert path.read_bytes() == k.code
    assert list(tmp_path.glob(".k*")) == []
    assert "layer_norm_bwd with rows of 64 x bf16" in repr(k)
    again = lnbwd.compile("layer_norm_bwd", n=64, dtype="bf16", chip="gfx942")
    assert again.code == k.code and again.compile_seconds == 0
    assert again.isa == k.isa


def test_types_may_be_named_in_several_ways():
    specs = {make_spec("layer_norm_bwd", n=8, dtype=d, chip="gfx942")
             for d in ("bf16", "bfloat16", "torch.bfloat16")}
    assert len(specs) == 1
    spec = make_spec("layer_norm_bwd", n=8, dtype="bf16", chip="gfx942", weight="f32", bias=False)
    assert "%dgamma: memref<8xf32>" in spec.source and "%dbeta" not in spec.source
    spec = make_spec("rms_norm_bwd", n=8, dtype="f16", chip="gfx942", grads=["dx"])
    assert "%gamma: memref<8xf16>" in spec.source and "%dgamma" not in spec.source


def test_ptx_is_a_text():
    k = lnbwd.compile("layer_norm_bwd", n=64, chip="sm_90", format="ptx")
    assert ".entry" in k.isa and k.code.decode().startswith(k.isa[:100])


def test_settings_of_the_device_may_follow_the_chip():
    k = lnbwd.compile("layer_norm_bwd", n=64, dtype="f32", chip="gfx942:xnack-:sramecc+")
    program = lnbwd.runtime.Program.from_bytes(k.code)
    assert program.chip == "gfx942:sramecc+:xnack-"
    lnbwd.runtime.Kernel(lnbwd.runtime.Device.open("sim", program.chip), program)
    with pytest.raises(CompileError, match=r"expected sramecc.* after gfx942, got 'xnack'"):
        print(lnbwd.compile("layer_norm_bwd", n=64, dtype="f32", chip="gfx942:xnack").code)


def test_several_chips_give_a_bundle(tmp_path):
    k = lnbwd.compile("layer_norm_bwd", n=64, dtype="bf16", chips=["gfx942", "gfx1100", "sm_90"])
    assert k.code.startswith(b"__CLANG_OFFLOAD_BUNDLE__")
    path = k.save(tmp_path / "k.bundle")
    with pytest.raises(LnbwdError, match="isa: the kernel is compiled for gfx942, gfx1100, sm_90"):
        _ = k.isa
    assert k.for_chip("gfx1100").code[:4] == b"\x7fELF"
    with pytest.raises(LnbwdError, match="chip: expected one of gfx942"):
        k.for_chip("gfx950")
    assert lnbwd.runtime.Program.for_chip(path.read_bytes(), "gfx1100").chip == "gfx1100"
    bundler = shutil.which("clang-offload-bundler") or "/usr/lib/llvm-22/bin/clang-offload-bundler"
    if not os.access(bundler, os.X_OK):
        pytest.skip("no clang-offload-bundler")
    listed = subprocess.run([bundler, "--list", "--type=o", f"--input={path}"], check=True,
                            capture_output=True, text=True).stdout
    assert {"hipv4-amdgcn-amd-amdhsa--gfx942", "hipv4-amdgcn-amd-amdhsa--gfx1100",
            "hip-nvptx64-nvidia-cuda--sm_90"} <= set(listed.split())


@pytest.mark.parametrize("change,kind,words", [
    ({"op": "softmax"}, ValueError, "op: expected one of layer_norm_bwd, rms_norm_bwd"),
    ({"op": "layer_norm", "grads": ["dx"]}, ValueError, "grads: layer_norm is a forward pass"),
    ({"op": "rms_norm", "epsilon": -1.0}, ValueError, "epsilon: expected a number that is 0"),
    ({"epsilon": 1e-5}, ValueError, "epsilon: layer_norm_bwd takes the forward pass's rstd"),
    ({"n": 0}, ValueError, "n: expected the length of a row, 1 or more, got 0"),
    ({"n": "64"}, TypeError, "n: expected the length"),
    ({"n": True}, TypeError, "n: expected the length"),
    ({"dtype": "f64"}, ValueError, "dtype: expected f16, bf16 or f32"),
    ({"weight": "f16"}, ValueError, "weight: expected f32, got"),
    ({"weight": "int8"}, ValueError, "weight: expected f16, bf16 or f32"),
    ({"weight": False, "grads": ["dweight"]}, ValueError, "grads: there is no weight"),
    ({"grads": ["dy"]}, ValueError, "grads: expected names of dx, dweight, dbias, got 'dy'"),
    ({"grads": []}, ValueError, "expected at least one gradient"),
    ({"op": "rms_norm_bwd", "bias": "f32"}, ValueError, "bias: rms_norm_bwd has none"),
    ({"chip": "gfx1013"}, CompileError, "unknown chip 'gfx1013', expected one of: gfx908"),
    ({"chip": ""}, ValueError, "chip, chips: expected one of the two"),
    ({"chip": "", "chips": "gfx942"}, TypeError, "chips: expected a list of chips"),
    ({"schedule": "threads_per_row=3"}, CompileError, "threads_per_row"),
    ({"schedule": "speed=9"}, CompileError, "unknown schedule field 'speed', expected one of: thr"),
    ({"schedule": {"stages": 1}}, CompileError, "stages.* to be 0, or from 2 to 16, got 1"),
    ({"schedule": {"stages": 1.5}}, CompileError, "'stages' to be a whole number, got '1.5'"),
    ({"schedule": "row_groups"}, CompileError, "'row_groups' to be a whole number, got ''"),
    ({"schedule": 3}, TypeError, "schedule: expected a text or a mapping, got 3"),
    ({"two_pass": "maybe"}, CompileError, "auto, always or never"),
    ({"format": "exe"}, CompileError, "unknown format 'exe'"),
])
def test_wrong_arguments_are_named(change, kind, words):
    arguments = {"op": "layer_norm_bwd", "n": 64, "dtype": "f32", "chip": "gfx942", **change}
    with pytest.raises(kind, match=words):
        lnbwd.compile(**arguments)


def test_a_schedule_by_hand_is_another_kernel(fresh):
    one = lnbwd.compile("layer_norm_bwd", n=64, chip="gfx942")
    two = lnbwd.compile("layer_norm_bwd", n=64, chip="gfx942", schedule="row_groups=2")
    assert one.code != two.code and len(entries(fresh)) == 2
    again = lnbwd.compile("layer_norm_bwd", n=64, chip="gfx942", schedule={"row_groups": 2})
    plain = lnbwd.compile("layer_norm_bwd", n=64, chip="gfx942")
    assert again.code == two.code and plain.code == one.code and len(entries(fresh)) == 2


# ------------------------------------------------------------------------------------ NumPy arrays


def test_a_kernel_on_numpy_arrays():
    rng = np.random.default_rng(0)
    x, dy = rng.standard_normal((2, 6, 64), dtype=np.float32)
    gamma = rng.standard_normal(64, dtype=np.float32)
    rstd = 1 / np.sqrt((x.astype(np.float64)**2).mean(1) + 1e-5)
    k = lnbwd.compile("rms_norm_bwd", n=64, chip="gfx942")
    out = k.run({"dy": dy, "x": x, "gamma": gamma, "rstd": rstd.astype(np.float32)})
    xhat, wdy = x * rstd[:, None], dy * gamma
    dx = rstd[:, None] * (wdy - xhat * (wdy * xhat).mean(1, keepdims=True))
    np.testing.assert_allclose(out["dx"], dx, atol=1e-5)
    np.testing.assert_allclose(out["dgamma"], (dy * xhat).sum(0), atol=1e-5)


def test_the_default_epsilons_are_those_of_pytorch():
    x = np.full((3, 64), 1e-4, np.float32)
    out = lnbwd.compile("rms_norm", n=64, chip="gfx942").run({"x": x, "gamma": np.ones(64, "f")})
    np.testing.assert_allclose(out["rstd"], (1e-8 + 2.0 ** -23) ** -0.5, rtol=1e-5)
    assert f"epsilon = {1e-5:.17e}" in lnbwd.compile("layer_norm", n=64, chip="gfx942").mlir


def test_a_forward_pass_on_numpy_arrays():
    x = np.random.default_rng(0).standard_normal((6, 64), dtype=np.float32)
    gamma, beta = np.full(64, 2, np.float32), np.ones(64, np.float32)
    k = lnbwd.compile("layer_norm", n=64, chip="gfx942", epsilon=1e-3)
    out = k.run({"x": x, "gamma": gamma, "beta": beta})
    rstd = 1 / np.sqrt(x.var(1) + 1e-3)
    np.testing.assert_allclose(out["mean"], x.mean(1), atol=1e-6)
    np.testing.assert_allclose(out["rstd"], rstd, rtol=1e-5)
    np.testing.assert_allclose(out["y"], 2 * (x - x.mean(1, keepdims=True)) * rstd[:, None] + 1,
                               atol=1e-5)


def test_bfloat16_travels_as_its_bits():
    ones = np.full((3, 64), 0x3f80, np.uint16)
    k = lnbwd.compile("layer_norm_bwd", n=64, dtype="bf16", chip="gfx942", weight=False,
                      grads=["dbias"])
    out = k.run({"dy": ones, "x": ones, "mean": np.zeros(3, np.float32),
                 "rstd": np.ones(3, np.float32)})
    assert (out["dbeta"] == 0x4040).all()  # 3.0


@pytest.mark.parametrize("change,words", [
    ({"dy": None}, "missing: dy"),
    ({"extra": np.zeros(1, np.float32)}, "unknown: extra"),
    ({"x": np.zeros((4, 64), np.float64)}, "x: expected float32, got float64"),
    ({"x": np.zeros((4, 63), np.float32)}, r"x: expected rows of 64 elements.*\(4, 63\)"),
    ({"x": np.zeros((64, 4), np.float32)}, r"x: expected rows of 64 elements"),
    ({"mean": np.zeros(3, np.float32)}, "mean: expected 4 rows like the arrays before it, got 3"),
    ({"gamma": np.zeros(63, np.float32)}, "gamma: expected 64 elements, got 63"),
])
def test_wrong_arrays_are_named(change, words):
    arrays = {"dy": np.zeros((4, 64), np.float32), "x": np.zeros((4, 64), np.float32),
              "gamma": np.zeros(64, np.float32), "mean": np.zeros(4, np.float32),
              "rstd": np.zeros(4, np.float32), **change}
    arrays = {name: a for name, a in arrays.items() if a is not None}
    k = lnbwd.compile("layer_norm_bwd", n=64, chip="gfx942")
    with pytest.raises(ValueError, match=words):
        k.run(arrays)


def test_compile_and_run_without_torch():
    result = run_python("""
        sys.modules["torch"] = None
        import lnbwd, numpy as np
        k = lnbwd.compile("layer_norm_bwd", n=8, chip="gfx942", bias=False)
        z = np.zeros((2, 8), np.float32)
        print(sorted(k.run(dict(dy=z, x=z, gamma=z[0], mean=z[:, 0], rstd=z[:, 0]))))
        try:
            lnbwd.layer_norm
        except ImportError as error:
            print(error)
    """)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[0] == "['dgamma', 'dx']"
    assert "lnbwd.layer_norm needs PyTorch, which is not installed" in result.stdout


# ------------------------------------------------------------------------------------------- cache


def test_a_second_process_finds_the_kernel(fresh, compilations, new_process):
    code = code_of(SPEC)
    assert len(entries(fresh)) == 1
    new_process()
    assert code_of(SPEC) == code
    assert compilations == [SPEC]


def test_another_compiler_compiles_anew(fresh, monkeypatch, compilations, new_process):
    code_of(SPEC)
    new_process()
    monkeypatch.setattr(compiler, "compiler_id", lambda: "lnbwd-another")
    code_of(SPEC)
    assert len(entries(fresh)) == 2 and len(compilations) == 2
    assert "lnbwd-another" in {e.stem for e in entries(fresh)}


def test_a_machine_without_a_compiler_loads_from_the_cache(fresh, new_process, request):
    code = code_of(SPEC)
    new_process()
    request.getfixturevalue("no_compiler")
    assert code_of(SPEC) == code
    other = make_spec("layer_norm_bwd", n=65, chip="gfx942")
    with pytest.raises(LnbwdError, match=r"no kernel for layer_norm_bwd with rows of 65 x f32.*"
                                         r"no compiler.*lnbwd.precompile"):
        code_of(other)


def test_a_new_nvidia_chip_gets_the_ptx_of_the_latest_before_it(fresh, new_process, request):
    assert b".target sm_120" in store.kernel_store().code_for(SOURCE.spec, "sm_130")
    new_process()
    request.getfixturevalue("no_compiler")
    assert b".target sm_120" in store.kernel_store().code_for(SOURCE.spec, "sm_130")


def test_an_amd_chip_that_no_entry_serves(fresh):
    with pytest.raises(LnbwdError, match="the device's chip gfx1013 is not one that the compiler"):
        store.kernel_store().code_for(SOURCE.spec, "gfx1013")


DAMAGES = {
    "cut off": lambda data: data[:-10],
    "empty": lambda data: b"",
    "a bit flipped in the code": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "no header": lambda data: data.partition(b"\n")[2],
    "another format": lambda data: data.replace(b"lnbwd-kernel 1", b"lnbwd-kernel 2"),
    "a header that is no object": lambda data: b"[]\n" + data.partition(b"\n")[2],
    "zeros": lambda data: bytes(len(data)),
    "too deep": lambda data: b"[" * 60000 + b"\n" + data,
    "not JSON": lambda data: b"{]\n" + data,
    "not text": lambda data: b"\xff\xfe\n" + data,
}


def test_a_pipe_is_no_entry(fresh, compilations, new_process):
    code = code_of(SPEC)
    (entry,) = entries(fresh)
    entry.unlink()
    os.mkfifo(entry)
    new_process()
    signal.alarm(60)  # It would wait for what is written there.
    assert code_of(SPEC) == code
    signal.alarm(0)
    assert len(compilations) == 2 and entry.is_file()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_compiled_anew_with_one_warning(fresh, compilations, damage,
                                                           new_process):
    code = code_of(SPEC)
    (entry,) = entries(fresh)
    entry.write_bytes(DAMAGES[damage](entry.read_bytes()))
    new_process()
    with pytest.warns(CacheWarning, match="is damaged") as record:
        assert code_of(SPEC) == code
    assert len(record) == 1 and compilations == [SPEC] * 2
    new_process()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert code_of(SPEC) == code
    assert compilations == [SPEC] * 2


def test_an_entry_of_another_kernel_is_not_taken(fresh, new_process):
    code_of(SPEC)
    other = make_spec("layer_norm_bwd", n=32, chip="gfx942")
    code = code_of(other)
    first, second = (store.kernel_cache()._entry_folder(s) for s in (SPEC, other))
    for entry in first.iterdir():
        shutil.copy(entry, second / entry.name)
    new_process()
    with pytest.warns(CacheWarning, match="it is of another kernel"):
        assert code_of(other) == code


def test_a_half_written_file_is_not_looked_at(fresh, compilations, new_process):
    code_of(SPEC)
    (entry,) = entries(fresh)
    entry.rename(entry.with_name(".half.tmp"))
    new_process()
    code_of(SPEC)
    assert entry.exists() and compilations == [SPEC] * 2


@pytest.mark.parametrize("kind", ["a file", "full", "not writable", "no name"])
def test_a_folder_that_takes_nothing_gives_one_warning(tmp_path, monkeypatch, compilations, kind,
                                                       new_process):
    folder = tmp_path / "cache"
    if kind == "a file":
        folder.write_text("not a folder")
    elif kind == "full":
        if not os.path.exists("/dev/full"):
            pytest.skip("no /dev/full")
        import tempfile

        def full(prefix, suffix, dir):
            path = pathlib.Path(dir) / "x.tmp"
            path.symlink_to("/dev/full")
            return os.open(path, os.O_WRONLY), str(path)
        monkeypatch.setattr(tempfile, "mkstemp", full)
        # The link itself, not what it leads to, is what the cache would touch.
        monkeypatch.setattr(os, "chmod", lambda *a: None)
    elif kind == "no name":
        folder = tmp_path / "a\0b"
    else:
        if IS_ROOT:
            pytest.skip("root may write anywhere")
        folder.mkdir(mode=0o500)
    new_process(folder)
    with pytest.warns(CacheWarning, match=r"cannot be (written|read).*LNBWD_CACHE_DIR") as record:
        for n in (64, 32):
            assert code_of(make_spec("layer_norm_bwd", n=n, chip="gfx942"))
    kinds = [str(w.message).split("cannot be ")[1].split(":")[0] for w in record]
    assert len(kinds) == len(set(kinds))


def test_the_cache_can_be_switched_off(tmp_path):
    result = run_python("""
        import warnings; warnings.simplefilter("error")
        import lnbwd
        lnbwd.compile("layer_norm_bwd", n=8, chip="gfx942")
        print(lnbwd.kernel_cache().folder)
    """, LNBWD_CACHE_DIR="off", HOME=str(tmp_path))
    assert result.stdout == "None\n", result.stderr
    assert list(tmp_path.iterdir()) == []


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.delenv("LNBWD_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.default_folder() == tmp_path / "lnbwd"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.default_folder() == tmp_path / ".cache" / "lnbwd"


def test_many_processes_at_once(tmp_path):
    """They start together on an empty cache; all get the kernels, and a whole file of each is
    left. Twice as many as the machine of the tests has processors."""
    text = textwrap.dedent(f"""
        import sys, hashlib, pathlib, time
        sys.path.insert(0, {str(ROOT / 'python')!r})
        import warnings; warnings.simplefilter("error")
        import lnbwd
        print("ready", flush=True)
        sys.stdin.readline()
        for n in (8, 16):
            code = lnbwd.compile("layer_norm_bwd", n=n, chip="gfx942").code
            print(hashlib.sha256(code).hexdigest())
    """)
    environment = {**os.environ, "LNBWD_CACHE_DIR": str(tmp_path / "cache")}
    processes = [subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=environment) for _ in range(4)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate() for process in processes]
    assert {out for out, _ in outputs} == {outputs[0][0]}
    assert all(err == "" for _, err in outputs)
    assert len(entries(tmp_path / "cache")) == 2
    assert not list((tmp_path / "cache").rglob(".*.tmp"))


def test_a_process_killed_while_it_writes_leaves_no_entry(tmp_path):
    result = run_python("""
        import os, lnbwd
        from lnbwd.core.compile import cache
        cache.os.replace = lambda *a: os._exit(9)
        lnbwd.compile("layer_norm_bwd", n=8, chip="gfx942")
    """, LNBWD_CACHE_DIR=str(tmp_path))
    assert result.returncode == 9
    assert entries(tmp_path) == []
    assert run_python("import lnbwd; lnbwd.compile('layer_norm_bwd', n=8, chip='gfx942')",
                      LNBWD_CACHE_DIR=str(tmp_path)).returncode == 0
    assert len(entries(tmp_path)) == 1


# -------------------------------------------------------------------------------------- precompile


def test_precompile(fresh):
    request = dict(op="layer_norm_bwd", n=64, dtype="bf16", chips=["gfx942", "gfx1100"])
    assert [d.was_cached for d in run_precompile([request, SPEC])] == [False] * 3
    assert len(entries(fresh)) == 3
    assert [d.was_cached for d in run_precompile([request, SPEC])] == [True] * 3
    headers = [json.loads(path.read_bytes().partition(b"\n")[0]) for path in entries(fresh)]
    assert {header["spec"]["chip"] for header in headers} == {"gfx942", "gfx1100"}
    with pytest.raises(TypeError, match="requests: expected dicts"):
        run_precompile(["layer_norm_bwd"])
    with pytest.raises(ValueError, match="dtype: expected"):
        run_precompile([dict(op="layer_norm_bwd", n=64, dtype="f8", chip="gfx942")])


@pytest.mark.parametrize("jobs", [0, -3])
def test_precompile_takes_one_job_or_more(jobs):
    with pytest.raises(ValueError, match="jobs: expected the number of compilations at once, 1"):
        lnbwd.precompile([], jobs=jobs)


def test_precompile_says_when_the_folder_takes_nothing(tmp_path, fresh):
    (tmp_path / "file").write_text("")
    with pytest.warns(CacheWarning), pytest.raises(LnbwdError, match=r"cache: .*cannot be"):
        run_precompile([SPEC], cache=tmp_path / "file")
