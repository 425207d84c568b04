# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/kernel-digests.py: what counts as the same code, and as worse."""

import argparse
import importlib.util
import json
import pathlib
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
    assert digests.count(lines, digests.PTX_KINDS) == {
        "branch": 1, "global": 1, "barrier": 1, "arithmetic": 1}


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
