# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs with products of matrices that tests derive gradients of, and inputs for them."""

from __future__ import annotations

import dataclasses

import numpy as np

M, K, N = 3, 6, 5


@dataclasses.dataclass(frozen=True)
class Forward:
    """A forward pass: operands by group as {name: shape}, and its region."""

    rows: dict[str, int]
    columns: dict[str, int]
    matrices: dict[str, tuple[int, int]]
    outputs: dict[str, int]
    scalar_outputs: tuple[str, ...]
    body: str
    yields: str
    dtype: str = "f32"

    def text(self) -> str:
        groups = {
            "rows": {name: f"memref<?x{n}x{self.dtype}>" for name, n in self.rows.items()},
            "columns": {name: f"memref<{n}xf32>" for name, n in self.columns.items()},
            "matrices": {name: f"memref<{r}x{c}x{self.dtype}>"
                         for name, (r, c) in self.matrices.items()},
        }
        outs = {"rows": {name: f"memref<?x{n}xf32>" for name, n in self.outputs.items()},
                "scalars": {name: "memref<?xf32>" for name in self.scalar_outputs}}

        def listed(members):
            buffers = ", ".join("%at_" + name for name in members)
            return f"{buffers} : {', '.join(members.values())}"

        def written(groups):
            return " ".join(f"{group}({listed(members)})"
                            for group, members in groups.items() if members)

        types = {name: kind for group in (groups, outs) for members in group.values()
                 for name, kind in members.items()}
        arguments = ", ".join(f"%{name}_: " + kind.replace("memref<?x", "vector<").replace(
            "memref", "vector") for members in groups.values() for name, kind in members.items())
        results = [f"vector<{n}xf32>" for n in self.outputs.values()]
        results += ["f32"] * len(self.scalar_outputs)
        names = ", ".join(f'"{name}"' for name in types)
        buffers = ", ".join(f"%at_{name}: {kind}" for name, kind in types.items())
        return f"""func.func @f({buffers}) {{
  lnbwd.rowwise @f {written(groups)} outs {written(outs)}
      attributes {{operand_names = [{names}]}} {{
  ^row({arguments}):
{self.body.strip(chr(10))}
    lnbwd.yield {self.yields} : {', '.join(results)}
  }}
  return
}}
"""

    def inputs(self, seed: int = 0) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(seed)
        shapes = {**{name: (M, n) for name, n in self.rows.items()},
                  **{name: (n,) for name, n in self.columns.items()}, **self.matrices}
        return {name: rng.standard_normal(shape) for name, shape in shapes.items()}

    def adjoints(self, seed: int = 1) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(seed)
        return {name: rng.standard_normal((M, n)) for name, n in self.outputs.items()}


_ROW, _OUT = f"vector<{K}xf32>", f"vector<{N}xf32>"

_STATISTICS = f"""
    %over = arith.constant {1 / K:.17e} : f32
    %eps = arith.constant 1.0e-5 : f32"""
_MEAN = f"""
    %total = vector.reduction <add>, %x_ : {_ROW} into f32
    %mean = arith.mulf %total, %over : f32
    %means = vector.broadcast %mean : f32 to {_ROW}
    %centred = arith.subf %x_, %means : {_ROW}"""


def _normalised(row: str) -> str:
    return f"""
    %squares = arith.mulf {row}, {row} : {_ROW}
    %square = vector.reduction <add>, %squares : {_ROW} into f32
    %variance = arith.mulf %square, %over : f32
    %moved = arith.addf %variance, %eps : f32
    %rstd = math.rsqrt %moved : f32
    %rstds = vector.broadcast %rstd : f32 to {_ROW}
    %xhat = arith.mulf {row}, %rstds : {_ROW}"""


LAYER_NORM_LINEAR = Forward(
    {"x": K}, {"gamma": K, "beta": K, "b": N}, {"w": (N, K)}, {"out": N}, ("mean", "rstd"),
    _STATISTICS + _MEAN + _normalised("%centred") + f"""
    %scaled = arith.mulf %xhat, %gamma_ : {_ROW}
    %z = arith.addf %scaled, %beta_ : {_ROW}
    %p = lnbwd.linear %z, %w_ : {_ROW}, vector<{N}x{K}xf32>
    %y = arith.addf %p, %b_ : {_OUT}""", "%y, %mean, %rstd")

RMS_NORM_LINEAR = Forward(
    {"x": K}, {"gamma": K}, {"w": (N, K)}, {"out": N}, ("rstd",),
    _STATISTICS + _normalised("%x_") + f"""
    %z = arith.mulf %xhat, %gamma_ : {_ROW}
    %y = lnbwd.linear %z, %w_ : {_ROW}, vector<{N}x{K}xf32>""", "%y, %rstd")

# A user's own: two layers with an activation between them, and the row added at the end.
CHAIN = Forward(
    {"x": K}, {"b": N}, {"w1": (N, K), "w2": (K, N)}, {"out": K}, (), f"""
    %p = lnbwd.linear %x_, %w1_ : {_ROW}, vector<{N}x{K}xf32>
    %q = arith.addf %p, %b_ : {_OUT}
    %t = math.tanh %q : {_OUT}
    %r = lnbwd.linear %t, %w2_ : {_OUT}, vector<{K}x{N}xf32>
    %y = arith.addf %r, %x_ : {_ROW}""", "%y")

# The same matrix on the way there and back: its gradient is a sum of two outer products.
TIED = Forward(
    {"x": K}, {}, {"w": (N, K)}, {"out": K}, (), f"""
    %p = lnbwd.linear %x_, %w_ : {_ROW}, vector<{N}x{K}xf32>
    %t = math.tanh %p : {_OUT}
    %y = lnbwd.linear %t, %w_ transposed : {_OUT}, vector<{N}x{K}xf32>""", "%y")

PROGRAMS = {"layer_norm_linear": LAYER_NORM_LINEAR, "rms_norm_linear": RMS_NORM_LINEAR,
            "chain": CHAIN, "tied": TIED}
