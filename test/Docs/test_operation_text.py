# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A named operation's MLIR is written in two places, which write the same text.

lnbwd-run has no Python, and the Python package names its kernels by the text where there is no
native code. Both fill in what the tables say.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")).resolve()
sys.path.insert(0, str(ROOT / "python"))

from lnbwd.core.base.operations import OPERATIONS, buffer_type, mlir  # noqa: E402
from lnbwd.core.compile.spec import OPS, norm_source  # noqa: E402

N = 48
TYPES = [(element, parameter) for element in ("f32", "bf16", "f16")
         for parameter in dict.fromkeys((element, "f32"))]
# Options, and whether an operation has them.
OPTIONS = {
    "--no-gamma": lambda op: True,
    "--no-beta": lambda op: op.has("beta") and op.is_forward,
    "--statistics recomputed": lambda op: not op.is_forward,
    "--statistics output": lambda op: op.find("y", False) is not None,
    "--zero-centred-gamma": lambda op: True,
    "--accumulate": lambda op: not op.is_forward,
    "--residual bf16": lambda op: True,
    "--residual f32": lambda op: True,
    "--row-stride 64": lambda op: True,
    "--eps 0.3": lambda op: True,
    "--outputs first": lambda op: True,
}


@pytest.fixture
def written(tmp_path):
    """A function that gives what lnbwd-run has the compiler compile."""
    compiler, text = tmp_path / "compiler", tmp_path / "text"
    compiler.write_text(f'#!/bin/sh\ncat >"{text}"\nexit 1\n')
    compiler.chmod(0o755)

    def run(op, *options):
        text.unlink(missing_ok=True)
        result = subprocess.run(
            [BUILD / "bin" / "lnbwd-run", "--op", op.name, "--m", "4", "--n", str(N),
             "--chip", "gfx942", *options],
            env={**os.environ, "LNBWD_OPT": str(compiler)}, capture_output=True, text=True,
            check=False)
        assert text.exists(), result.stderr
        return text.read_text()

    return run


def types_of(op, names, element, parameter, *, residual="", stride=0, accumulates=False):
    """The operands' types by the rules of lnbwd-run's options."""
    types = {}
    for operand in op.operands:
        role = operand.role
        of = {"row_scalar": "f32", "column": parameter, "row_block": element}[role.kind]
        if role.has_own_element:
            of = residual
        elif role.kind == "column" and operand.is_output and accumulates:
            of = "f32"
        if role.name in names:
            types[role.name] = buffer_type(role.kind, of, [N], stride=stride)
    return types


def operands_of(text):
    """Which operands are there."""
    return set(re.findall(r"(\w+)\(%\1 : ", text))


@pytest.mark.parametrize("op", OPERATIONS.values(), ids=lambda op: op.name)
def test_every_type_is_written_alike(op, written):
    for element, parameter in TYPES:
        text = written(op, "--dtype", element, "--param-dtype", parameter)
        names = operands_of(text)
        assert names >= {o.name for o in op.operands if not o.is_optional}
        assert text == mlir(op.name, types_of(op, names, element, parameter))


@pytest.mark.parametrize("op", OPERATIONS.values(), ids=lambda op: op.name)
def test_every_option_is_written_alike(op, written):
    plain = written(op, "--dtype", "bf16")
    for option in [option for option, has in OPTIONS.items() if has(op)]:
        name, _, value = option.partition(" ")
        first = next(o.name for o in op.operands if o.is_output)
        given = [name] if not value else [name, first if value == "first" else value]
        text = written(op, "--dtype", "bf16", *given)
        attributes = {"--zero-centred-gamma": ["zero_centred_gamma"],
                      "--accumulate": ["accumulate"],
                      "--eps": [f"epsilon = {0.3:.17e} : f64"]}.get(name, [])
        types = types_of(op, operands_of(text), "bf16", "bf16", accumulates=name == "--accumulate",
                         residual=value if name == "--residual" else "",
                         stride=64 if name == "--row-stride" else 0)
        assert text == mlir(op.name, types, attributes), option
        if name != "--outputs" or sum(o.is_output for o in op.operands) > 1:
            assert text != plain, f"{option} changes nothing"


@pytest.mark.parametrize("op", [OPERATIONS[name] for name in OPS], ids=lambda op: op.name)
def test_a_kernel_of_the_package_is_one_of_the_runner(op, written):
    """What is there by default is the same, too: PyTorch's operations without more options."""
    source = norm_source(op.name, n=N, dtype="bf16", weight="f32",
                         bias="f32" if op.has("beta") else False,
                         epsilon=0.3 if op.is_forward else None)
    options = ["--eps", "0.3"] if op.is_forward else []
    assert written(op, "--dtype", "bf16", "--param-dtype", "f32", *options) == source.mlir
