# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/kernel-digests.py: what counts as the same code, and as worse."""

import argparse
import importlib.util
import json
import pathlib
import struct
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "kernel-digests.py"


@pytest.fixture(scope="module")
def digests():
    spec = importlib.util.spec_from_file_location("kernel_digests", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernel_digests"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["kernel_digests"]


def test_lines_and_labels_do_not_count(digests):
    plain = ["v_add_f32 v0, v1, v2", ".LBB0_3:", "s_cbranch_vccz .LBB0_3"]
    debug = ["\t.loc 1 7 0", ".Ltmp12:", "\tv_add_f32  v0, v1, v2 ; a comment", ".LBB2_5:",
             "\ts_cbranch_vccz .LBB2_5"]
    assert digests.normalised(plain) == digests.normalised(debug)
    assert digests.normalised(plain) != digests.normalised(["v_add_f32 v0, v1, v3", *plain[1:]])


def test_which_branch_goes_where_counts(digests):
    def code(first, second):
        return [".LBB0_1:", "v_nop", ".LBB0_2:", f"s_branch .LBB0_{first}",
                f"s_cbranch_vccz .LBB0_{second}"]
    assert digests.normalised(code(1, 2)) != digests.normalised(code(2, 1))


def test_kernels_of_a_text(digests):
    assembly = (".type a,@function\na:\n\ts_endpgm\n.Lfunc_end0:\n"
                ".type b,@function\nb:\n\tv_nop\n\ts_endpgm\n.Lfunc_end1:\n\t.section x\n")
    assert digests.kernels_of(assembly, True) == {"a": ["\ts_endpgm"],
                                                  "b": ["\tv_nop", "\ts_endpgm"]}
    ptx = ".visible .entry k(\n.param .u64 p\n)\n{\nret;\n}\n"
    assert list(digests.kernels_of(ptx, False)) == ["k"]


def test_ptx_is_counted_by_kind(digests):
    lines = ["@%p1 bra label:0", "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1]", "bar.sync 0",
             "fma.rn.f32 %f5, %f1, %f2, %f3", "label:0:"]
    assert digests.count_ptx(lines) == {"branch": 1, "global": 1, "barrier": 1, "arithmetic": 1}


@pytest.mark.parametrize("after,status,text", [
    ({"digest": "a"}, 0, "1 kernels are the same"),
    ({"digest": "b", "vector_alu": 1009}, 0, "changed "),
    ({"digest": "b", "vector_alu": 1011}, 1, "worse "),
    ({"digest": "b", "scratch_bytes": 4}, 1, "worse "),
    ({"digest": "b", "vector_alu": 900}, 0, "changed "),
    ({"digest": "b", "dual_issue": 900}, 0, "changed "),
    (None, 1, "missing "),
])
def test_verdicts(digests, tmp_path, capsys, after, status, text):
    def line(digest, **counts):
        figures = {"vector_alu": 1000, "scratch_bytes": 0, **counts}
        return f"gfx942/case\tk\t{digest}\t{json.dumps(figures)}\n"
    (tmp_path / "before").write_text(line("a"))
    (tmp_path / "after").write_text(line(**after) if after else "")
    options = argparse.Namespace(before=tmp_path / "before", after=tmp_path / "after", allowed=1)
    assert digests.compare(options) == status
    assert text in capsys.readouterr().out


def elf_of(sections):
    """A 64-bit ELF file with nothing but sections."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*sections, ".shstrtab"))
    contents = [*sections.values(), names]
    header = 64
    places = [header + sum(map(len, contents[:i])) for i in range(len(contents) + 1)]
    file = bytearray(header) + b"".join(contents) + bytes(64)
    struct.pack_into("<Q", file, 0x28, places[-1])
    struct.pack_into("<HHH", file, 0x3A, 64, len(contents) + 1, len(contents))
    for name, place, content in zip((*sections, ".shstrtab"), places, contents, strict=False):
        at = names.index(b"\0" + name.encode() + b"\0") + 1
        file += struct.pack("<IIQQQQ", at, 1, 0, 0, place, len(content)) + bytes(24)
    return bytes(file)


PTXAS_SAYS = """\
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size
ptxas info    : Function properties for first
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers
"""


@pytest.fixture
def ptxas(tmp_path):
    """Makes a stand-in for ptxas, which writes an ELF file with the sections given to it."""
    def make(sections):
        (tmp_path / "elf").write_bytes(elf_of(sections))
        (tmp_path / "says").write_text(PTXAS_SAYS)
        file = tmp_path / "ptxas"
        file.write_text('#!/bin/sh\n'
                        '[ "$2" = -arch=sm_90 ] || { echo "error: arch" >&2; exit 1; }\n'
                        f'cp {tmp_path}/elf "$5"; cat {tmp_path}/says >&2\n')
        file.chmod(0o755)
        return str(file)
    return make


def test_machine_code_of_ptxas(digests, ptxas):
    sections = {".nv.info": b"x", ".text.first": bytes(32), ".text.second": b"\1" * 48}
    found = digests.machine_code(ptxas(sections), ".version 8.0\n.target sm_90\n")
    assert found["first"][1] == {"ptxas_spill_stores": 0, "ptxas_spill_loads": 0,
                                 "ptxas_registers": 40, "ptxas_instructions": 2}
    assert found["second"][1] == {"ptxas_spill_stores": 12, "ptxas_spill_loads": 8,
                                  "ptxas_registers": 255, "ptxas_instructions": 3}
    other = digests.machine_code(ptxas({**sections, ".nv.info": b"y", ".text.second": b"\2" * 48}),
                                 ".target sm_90\n")
    assert other["first"] == found["first"]
    assert other["second"][0] != found["second"][0] and other["second"][1] == found["second"][1]


def test_what_ptxas_refuses_is_said(digests, ptxas):
    with pytest.raises(RuntimeError, match="error: arch"):
        digests.machine_code(ptxas({}), ".target sm_80\n")


def test_machine_code_takes_the_place_of_ptx(digests, build, ptxas, monkeypatch, tmp_path):
    monkeypatch.setenv("LNBWD_BUILD_DIR", str(build))

    def lines_with(code):
        options = argparse.Namespace(file=tmp_path / "lines", filter="^sm_90/length/bf16-768$",
                                     every=1, jobs=1, ir=False,
                                     ptxas=ptxas({".text.layer_norm_bwd": code}))
        assert digests.write(options) == 0
        return digests.read(options.file)

    key = "sm_90/length/bf16-768", "layer_norm_bwd"
    before, after = lines_with(bytes(16)), lines_with(bytes(32))
    assert before[key][0] != after[key][0]
    assert after[key][1]["ptxas_instructions"] == 2 and after[key][1]["arithmetic"] > 0


def test_more_spilling_by_ptxas_is_worse(digests, tmp_path, capsys):
    for name, digest, spilled in (("before", "a", 0), ("after", "b", 4)):
        figures = json.dumps({"ptxas_spill_stores": spilled})
        (tmp_path / name).write_text(f"sm_90/case\tk\t{digest}\t{figures}\n")
    options = argparse.Namespace(before=tmp_path / "before", after=tmp_path / "after", allowed=1)
    assert digests.compare(options) == 1
    assert "worse    sm_90/case k: ptxas_spill_stores 0 -> 4" in capsys.readouterr().out
