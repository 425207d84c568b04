# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pytest plugin: its reports, and Triton's kernels where Triton is installed."""

import ctypes
import dataclasses
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import loaded_python
import pytest
from lnbwd_sim import errors, report
from lnbwd_sim.fidelity import Fidelity, is_rounded
from lnbwd_sim.pytest_plugin import command_lines

INPUTS = pathlib.Path(__file__).resolve().parent / "Inputs"
PYTHON = pathlib.Path(__file__).resolve().parents[1] / "python"


def entry():
    frame = {"file": "/lib/triton/language/standard.py", "line": 3, "column": 1, "function": "sum"}
    mine = {"file": str(INPUTS / "triton_kernels.py"), "line": 30, "column": 5, "function": ""}
    return {"chip": "gfx942", "kernel": "reverse", "check": "races", "message": "whole",
            "cause": "a race: 50 %", "count": 2, "stops": False, "workgroup": [0, 0, 0], "wave": 1,
            "lane": 4,
            "where": {"instruction": "ds_write", "at": "reverse+0x4", "source": [frame, mine]},
            "other": {"instruction": "ds_read", "at": "reverse+0x8", "source": [mine]}}


def test_error_is_at_the_line_of_the_kernel():
    error = errors.parse(entry(), grid=(1, 1, 1))
    assert error.place.line == 30
    text = error.describe()
    for part in ("races: a race", "(2 times)", "triton_kernels.py:30: tl.store(x + o",
                 "reverse+0x8: ds_read", "wave 1, lane 4"):
        assert part in text
    assert errors.CheckError.from_dict(json.loads(json.dumps(error.to_dict()))) == error


def test_annotation_is_one_escaped_line():
    line = errors.annotation(errors.parse(entry()))
    assert line.startswith("::error file=") and ",line=30,col=5," in line
    assert "\n" not in line and "50 %25" in line


def test_suppressions(tmp_path):
    file = tmp_path / "suppressions.toml"
    file.write_text('[[suppress]]\nkernel = "rev*"\nsource = "*kernels.py:30"\nreason = "known"\n')
    entries = errors.read_suppressions(file)
    error = errors.suppress(errors.parse(entry()), entries)
    assert error.suppressed == "known" and entries[0].matches(error)
    log = errors.sarif([errors.Sarif("gfx942", [error])])
    result = log["runs"][0]["results"][0]
    assert result["suppressions"] == [{"kind": "external", "justification": "known"}]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 30
    assert result["relatedLocations"]
    again = dataclasses.replace(error, message="at another address", count=9)
    moved = dataclasses.replace(error, cause="lanes")
    logged = errors.Sarif("gfx942", [error, again, moved]).to_dict()["results"]
    prints = [entry["partialFingerprints"]["lnbwdSim/v1"] for entry in logged]
    assert prints[0] == prints[1] != prints[2]
    for text, problem in (('[[suppress]]\nkernel = "a"', "expected a reason"),
                          ('[[suppress]]\nreason = "a"', "expected one of"),
                          ('[[suppress]]\nreason = "a"\nwave = 1', "got wave"),
                          ("[", "suppressions")):
        file.write_text(text)
        with pytest.raises(errors.SuppressionError, match=problem):
            errors.read_suppressions(file)
    file.unlink()
    with pytest.raises(errors.SuppressionError, match=r"expected a file .* got: No such file"):
        errors.read_suppressions(file)


def test_saved_errors_become_a_report(tmp_path, capsys):
    saved = tmp_path / "errors.jsonl"
    leak = {"chip": "", "kernel": "", "check": "leaks", "message": "1 buffer", "count": 1,
            "stops": False}
    again = {**entry(), "grid": [2, 1, 1]}
    saved.write_text("".join(json.dumps(e) + "\n" for e in (again, again, leak)))
    first, second = report.read_errors(saved)
    assert (first.count, first.grid, second.check) == (4, (2, 1, 1), "leaks")
    suppressions = tmp_path / "suppressions.toml"
    suppressions.write_text('[[suppress]]\ncheck = "leaks"\nreason = "at the end"\n'
                            '[[suppress]]\ncheck = "waits"\nreason = "none"\n')
    log = tmp_path / "logs" / "out.sarif"
    arguments = [str(saved), "--suppressions", str(suppressions), "--sarif", str(log)]
    assert report.main([*arguments, "--annotations"]) == 1
    out = capsys.readouterr().out
    for part in ("a race: 50 % (4 times)", "suppressed: leaks: kernel : at the end",
                 "suppression without an error: check 'waits'", "1 errors, 1 suppressed",
                 "::error file="):
        assert part in out
    results = [r for run in json.loads(log.read_text())["runs"] for r in run["results"]]
    assert [r["ruleId"] for r in results] == ["races", "leaks"]
    assert results[1]["suppressions"][0]["justification"] == "at the end"
    suppressions.write_text('[[suppress]]\ncheck = "*"\nreason = "all"\n')
    assert report.main(arguments) == 0
    assert errors.STOPPED not in capsys.readouterr().out
    saved.write_text(json.dumps({**again, "stops": True}))
    assert report.main(arguments) == 1
    assert errors.STOPPED in capsys.readouterr().out
    saved.write_text("{}\n")
    assert report.main([str(saved)]) == 2
    assert "errors.jsonl:1: expected an error of --save-errors" in capsys.readouterr().out
    assert report.main([str(tmp_path / "none")]) == 2
    assert "No such file" in capsys.readouterr().out


def test_a_run_for_each_chip():
    given = ["--amdgpu", "gfx942,gfx1201", "--junitxml", "out.xml", "-q", "--amdgpu-sarif=x.sarif"]
    lines = dict(command_lines(given, ["gfx942", "gfx1201"], {"gfx942": pathlib.Path("a.sarif")}))
    assert lines["gfx942"] == ["--amdgpu=gfx942", "--amdgpu-sarif=a.sarif",
                               "--junitxml=out-gfx942.xml", "-q"]
    assert lines["gfx1201"] == ["--amdgpu=gfx1201", "--junitxml=out-gfx1201.xml", "-q"]


def test_fidelity(tmp_path):
    file = tmp_path / "coverage"
    file.write_text("gfx942 v_exp_f32 executed\ngfx942 v_add_f32 executed\ngfx942 x missing\n")
    fidelity = Fidelity(kernels={"softmax": {"v_exp_f32"}, "copy": {"v_add_f32"}})
    fidelity.read(file)
    assert fidelity.to_dict() == {"exact": 1, "rounded": ["v_exp_f32"], "not_modelled": ["x"],
                                  "kernels_with_rounded": {"softmax": ["v_exp_f32"]}}
    assert is_rounded("v_mfma_f32_32x32x8_f16") and not is_rounded("v_mfma_i32_16x16x32_i8")


CLIENT = """
import ctypes, re, sys
from lnbwd_sim.library import Library
library = Library("gfx942")
memory = (ctypes.c_float * 100)()
library.register(ctypes.addressof(memory), 400)
library.describe(ctypes.addressof(memory), 400, "x", unwritten=True)
library.unregister(ctypes.addressof(memory))
known = library.properties()
assert (known.major, known.minor, known.warp_size) == (9, 4, 64), known
assert known.gcnArchName.startswith("gfx942") and library.errors() == []
assert known.name.endswith(" (simulated)") and known.multi_processor_count == 304
assert known.total_memory > known.shared_memory_per_block == 65536
declared = re.findall(r"LNBWD_SIM_(\\w+) = ([0-9 +]+)", open(sys.argv[1]).read())
assert len(declared) > 10
for name, value in declared:
    assert library._constant(name) == sum(map(int, value.split("+"))), name
"""


def environment(build, **more):
    # Hypothesis and others that are installed would be loaded by each run of pytest.
    return {**os.environ, "LNBWD_SIM_LIBRARY": str(build / "lib" / "liblnbwd-hip-sim.so"),
            "PYTHONPATH": str(PYTHON), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **more}


def test_library(build):
    if not (build / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("needs the simulator")
    # A process of its own: the chip is chosen when the library is loaded.
    header = PYTHON.parent / "include" / "lnbwd" / "Simulator" / "SimulatorAPI.h"
    subprocess.run([sys.executable, "-c", CLIENT, header], env=environment(build), check=True)
    assert ctypes.sizeof(ctypes.c_void_p) == 8


def test_paths_of_the_package():
    def printed(*arguments):
        return subprocess.run([sys.executable, "-m", "lnbwd_sim", *arguments], text=True,
                              env={**os.environ, "PYTHONPATH": str(PYTHON)}, capture_output=True)
    package = PYTHON / "lnbwd_sim"
    assert printed().stdout == f"{package / 'lib' / 'liblnbwd-hip-sim.so'}\n"
    assert printed("--include").stdout == f"{package / 'include'}\n"
    wrong = printed("--headers")
    assert wrong.returncode == 1
    assert "--include, or report and its arguments, got --headers" in wrong.stderr


CORPUS = INPUTS / "triton_corpus"
# One of each kind that was reported or refused wrongly once.
SAMPLE = ("tiles.py::test_welford[True-8-1024]", "tiles.py::test_sort[16-f32-False]",
          "products.py::test_dot_scaled[shape1-e2m1-e2m1]", "products.py::test_splitk")
needs_triton = pytest.mark.skipif(not all(map(importlib.util.find_spec, ("torch", "triton"))),
                                  reason="needs PyTorch and Triton")
CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
# Waves of 64 and of 32 lanes; the latter's older instructions test_processes has. Each chip with
# --full.
SOME_CHIPS = ("gfx950", "gfx1201")


def run_plugin(build, tmp_path, chip, *arguments, **variables):
    return loaded_python.run(
        ["-m", "pytest", "-p", "lnbwd_sim.pytest_plugin", "-p", "no:cacheprovider", "-v",
         "--amdgpu", chip, *arguments],
        env=environment(build, TRITON_CACHE_DIR=str(tmp_path / "cache"), **variables))


@needs_triton
def test_first_example_of_the_readme(build, tmp_path):
    readme = (PYTHON.parent / "README.md").read_text(encoding="utf-8").partition("## Test a")[2]
    source, report = readme.split("```python\n")[1].split("\n```")[0], readme.split("```\n")[2]
    (tmp_path / "test_reverse.py").write_text(source + "\n", encoding="utf-8")
    run = run_plugin(build, tmp_path, "gfx942", tmp_path / "test_reverse.py")
    assert run.returncode == 1, run.stdout + run.stderr

    def words(text):
        return re.sub(r"\S*(?=test_reverse\.py)|0x[0-9a-f]{5,}|\s+", " ", text).split()
    expected, found = words(report.partition("gfx942 ")[2]), words(run.stdout)
    assert expected[0] == "races:"
    assert any(found[k:k + len(expected)] == expected for k in range(len(found))), run.stdout


@needs_triton
def test_edited_machine_code(build, tmp_path):
    """A wait that somebody deletes in the text that Triton dumps."""
    test = f"{INPUTS / 'triton_kernels.py'}::test_right"
    run = run_plugin(build, tmp_path, "gfx942", test, TRITON_KERNEL_DUMP="1",
                     TRITON_DUMP_DIR=str(tmp_path / "dump"))
    assert run.returncode == 0, run.stdout + run.stderr
    [dumped] = (tmp_path / "dump").rglob("add.amdgcn")
    edited = tmp_path / "override" / dumped.relative_to(tmp_path / "dump")
    edited.parent.mkdir(parents=True)
    before, wait, after = dumped.read_text(encoding="utf-8").rpartition("\ts_waitcnt vmcnt(0)")
    assert wait
    edited.write_text(before + after, encoding="utf-8")
    run = run_plugin(build, tmp_path, "gfx942", test, TRITON_KERNEL_OVERRIDE="1",
                     TRITON_OVERRIDE_DIR=str(tmp_path / "override"), TRITON_ALWAYS_COMPILE="1")
    assert run.returncode == 1 and "gfx942 waits: v" in run.stdout, run.stdout + run.stderr


@needs_triton
def test_run_that_checks_nothing(build, tmp_path):
    (tmp_path / "test_host.py").write_text("def test_host():\n    pass\n", encoding="utf-8")
    run = run_plugin(build, tmp_path, "gfx942", tmp_path / "test_host.py")
    assert run.returncode == 1 and "1 passed" in run.stdout, run.stdout + run.stderr
    assert "error: nothing was checked: expected a test that launches a kernel" in run.stdout
    run = run_plugin(build, tmp_path, "gfx942", tmp_path / "test_host.py", "--collect-only")
    assert run.returncode == 0 and "nothing was checked" not in run.stdout, run.stdout
    run = run_plugin(build, tmp_path, "gfx942", tmp_path / "test_host.py",
                     f"{INPUTS / 'triton_kernels.py'}::test_right")
    assert run.returncode == 0 and "nothing was checked" not in run.stdout, run.stdout


@needs_triton
@pytest.mark.parametrize("chips", [
    SOME_CHIPS, pytest.param(CHIPS, marks=pytest.mark.full)], ids="-".join)
def test_triton_kernels(chips, build, tmp_path):
    log = tmp_path / "log.sarif"
    run = run_plugin(build, tmp_path, ",".join(chips), "--amdgpu-sarif", log,
                     "--amdgpu-autotune=all", INPUTS / "triton_kernels.py",
                     *(f"{CORPUS}/{test}" for test in SAMPLE))
    assert run.returncode == 1, run.stdout + run.stderr

    def count(text):
        return run.stdout.count(text)
    for test in ("right", "stride", "large", "autograd_and_autotuner", "copies", "parts",
                 "pitch[right]", "packed", "one_stride[all]", "one_stride[some]", "lock[locked-16]",
                 "lock[locked-256]", "table[kept]", "outer[right]", "each_row[right]",
                 "cache[right]", "position[right]", "position[longer]", "interleave[right]",
                 "two_loops[right]", "stride_to_the_end", "filter[none]", "left_out[none]",
                 "wide_offset[64-False]", "wide_offset[1099511627776-True]"):
        assert count(f"::test_{test} PASSED") == len(chips), run.stdout
    for test in ("out_of_bounds", "never_written", "race", "error_that_is_caught", "gaps",
                 "negative_offset", "wide_offset[1099511627776-False]",
                 "wide_offset[1073741824-False]", "pitch[wrong]",
                 "pitch[other]", "one_stride[none]", "lock[unlocked-16]", "lock[unlocked-256]",
                 "table[freed]", "table[resized]", "outer[wrong]", "each_row[short]",
                 "each_row[half]", "cache[wrong]", "position[wrong]", "interleave[wrong]",
                 "two_loops[wrong]", "filter[index]", "filter[backwards]", "filter[stored]",
                 "filter[late]", "filter[value]", "left_out[first]", "left_out[second]",
                 *(f"left_out[{fault}]" for fault in ("part", "twice", "chance", "before"))):
        assert count(f"::test_{test} FAILED") == len(chips), run.stdout
    for test in SAMPLE:
        assert count(f"{test} PASSED") == len(chips), run.stdout
    # A comparison that fails: which line stored the first wrong element, and what was read.
    for test, *texts in (
            ("filter[value]", "192 of the 192 elements of 'out' are wrong, all, the first of them "
             "[0, 0]: ", "  stored by workgroup 0 at ", "  which has read [3:4, :] of 'x' at ",
             "  which has read [0:1] of 'index' at ", "  which has read all of 'w' at "),
            ("filter[stored]", "[6:7, :] of 'x'", "[5:6] of 'index'"),
            ("filter[backwards]", "[3:4, :] of 'x'", "all of 'w'"),
            ("filter[index]", " are wrong, [1:6, :], the first of them [1, 0]: ",
             "read [3:4, :] of 'x' at ", "read [0:1] of 'index' at ", "read all of 'w' at "),
            ("outer[wrong]", "stored by workgroup ", "tl.store(out + at, products"),
            ("each_row[short]", " are wrong, [1:12], the first of them [1]: ", "of 'x' at "),
            ("each_row[half]", "stored by workgroup 1 at "), ("position[wrong]", "of 'position'"),
            ("interleave[wrong]", "tl.load(b + at"),
            ("two_loops[wrong]", "stored by workgroup 0 at ", "read [0:1, :] of 'x'"),
            *((f"left_out[{fault}]", "never written") for fault in ("first", "second", "part")),
            ("left_out[chance]", " are wrong, all")):
        report = run.stdout.partition(f"_ test_{test} _")[2].partition("\n____")[0]
        assert all(text in report for text in ["the comparison that failed", *texts]), report
    logged = json.loads(log.read_text())["runs"]
    assert [of_chip["properties"]["chip"] for of_chip in logged] == list(chips)
    for of_chip in logged:
        check_reports(of_chip["results"])


@needs_triton
def test_sampled_workgroups(build, tmp_path):
    tests = [f"{INPUTS / 'triton_kernels.py'}::test_{test}"
             for test in ("large", "race", "gaps", "filter[value]", "pitch[wrong]")]
    run = run_plugin(build, tmp_path, "gfx942", "--amdgpu-sample", "3", *tests)
    for test, outcome in (("large", "PASSED"), ("race", "FAILED"), ("gaps", "FAILED"),
                          ("filter[value]", "FAILED")):
        assert f"test_{test} {outcome}" in run.stdout, run.stdout
    # An explanation needs all workgroups; rows further apart are not tried.
    assert "[3:4, :] of 'x'" in run.stdout and "strides:" not in run.stdout, run.stdout
    run = run_plugin(build, tmp_path, "gfx942", "--amdgpu-sample", "0", *tests)
    assert run.returncode == 4 and "expected a number N of 1 or more" in run.stderr, run.stderr


@needs_triton
@pytest.mark.parametrize("chip", ["gfx942", "gfx1201"])
def test_warnings(chip, build, tmp_path):
    run = run_plugin(build, tmp_path, chip, INPUTS / "triton_kernels.py", "-k",
                     "blocks_far_apart or sums_of_halves or right or large")
    assert run.returncode == 0 and "test_blocks_far_apart[False] PASSED" in run.stdout, run.stdout
    texts = re.findall(r"triton_kernels\.py:\d+: KernelWarning: (.*)", run.stdout)
    assert len(texts) == 2, run.stdout
    assert "from index 2143 on: it is the index times 'stride', 1002240 in this" in texts[0]
    assert "kernel sum_products: this loop adds up numbers of float16" in texts[1]
    run = run_plugin(build, tmp_path, chip, "-W", "error::lnbwd_sim.kernel_warnings.KernelWarning",
                     f"{INPUTS / 'triton_kernels.py'}::test_sums_of_halves")
    assert "test_sums_of_halves[True] FAILED" in run.stdout, run.stdout
    assert "test_sums_of_halves[False] PASSED" in run.stdout


def check_reports(results):
    """The errors of a chip."""
    texts = {r["properties"]["test"].split("::")[1]: r["message"]["text"] for r in results}
    assert "the nearest buffer 'x'" in texts["test_out_of_bounds"]
    assert " made from the argument 'w', which is" in texts["test_far_out_of_bounds"]
    assert "values = tl.load(x + o, mask=o <= n)" in texts["test_out_of_bounds"]
    assert "buffer 'x, y' of 256 bytes: the memory was never written" in texts["test_never_written"]
    assert "36 of the 100 elements of the tensor 'out' were never written" in texts["test_gaps"]
    races = [r for r in results if r["properties"]["test"].endswith("test_race")]
    assert races and all(r["ruleId"] == "races" and r["relatedLocations"] for r in races)
    # One line reads what another one stores, by several instructions each.
    [of_block] = [r for r in results if r["properties"]["test"].endswith("test_race_of_a_block")]
    assert of_block["properties"]["count"] > 1
    assert "offset -8 from a buffer's base is negative" in texts["test_negative_offset"]
    for step in (1 << 40, 1 << 30):
        text = texts[f"test_wide_offset[{step}-False]"]
        assert f"offset of {4 * step} bytes from 'x'" in text or "nearest buffer" in text
    assert "'stride_x' is not what leads from row to row of 'x'" in texts["test_pitch[wrong]"]
    assert "'stride' is not what leads from row to row of 'a'" in texts["test_one_stride[none]"]
    assert "'stride_x', 'stride_y' is not what leads from row to row of 'y'" in \
        texts["test_pitch[other]"]
    for fate in ("freed", "resized"):
        assert "is a use after free: it was in the buffer" in texts[f"test_table[{fate}]"]
    assert "'batch', 'row' is not what leads from row to row of 'cache'" in \
        texts["test_cache[wrong]"]
    for name, part in (("first", "all of 'y'"), ("second", "all of 'z'"),
                       ("part", "[0:37] of 'z'")):
        assert f"{part} was never written: no launch stores it" in texts[f"test_left_out[{name}]"]
    # A wrong result that was stored is not explained.
    for test in ("filter[index]", "filter[late]", "filter[value]", "outer[wrong]",
                 "each_row[half]", "left_out[twice]", "left_out[chance]", "left_out[before]"):
        assert f"test_{test}" not in texts


class NoLibrary:
    def register(self, *arguments, **more):
        pass

    unregister = describe = register


@needs_triton
def test_freed_memory_is_kept_for_a_while(monkeypatch):
    import torch
    from lnbwd_sim import torch_device
    monkeypatch.setattr(torch_device, "_MOST_FREED_BYTES", 4096)
    device = torch_device.Device(NoLibrary())
    with device:
        kept = torch.zeros(256, device="cuda")
        pointers = [torch.zeros(256, device="cuda").data_ptr() for _ in range(6)]
    device.collect()
    assert len(set(pointers)) == 6
    assert [buffer.pointer for buffer in device._freed] == pointers[2:]
    assert [buffer.pointer for buffer in device.buffers] == [kept.data_ptr()]


@needs_triton
def test_rows_side_by_side():
    import torch
    from lnbwd_sim.repeat import _has_joined
    x = torch.empty(2, 6, 35)
    assert _has_joined([torch.empty(2, 3, 70)], x, 35)
    for other in (x, torch.empty(2, 35, 6), torch.empty(4, 70), torch.empty(35, 12)):
        assert not _has_joined([other], x, 35), other.shape


@needs_triton
def test_strides_that_are_known_to_be():
    import pickle

    from lnbwd_sim.torch_device import Stride, tagged, untagged
    owner = object()
    row, one = tagged((40, 1), owner)
    assert row == 40 and row.owner is owner and [0] * one == [0] and f"{row}" == "40"
    assert type(row * 2) is type(3 - row) is Stride and (row * 2).owner is None
    assert type(row / 2) is float and row / 2 == 20 and type(pickle.loads(pickle.dumps(row))) is int
    args, kwargs, found = untagged(["x", "n", "stride"], [None, 40], {"stride": row})
    assert (args, kwargs, found) == ([None, 40], {"stride": 40}, {"stride": row})
    assert type(kwargs["stride"]) is int


@needs_triton
def test_processes(build, tmp_path):
    pytest.importorskip("xdist")
    log = tmp_path / "new" / "log.sarif"
    run = run_plugin(build, tmp_path, "gfx1100", "-p", "xdist", "-n2", "--amdgpu-sarif", log,
                     INPUTS / "triton_kernels.py", "-k", "stride or race")
    assert run.returncode == 1, run.stdout + run.stderr
    [of_chip] = json.loads(log.read_text())["runs"]
    tests = {r["properties"]["test"].split("::")[1]: r["ruleId"] for r in of_chip["results"]}
    assert tests["test_race"] == "races" and tests["test_one_stride[none]"] == "strides"
    run = run_plugin(build, tmp_path, "gfx1100,gfx9999", INPUTS / "triton_kernels.py")
    assert run.returncode == 4 and "got 'gfx9999'" in run.stderr and "====" not in run.stdout
    run = run_plugin(build, tmp_path, "gfx1100", "--amdgpu-suppressions", tmp_path / "none.toml")
    assert run.returncode == 4 and "--amdgpu-suppressions: " in run.stderr, run.stderr
    assert "or leave out the option" in run.stderr
    run = run_plugin(build, tmp_path, "gfx1030", f"{INPUTS / 'triton_kernels.py'}::test_stride")
    assert run.returncode == 1 and "does not compile it for gfx1030" in run.stdout, run.stdout


@needs_triton
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.full
def test_triton_corpus(chip, build, tmp_path):
    elementwise = tmp_path / "test_elementwise.py"
    elementwise.write_text(subprocess.run([sys.executable, CORPUS / "elementwise.py"],
                                          capture_output=True, text=True, check=True).stdout)
    run = run_plugin(build, tmp_path, chip, elementwise, CORPUS / "tiles.py",
                     CORPUS / "products.py", CORPUS / "faults.py", CORPUS / "inductor.py",
                     TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "inductor"))
    assert run.returncode == 0, run.stdout + run.stderr
    assert "0 errors" in run.stdout and "not modelled" not in run.stdout
    assert "KernelWarning" not in run.stdout


@needs_triton
def test_gluon_of_cdna5(build, tmp_path):
    run = run_plugin(build, tmp_path, "gfx1250", CORPUS / "gluon_cdna5.py", "-k",
                     "float16-50-100 or rows or 1001 or arrivals or cluster")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "0 errors" in run.stdout and "not modelled" not in run.stdout


@needs_triton
@pytest.mark.skipif(importlib.util.find_spec("flydsl") is None, reason="needs FlyDSL")
@pytest.mark.parametrize("chip", ["gfx942", "gfx1201"])
def test_flydsl(chip, build, tmp_path):
    """Its runtime loads HIP, and its compiler the linker of ROCm."""
    (tmp_path / "llvm" / "bin").mkdir(parents=True)
    (tmp_path / "llvm" / "bin" / "ld.lld").symlink_to("/usr/lib/llvm-22/bin/ld.lld")
    (tmp_path / "libamdhip64.so.7").symlink_to(build / "lib" / "liblnbwd-hip-sim.so")
    run = run_plugin(build, tmp_path, chip, INPUTS / "flydsl_kernels.py", ARCH=chip,
                     FLYDSL_DEBUG_ENABLE_DEBUG_INFO="1", FLYDSL_RUNTIME_ENABLE_CACHE="0",
                     LD_LIBRARY_PATH=str(tmp_path), ROCM_PATH=str(tmp_path))
    for test, outcome in (("right", "PASSED"), ("beyond", "FAILED"), ("unwritten", "FAILED")):
        assert f"test_double[{test}] {outcome}" in run.stdout, run.stdout
    assert "nearest buffer 'x'" in run.stdout and "flydsl_kernels.py:2" in run.stdout


@needs_triton
@pytest.mark.parametrize("fault, most, test, stages", [
    ("barrier removed", "1", "faults.py::test_rotate[100]", {"source", "llir", "amdgcn"}),
    # Without the second store what is read is of the reduction before, or of the loop's last
    # iteration.
    pytest.param("LDS write removed", "2", "tiles.py::test_reduce2d[f32-sum-1-shape3]",
                 {"llir", "amdgcn"}, marks=pytest.mark.full),
    pytest.param("LDS write removed", "1", "products.py::test_matmul_transposed[f32-1-1]",
                 {"llir", "amdgcn"}, marks=pytest.mark.full)])
def test_planted_faults(fault, most, test, stages, build, tmp_path):
    log = tmp_path / "log.json"
    subprocess.run(
        [sys.executable, PYTHON.parent / "scripts" / "plant_faults.py", "--chip", "gfx942",
         "--per-class", most, "--json", log, f"--fault={fault}", f"{CORPUS}/{test}"],
        env=environment(build, TRITON_CACHE_DIR=str(tmp_path / "cache")), check=True)
    entries = json.loads(log.read_text())
    assert {(entry["stage"], entry["outcome"]) for entry in entries} == {
        (stage, "check") for stage in stages}


@needs_triton
def test_speed(build):
    speed = subprocess.run(
        [sys.executable, PYTHON.parent / "scripts" / "speed.py", "--amdgpu", "gfx942",
         f"{CORPUS}/faults.py::test_rotate"], env=environment(build), capture_output=True,
        text=True, check=True).stdout
    assert re.search(r"^2 tests: median .* in all; \d+ million instr", speed, re.M), speed


@needs_triton
def test_use_of_lds():
    from lnbwd_sim.ttgir import use_of_lds
    places = """#loc5 = loc("k.py":5:7)
#loc6 = loc("k.py":6:7)
#loc7 = loc("q"(#loc5))
#loc8 = loc(callsite(#loc7 at #loc6))
"""
    pair = """    %a = ttg.local_alloc %x : (tensor<8xf16>) -> !ttg.memdesc<8xf16> loc(#loc6)
    %b = ttg.local_load %a : !ttg.memdesc<8xf16> -> tensor<8xf16> loc(#loc6)
"""
    assert use_of_lds(places + pair) == ("", True)
    loop = """    %r:2 = scf.for %i = %c iter_args(%s = %t, %m = %n) -> (!ttg.memdesc<1xf16>) {
      %e = ttg.local_load %m : !ttg.memdesc<8xf16> -> tensor<8xf16> loc(#loc8)
      %f = ttg.memdesc_index %o[%i] : !ttg.memdesc<1x8xf16> -> !ttg.memdesc<8xf16> loc(#loc8)
      scf.yield %e, %f : tensor<8xf16>, !ttg.memdesc<8xf16> loc(#loc8)
    }
    %g = ttg.local_load %r#1 : !ttg.memdesc<8xf16> -> tensor<8xf16> loc(#loc8)
"""
    assert use_of_lds(places + pair + loop) == ("5:7,6:7", True)
    # Read in each iteration, twice, of a part that may be the same, by an operation not known.
    for change in (("yield %e, %f", "yield %e, %m"), ("%r#1 ", "%m "), ("load %m", "load %f"),
                   ("load %m", "load %t"), ("memdesc_index", "memdesc_trans")):
        assert use_of_lds(places + loop.replace(*change)) == ("5:7,6:7", False), change
    assert use_of_lds(places + pair + "amdg.cond_barrier %c") == (None, False)


@needs_triton
def test_facts_of_a_kernel():
    from lnbwd_sim.ttgir import Facts
    facts = Facts.of("""  tt.func public @k(%n: i32, %m: i32, %s: i32, %dead: i32) {
    %p = tt.get_program_id y : i32
    %o = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %n_1 = tt.splat %n : i32 -> tensor<8xi32>
    %c = arith.cmpi slt, %o, %n_1 : tensor<8xi32>
    %r = scf.for %k = %c0_i32 to %m step %c1_i32 iter_args(%a = %o) -> (tensor<8xi32>) : i32 {
      scf.for %i = %c0_i32 to %c4_i32 step %c1_i32 : i32 {
      }
    }
    %q = arith.muli %p, %s : i32
    tt.return
""")
    assert facts == Facts(frozenset({"n", "m"}), False, False)


@needs_triton
def test_offsets_beyond_32_bits():
    from lnbwd_sim.offsets import Offsets
    kernel = """  tt.func public @k(%x: !tt.ptr<f16> loc("x"(#loc)), %n: i32, %s: i64) {
    %c1 = arith.constant 8 : i64 loc(#loc1)
    %p = tt.get_program_id y : i32 loc(#loc1)
    %o = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32, #b> loc(#loc1)
    %q = arith.extsi %p : i32 to i64 loc(#loc1)
    %r = arith.muli %q, %s : i64 loc(#loc1)
    %t = arith.trunci %r : i64 to i32 loc(#loc1)
    %u = tt.splat %t : i32 -> tensor<8xi32, #b> loc(#loc1)
    %a = arith.addi %o, %u : tensor<8xi32, #b> loc(#loc1)
    %m = arith.cmpi slt, %o, %v : tensor<8xi32, #b> loc(#loc1)
    %l = amdg.buffer_load %x[%a] : !tt.ptr<f16> -> tensor<8xf16, #b> loc(#loc2)
    tt.return loc(#loc)
  } loc(#loc)
#loc = loc("k.py":1:1)
#loc1 = loc("k.py":2:3)
#loc2 = loc(callsite(#loc3 at #loc1))
#loc3 = loc("f.py":4:5)
"""

    def overflow(*change, grid=(1, 3, 1), s=1 << 29, n=0):
        return Offsets(kernel.replace(*change) if change else kernel).overflow(
            grid, {"x": None, "n": n, "s": s})
    text, where = overflow()
    assert text.startswith("offset of 2147483648 bytes from 'x' does not fit in 31 bits, in "
                           "workgroup (0, 2, 0): ") and text.endswith(" 2147483648 instead")
    assert where["instruction"] == "amdg.buffer_load %x[%a]"
    assert [(frame["file"], frame["line"]) for frame in where["source"]] == [("f.py", 4),
                                                                            ("k.py", 2)]
    # The last offset that fits, other grids, and what is left out or not known.
    assert overflow(s=(1 << 29) - 4) is None and overflow(s=(1 << 29) - 3) is not None
    assert overflow(grid=(3, 2, 3)) is None and overflow(s=-1 << 29) is None
    assert overflow(s=(-1 << 29) - 1) is not None and overflow(s=None) is None
    masked = "%v = tt.splat %n : i32 -> tensor<8xi32, #b> loc(#loc1)\n    %m = arith.cmpi"
    mask = ("%m = arith.cmpi", masked), ("%x[%a]", "%x[%a], %m")
    for n, found in ((0, False), (1, True)):
        of_mask = Offsets(kernel.replace(*mask[0]).replace(*mask[1]))
        assert bool(of_mask.overflow((1, 3, 1), {"n": n, "s": 1 << 30})) == found
    for change in (mask[1], ("%r = arith.muli", "%r = arith.xori"), ("    %q", "    cf.br\n    %q"),
                   ("    %l", "      %l"), ("public @k(%x: !tt.ptr<f16>", "public @k(%x: i64")):
        assert overflow(*change) is None, change


def test_places_for_faults():
    import plant_faults
    text = ("def k(x, n, B):\n    o = tl.program_id(0) * B + tl.arange(0, B)\n"
            "    v = tl.load(x + o, mask=o < n)\n    tl.atomic_add(x, v)\n")
    places = plant_faults.of_source(text)
    assert [fault for fault, _, _ in places] == ["stride", "mask removed", "bound one too high",
                                                 "no atomic"]
    changed = [plant_faults.change_source(text, index) for index in range(4)]
    assert "* (B + 1)" in changed[0] and "mask" not in changed[1] and "o <= n" in changed[2]
    assert "tl.store(x, tl.load(x) + v)" in changed[3]
    edits = plant_faults.LINES["amdgcn"]
    assert edits["wait relaxed"]("\ts_waitcnt vmcnt(0)\n") == "\ts_waitcnt vmcnt(1)\n"
    assert edits["wait removed"]("\ts_wait_loadcnt_dscnt 0x0\n") == ""
    assert edits["barrier removed"]("\ts_nop 0\n") is None
