# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands whose dimensions lie in memory in another order than the domain's, or apart: heads that
PyTorch has transposed, slices, channels last and first; and operands at other indices."""

import dataclasses
import subprocess

import numpy as np
import pytest

import compiling
import device as devices


@dataclasses.dataclass(frozen=True)
class Operand:
    """`dims` in the order of its sizes, and how far apart they lie; none: it is dense. `moves`: of
    some, by how much their indices are others, and how many there are."""

    name: str
    dims: str
    strides: tuple[int, ...] = ()
    element: str = "f32"
    moves: tuple[tuple[str, int, int], ...] = ()

    def own(self, sizes: dict[str, int]) -> dict[str, int]:
        return sizes | {dim: size for dim, _, size in self.moves}

    def type(self, sizes: dict[str, int]) -> str:
        shape = "".join(f"{self.own(sizes)[dim]}x" for dim in self.dims)
        layout = f", strided<[{', '.join(map(str, self.strides))}]>" if self.strides else ""
        return f"memref<{shape}{self.element}{layout}>"

    def use(self, sizes: dict[str, int]) -> str:
        by = {dim: f" + {by}" for dim, by, _ in self.moves}
        dims = ", ".join(dim + by.get(dim, "") for dim in self.dims)
        return f"%{self.name}[{dims}] : {self.type(sizes)}"

    def view(self, flat: np.ndarray, sizes: dict[str, int], every: str) -> np.ndarray:
        """What a buffer has, by the dimensions of the domain."""
        shape = [self.own(sizes)[dim] for dim in self.dims]
        strides = self.strides or [int(np.prod(shape[i + 1:])) for i in range(len(shape))]
        array = np.lib.stride_tricks.as_strided(
            flat, shape, [stride * flat.itemsize for stride in strides])
        for dim, by, size in self.moves:
            array = array.take((np.arange(sizes[dim]) + by) % size, self.dims.index(dim))
        order = sorted(range(len(shape)), key=lambda i: every.index(self.dims[i]))
        return array.transpose(order).reshape(
            [sizes[dim] if dim in self.dims else 1 for dim in every])


@dataclasses.dataclass(frozen=True)
class Program:
    """z = the product of all inputs; y = z, the sums of its rows, and those of its columns."""

    rows: str
    columns: str
    inputs: tuple[Operand, ...]
    sizes: tuple[int, ...]
    outputs: tuple[Operand, ...]
    groups: int = 1

    def source(self) -> str:
        every = self.rows + self.columns
        sizes = dict(zip(every, self.sizes, strict=True))
        n = int(np.prod([sizes[dim] for dim in self.columns]))
        row, body, value = f"vector<{n}xf32>", [], ""
        arguments = []
        for operand in self.inputs:
            name = operand.name
            is_scalar = not set(operand.dims) & set(self.columns)
            arguments.append(f"%{name}r: " + (operand.element if is_scalar
                                              else f"vector<{n}x{operand.element}>"))
            vector = f"%{name}r"
            if operand.element != "f32":
                body.append(f"%{name}w = arith.extf {vector} : vector<{n}x{operand.element}> "
                            f"to {row}")
                vector = f"%{name}w"
            if is_scalar:
                body.append(f"%{name}v = vector.broadcast {vector} : f32 to {row}")
                vector = f"%{name}v"
            if value:
                body.append(f"%{name}z = arith.mulf {value}, {vector} : {row}")
                vector = f"%{name}z"
            value = vector
        body.append(f"%sum = vector.reduction <add>, {value} : {row} into f32")
        results, types, outs = [], [], []
        for output in self.outputs:
            is_scalar = not set(output.dims) & set(self.columns)
            is_row = set(self.rows) <= set(output.dims)
            result, type_ = ("%sum", "f32") if is_scalar else (value, row)
            if output.element != "f32":
                type_ = f"vector<{n}x{output.element}>"
                body.append(f"%{output.name}n = arith.truncf {result} : {row} to {type_}")
                result = f"%{output.name}n"
            results.append(result)
            types.append(type_)
            use = output.use(sizes)
            outs.append(use if is_row else use.replace("]", "] add", 1))
        operands = self.inputs + self.outputs
        quoted = ", ".join(f'"{operand.name}"' for operand in operands)
        text = "\n    ".join(body)
        parameters = dict.fromkeys(f"%{o.name}: {o.type(sizes)}" for o in operands)
        return f"""func.func @f({', '.join(parameters)}) {{
  lnbwd.rowwise @f domain({', '.join(self.rows)} | {', '.join(self.columns)})
      ins({', '.join(operand.use(sizes) for operand in self.inputs)})
      outs({', '.join(outs)}) attributes {{operand_names = [{quoted}]}} {{
  ^row({', '.join(arguments)}):
    {text}
    lnbwd.yield {', '.join(results)} : {', '.join(types)}
  }}
  return
}}
"""

    def check(self, build, tmp_path, chip: str, options: str) -> None:
        every = self.rows + self.columns
        sizes = dict(zip(every, self.sizes, strict=True))
        m = int(np.prod([sizes[dim] for dim in self.rows]))
        file = tmp_path / "f.hsaco"
        compiling.compile_to(file, build, self.source(), chip, options)
        result = subprocess.run(
            [build / "bin" / "lnbwd-run", file, "--verify", "--check", f"--m={m}",
             f"--groups={self.groups}"], check=False, capture_output=True, text=True)
        assert "verdict valid" in result.stdout, result.stdout + result.stderr
        # Two runs differ in what neither writes.
        if any(output.strides for output in self.outputs):
            return
        kernel = devices.Kernel(devices.Runtime(build).open("sim", chip), file)
        random = np.random.default_rng(3)
        inputs, z = {}, np.ones([1] * len(every))
        for operand, argument in zip(self.inputs, kernel.plan["arguments"], strict=False):
            rows = {"column": 1, "group_column": self.groups, "row_block": m}[argument["kind"]]
            bits = devices.encode(random.standard_normal(argument["row_length"] * rows),
                                  operand.element)
            inputs[operand.name] = bits
            z = z * operand.view(devices.decode(bits, operand.element).astype(np.float64), sizes,
                                 every)
        found = kernel.launch(m, inputs, groups=self.groups)
        for output in self.outputs:
            axes = tuple(i for i, dim in enumerate(every) if dim not in output.dims)
            bits = devices.decode(found[output.name], output.element)
            np.testing.assert_allclose(
                output.view(bits, sizes, every),
                np.broadcast_to(z, self.sizes).sum(axis=axes, keepdims=True),
                rtol=1e-2 if output.element == "bf16" else 1e-4, atol=1e-3)


def plain(rows: str, columns: str) -> tuple[Operand, ...]:
    return Operand("y", rows + columns), Operand("s", rows), Operand("cs", columns)


# Heads as attention has them, [b, h, t, d], rows of one head and of all.
HEADS = Program("bth", "d", (Operand("x", "bhtd", element="bf16"),), (2, 5, 3, 64),
                plain("bth", "d"))
ALL_HEADS = Program("bt", "hd", (Operand("x", "bhtd", element="bf16"),), (2, 5, 4, 64),
                    plain("bt", "hd"))
# Sums alone: no row block has the rows in the domain's order.
SUMS = Program("bt", "hd", (Operand("x", "bhtd"),), (2, 7, 3, 20), plain("bt", "hd")[1:])
BIAS = Program("bst", "c", (Operand("x", "bcst", element="bf16"),), (2, 5, 3, 24),
               (Operand("cs", "c"),))
# Slices: rows with odd strides, every third element, a window beyond the end of each row.
SLICE = Program("bt", "d", (Operand("x", "btd", (1003, 53, 1)), Operand("g", "d", (3,))),
                (3, 7, 40), plain("bt", "d"))
HALVES = Program("bt", "d", (Operand("x", "btd", (1212, 172, 1), "bf16"),), (3, 7, 80),
                 plain("bt", "d"))
ODD_HALVES = Program("bt", "d", (Operand("x", "btd", (1205, 173, 1), "bf16"),), (3, 7, 80),
                     plain("bt", "d"))
THIRDS = Program("m", "d", (Operand("x", "md", (500, 3), "bf16"),), (9, 64), plain("m", "d"))
UNFOLD = Program("mw", "d", (Operand("x", "mwd", (96, 4, 1)),), (3, 5, 32), plain("mw", "d"))
# Channels last as rows of channels first, with weights of channels and places.
CHANNELS = Program("m", "csw", (Operand("x", "mswc"), Operand("g", "swc"), Operand("w", "wc")),
                   (6, 3, 4, 8), plain("m", "csw"))
# Tables of places and numbers of rows in another order.
TABLES = Program("bth", "d", (Operand("x", "bthd"), Operand("t", "dt"), Operand("u", "htd"),
                              Operand("n", "hb"), Operand("k", "ht", (11, 2))), (2, 5, 3, 24),
                 plain("bth", "d"))
# Halves that change places, rows behind a class token, and joined channels.
ROTATED = Program("bt", "hd", (Operand("x", "bhtd", element="bf16"),
                               Operand("t", "bhtd", (), "bf16", (("d", 32, 64),)),
                               Operand("g", "hd", (), "f32", (("d", 8, 64),))), (2, 5, 2, 64),
                  plain("bt", "hd"))
BEHIND = Program("bt", "d", (Operand("x", "btd", (320, 40, 1), "f32", (("t", 6, 7),)),
                             Operand("y0", "btd")), (3, 8, 40), plain("bt", "d"))
JOINED = Program("bt", "d", (Operand("x", "btd", (), "bf16", (("d", 24, 24),)),
                             Operand("z", "btd", (), "bf16", (("d", 16, 40),))), (3, 7, 64),
                 (Operand("y", "btd"), Operand("s", "bt")))
# A scale for each sample: groups of rows, in which the others are found by the row's number.
GROUPS = Program("bth", "d", (Operand("x", "bhtd"), Operand("t", "td"), Operand("u", "dt"),
                              Operand("g", "bd"), Operand("n", "ht"), Operand("k", "tb")),
                 (3, 5, 4, 24), plain("bth", "d"), groups=3)
# The same as a slice of what has several of them: no group column.
MODULATION = Program("bt", "d", (Operand("x", "btd", element="bf16"), Operand("g", "bd", (144, 1)),
                                 Operand("h", "bd", (144, 1))), (3, 5, 24), plain("bt", "d"))


def on_chips(cases):
    """Cases beside one of two chips, with waves of 64 and of 32 lanes, in turn; beside both with
    --full."""
    chips = ("gfx942", "gfx1100")
    return [pytest.param(chip, *case, marks=[] if number % 2 == place else [pytest.mark.full])
            for number, case in enumerate(cases) for place, chip in enumerate(chips)]


@pytest.mark.parametrize("chip, program, options", on_chips([
    (HEADS, ""), (HEADS, "schedule=prefetch=1,row_groups=2"), (ALL_HEADS, ""),
    (dataclasses.replace(ALL_HEADS, sizes=(2, 3, 16, 128)), "schedule=row_splits=4"), (SUMS, ""),
    (SUMS, "two-pass=always"), (BIAS, ""), (SLICE, ""), (SLICE, "schedule=prefetch=1"),
    (HALVES, ""), (ODD_HALVES, "schedule=unroll=2,prefetch=1"), (THIRDS, ""), (UNFOLD, ""),
    (CHANNELS, "schedule=row_groups=2"), (TABLES, ""),
    (TABLES, "schedule=prefetch=1,row_groups=4"), (GROUPS, ""),
    (GROUPS, "schedule=prefetch=1,row_groups=4"), (MODULATION, ""),
    (MODULATION, "schedule=unroll=2,prefetch=1"), (ROTATED, ""),
    (ROTATED, "schedule=prefetch=1,row_groups=2"), (BEHIND, ""), (JOINED, "")]))
def test_inputs(build, tmp_path, chip, program, options):
    program.check(build, tmp_path, chip, options)


# What is written in another order than what is read, and between what stays as it is.
TRANSPOSE = Program("bth", "d", (Operand("x", "bthd", element="bf16"),), (2, 5, 3, 64),
                    (Operand("y", "bhtd", element="bf16"), Operand("s", "hbt"),
                     Operand("cs", "d")))
CHANNELS_FIRST = Program("bs", "c", (Operand("x", "bsc"),), (3, 7, 40),
                         (Operand("y", "bcs"), Operand("s", "bs")))
BOTH = Program("bt", "hd", (Operand("x", "bhtd"),), (2, 5, 4, 24),
               (Operand("y", "htbd"), Operand("s", "bt")))
IN_GAPS = Program("bt", "d", (Operand("x", "btd"),), (3, 7, 40),
                  (Operand("y", "btd", (1212, 172, 1), "bf16"),
                   Operand("z", "btd", (1205, 173, 1), "bf16"), Operand("w", "btd", (901, 120, 3)),
                   Operand("s", "bt", (30, 2))))
IN_PLACE = Program("bt", "d", (SLICE.inputs[0], Operand("g", "d")), (3, 7, 40), SLICE.inputs[:1])


@pytest.mark.parametrize("chip, program, options", on_chips([
    (TRANSPOSE, ""), (TRANSPOSE, "schedule=prefetch=1,row_groups=2"), (CHANNELS_FIRST, ""),
    (BOTH, ""), (BOTH, "schedule=unroll=2,prefetch=1"), (IN_GAPS, ""),
    (IN_GAPS, "schedule=row_groups=4"), (IN_PLACE, "schedule=prefetch=1"),
    (dataclasses.replace(GROUPS, outputs=TRANSPOSE.outputs), "")]))
def test_outputs(build, tmp_path, chip, program, options):
    program.check(build, tmp_path, chip, options)


@pytest.mark.parametrize("program", [HEADS, CHANNELS_FIRST, IN_GAPS])
def test_gradients(build, tmp_path, program):
    """The gradient of what is strided is written as it is read."""
    forward = dataclasses.replace(program, outputs=(program.outputs[0],))
    text = compiling.differentiate(build, forward.source())
    file = tmp_path / "f.hsaco"
    compiling.compile_to(file, build, text, "gfx942")
    m = int(np.prod(program.sizes[:len(program.rows)]))
    result = subprocess.run([build / "bin" / "lnbwd-run", file, "--verify", "--check", f"--m={m}"],
                            check=False, capture_output=True, text=True)
    assert "verdict valid" in result.stdout, result.stdout + result.stderr


@pytest.mark.parametrize("program", [HEADS, ODD_HALVES, TRANSPOSE, IN_GAPS])
def test_for_nvidia(build, program):
    assert b".target sm_90" in compiling.compile_text(build, program.source(), "sm_90", form="ptx")
