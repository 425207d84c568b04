# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler half by itself: the C interface through its binding."""

import ctypes
import re
import shutil
import subprocess
import threading

import pytest

import lnbwd
from conftest import ROOT
from lnbwd import CompileError, compiler, runtime

SOURCE = (ROOT / "examples" / "layer_norm_bwd.mlir").read_text()

pytestmark = pytest.mark.skipif(not compiler.available(), reason="no compiler in this build")


def test_another_model_is_another_compiler(tmp_path, monkeypatch):
    """So that the cache keeps their kernels apart."""
    names = {compiler.compiler_id.__wrapped__()}
    model = tmp_path / "mine.trees"
    monkeypatch.setenv("LNBWD_MODEL", str(model))
    for text in ("one", "another"):
        model.write_text(text)
        names.add(compiler.compiler_id.__wrapped__())
    assert len(names) == 3 and all(names)


def test_what_it_knows_of_itself():
    version, llvm = compiler.versions()
    assert version == runtime.library_version()
    assert llvm.startswith("22.")
    assert re.fullmatch(r"lnbwd-[0-9a-f]{24}", compiler.compiler_id())
    chips = compiler.chips()
    assert chips["gfx942"]["waveSize"] == 64
    assert chips["gfx942"]["computeUnits"] == 304
    assert chips["gfx1100"]["waveSize"] == 32
    assert "sm_90" in chips


@pytest.mark.parametrize("chip,form,word", [("gfx942", "hsaco", "v_pk_fma_f32"),
                                            ("gfx1201", "hsaco", "global_load_b128"),
                                            ("sm_90", "ptx", ".entry")])
def test_emits_what_lnbwd_opt_emits(build, tmp_path, chip, form, word):
    result = compiler.compile_mlir(SOURCE, chip)
    assert word in result.isa
    assert "define" in result.llvm
    assert result.diagnostics == ""
    output = tmp_path / "kernel"
    subprocess.run([build / "bin" / "lnbwd-opt", "-", f"--lnbwd-pipeline=chip={chip}",
                    f"--emit={form}", "-o", output], input=SOURCE, text=True, check=True)
    assert result.code == output.read_bytes()
    program = runtime.Program.from_bytes(result.code)
    assert (program.chip, program.format) == (chip, form)


def test_options_of_the_pipeline():
    one = compiler.compile_mlir(SOURCE, "gfx942", pipeline_options="schedule=row_groups=8")
    two = compiler.compile_mlir(SOURCE, "gfx942", pipeline_options="debug-info=true")
    assert len({compiler.compile_mlir(SOURCE, "gfx942").code, one.code, two.code}) == 3


@pytest.mark.skipif(not shutil.which("ptxas"), reason="no ptxas")
def test_cubin():
    result = compiler.compile_mlir(SOURCE, "sm_90", format="cubin")
    assert runtime.Program.from_bytes(result.code).format == "cubin"


def test_save_temps(tmp_path):
    compiler.compile_mlir(SOURCE, "gfx942", save_temps=str(tmp_path / "stages"))
    names = sorted(path.name for path in (tmp_path / "stages").iterdir())
    assert names[0] == "01-input.mlir" and names[-1].endswith("kernel.s")


@pytest.mark.parametrize("arguments,words", [
    ({"chip": "gfx1"}, "unknown chip 'gfx1', expected one of: gfx908"),
    ({"chip": ""}, "expected a chip of: gfx908"),
    ({"pipeline_options": "speed=9"}, "no such option speed"),
    ({"pipeline_options": "schedule=speed=9"}, "unknown schedule field 'speed', expected one of"),
    ({"format": "elf"}, "unknown format 'elf', expected one of: mlir, .*, report-json"),
    ({"format": "report", "report_rows": -1}, "expected report_rows to be at least 0, got -1"),
    ({"format": "ptx"}, "cannot be emitted as ptx for gfx942"),
    ({"chip": "gfx\0942"}, "chip: expected text without zero characters"),
])
def test_wrong_options_are_errors(arguments, words):
    with pytest.raises(CompileError, match=words):
        compiler.compile_mlir(SOURCE, **{"chip": "gfx942", **arguments})


def test_diagnostics_have_lines_of_the_source():
    wrong = SOURCE.replace("mean(%mean : tensor<?xf32>)", "mean(%mean : tensor<?xf16>)")
    with pytest.raises(CompileError, match=r"my\.mlir:15:12: error: use of value") as error:
        compiler.compile_mlir(wrong, "gfx942", source_name="my.mlir")
    assert "mean(%mean : tensor<?xf16>)" in error.value.diagnostics
    assert "^" in error.value.diagnostics


def test_several_threads_at_once():
    chips = ["gfx942", "gfx1100", "sm_90"]
    expected = {chip: compiler.compile_mlir(SOURCE, chip).code for chip in chips}
    got, errors = {}, []

    def work(chip, index):
        try:
            got[chip, index] = compiler.compile_mlir(SOURCE, chip).code
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(c, i)) for c in chips for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert got == {(c, i): expected[c] for c in chips for i in range(2)}


def test_a_bundle_gives_each_device_its_entry():
    codes = {chip: compiler.compile_mlir(SOURCE, chip).code
             for chip in ("gfx942", "gfx1100", "sm_80", "sm_90")}
    bundle = compiler.bundle(codes)
    for arch, chip in [("gfx942:sramecc+:xnack-", "gfx942"), ("gfx1100", "gfx1100"),
                       ("sm_90", "sm_90"), ("sm_89", "sm_80"), ("sm_100", "sm_90")]:
        assert runtime.Program.for_chip(bundle, arch).chip == chip
    with pytest.raises(runtime.RuntimeStatusError, match="no entry of the offload bundle is for "
                                                         "gfx950; it has: hipv4-amdgcn"):
        runtime.Program.for_chip(bundle, "gfx950")
    # What is no bundle is taken as it is.
    assert runtime.Program.for_chip(codes["gfx942"], "gfx90a").chip == "gfx942"
    with pytest.raises(runtime.RuntimeStatusError, match="name the chip"):
        runtime.Program.from_bytes(bundle)


SQUARES = """
func.func @squares(%x: memref<?x64xf32>, %g: memref<64xf32>, %y: memref<?x64xf32>,
                   %s: memref<?xf32>) {
  lnbwd.rowwise @squares domain(m | n) ins(%x[m, n] : memref<?x64xf32>, %g[n] : memref<64xf32>)
      outs(%y[m, n] : memref<?x64xf32>, %s[m] : memref<?xf32>)
      attributes {operand_names = ["x", "g", "y", "s"]} {
  ^row(%xr: vector<64xf32>, %gr: vector<64xf32>):
    %square = arith.mulf %xr, %xr : vector<64xf32>
    %sum = vector.reduction <add>, %square : vector<64xf32> into f32
    %spread = vector.broadcast %sum : f32 to vector<64xf32>
    %scaled = arith.mulf %spread, %gr : vector<64xf32>
    lnbwd.yield %scaled, %sum : vector<64xf32>, f32
  }
  return
}
"""


@pytest.mark.parametrize("options,operands", [
    ({}, "dy x g ds dx dg"), ({"wrt": ["g"]}, "dy x dg"), ({"of": ["s"]}, "x ds dx dg"),
    ({"saved": ["s"]}, "dy x g s dx dg"), ({"saved": ["s"], "of": ["y", "s"]}, "dy x g ds s dx dg"),
    ({"saved": ["none"], "wrt": ["x"], "of": ["y"]}, "dy x g dx")], ids=str)
def test_gradients_are_derived(options, operands):
    gradient = compiler.differentiate(SQUARES, **options)
    assert gradient.operands == tuple(operands.split())
    code = compiler.compile_mlir(gradient.mlir, "gfx942").code
    assert [a.name for a in runtime.Program.from_bytes(code).arguments] == operands.split()


def test_what_has_no_gradient_is_an_error():
    with pytest.raises(CompileError, match="option of to name some of y, s, got 'z'"):
        compiler.differentiate(SQUARES, of=["z"])
    with pytest.raises(CompileError, match="error:"):
        compiler.differentiate("no mlir")
    with pytest.raises(CompileError, match="source: expected a function with one forward"):
        compiler.differentiate("func.func @f() { return }")


@pytest.mark.parametrize("call,words", [
    (lambda: compiler.compile_mlir(3, "gfx942"), "source: expected a text, got int"),
    (lambda: compiler.compile_mlir(SOURCE, None), "chip: expected a text, got NoneType"),
    (lambda: compiler.differentiate(None), "source: expected a text, got NoneType"),
    (lambda: compiler.differentiate(SQUARES, wrt="x"),
     r"wrt: expected a list of names, got the text 'x'; write wrt=\['x'\]"),
])
def test_arguments_of_the_wrong_kind_are_named(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_bundles_that_cannot_be_are_errors():
    with pytest.raises(CompileError, match="expected one chip or more, got none"):
        compiler.bundle({})
    with pytest.raises(CompileError, match="unknown chip 'gfx1'"):
        compiler.bundle({"gfx1": b"code"})


def test_the_c_interface_refuses_null_and_unknown_sizes(build):
    library = ctypes.CDLL(str(build / "lib" / "liblnbwd-compiler.so"))
    result = ctypes.c_void_p()
    assert library.lnbwd_compile(None, 0, None, ctypes.byref(result)) == 2
    options = compiler._Options(4, b"gfx942")
    assert library.lnbwd_compile(b"x", 1, ctypes.byref(options), ctypes.byref(result)) == 2
    options = compiler._DifferentiateOptions(4)
    assert library.lnbwd_differentiate(b"x", 1, ctypes.byref(options), ctypes.byref(result)) == 2
    assert library.lnbwd_compilation_get(None, b"code", None, None) == 2
    library.lnbwd_compilation_destroy(None)


def test_a_gradient_from_text_to_machine_code():
    source = (ROOT / "examples" / "softmax.mlir").read_text()
    gradient = lnbwd.differentiate(source)
    assert isinstance(gradient, lnbwd.Gradient) and gradient.operands[-1].startswith("d")
    compiled = lnbwd.compile_mlir(gradient.mlir, "gfx942", pipeline_options="rows=64")
    assert compiled.code.startswith(b"\x7fELF")
    with pytest.raises(lnbwd.CompileError, match=r"cannot derive a gradient.*nosuch"):
        lnbwd.differentiate(source, wrt=["nosuch"])
