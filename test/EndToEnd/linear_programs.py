# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Row programs with products of matrices that tests derive gradients of, and inputs for them."""

from __future__ import annotations

import dataclasses

import numpy as np

NAMES = ("layer_norm_linear", "rms_norm_linear", "chain", "tied")


@dataclasses.dataclass(frozen=True)
class Forward:
    """A forward pass: operands by group as {name: size}, and its region.

    Row blocks, read or written, and matrices are of `dtype`, columns of float32. The body sees the
    rows that are read as %x_, of float32.
    """

    dtype: str
    rows: dict[str, int]
    columns: dict[str, int]
    matrices: dict[str, tuple[int, int]]
    outputs: dict[str, int]
    scalar_outputs: tuple[str, ...]
    body: str
    yields: tuple[str, ...]

    def text(self) -> str:
        def block(n: int) -> str:
            return f"memref<?x{n}x{self.dtype}>"

        groups = {
            "rows": {name: block(n) for name, n in self.rows.items()},
            "columns": {name: f"memref<{n}xf32>" for name, n in self.columns.items()},
            "matrices": {name: f"memref<{r}x{c}x{self.dtype}>"
                         for name, (r, c) in self.matrices.items()},
        }
        outs = {"rows": {name: block(n) for name, n in self.outputs.items()},
                "scalars": {name: "memref<?xf32>" for name in self.scalar_outputs}}

        # A column dimension for each row length, and one more for a square matrix.
        lengths = dict.fromkeys([*self.rows.values(), *self.outputs.values(),
                                 *self.columns.values(), *sum(self.matrices.values(), ())])
        dims = {length: f"n{i}" for i, length in enumerate(lengths)}
        maps = {name: f"m, {dims[n]}" for name, n in (self.rows | self.outputs).items()}
        maps |= {name: dims[n] for name, n in self.columns.items()}
        if any(r == c for r, c in self.matrices.values()):
            dims[None] = f"n{len(dims)}"
        maps |= {name: f"{dims[None if r == c else r]}, {dims[c]}"
                 for name, (r, c) in self.matrices.items()}
        maps |= dict.fromkeys(self.scalar_outputs, "m")

        def written(groups):
            return ", ".join(f"%at_{name}[{maps[name]}] : {kind}" for members in groups.values()
                             for name, kind in members.items())

        types = {name: kind for group in (groups, outs) for members in group.values()
                 for name, kind in members.items()}
        buffers = ", ".join(f"%at_{name}: {kind}" for name, kind in types.items())
        narrow = self.dtype != "f32"
        lines, arguments, results, kinds = [], [], [], []
        for group, members in groups.items():
            for name, kind in members.items():
                vector = kind.replace("memref<?x", "memref<").replace("memref", "vector")
                widened = narrow and group == "rows"
                arguments.append(f"%{name}{'_in' if widened else '_'}: {vector}")
                if widened:
                    lines.append(f"%{name}_ = arith.extf %{name}_in : {vector} to "
                                 f"vector<{self.rows[name]}xf32>")
        lines += [line.strip() for line in self.body.strip().splitlines()]
        for value, n in zip(self.yields, self.outputs.values(), strict=False):
            if narrow:
                lines.append(f"%{value}_out = arith.truncf %{value} : vector<{n}xf32> to "
                             f"vector<{n}x{self.dtype}>")
            results.append(f"%{value}_out" if narrow else f"%{value}")
            kinds.append(f"vector<{n}x{self.dtype}>")
        for value in self.yields[len(self.outputs):]:
            results.append("%" + value)
            kinds.append("f32")
        names = ", ".join(f'"{name}"' for name in types)
        body = "\n    ".join(lines)
        return f"""func.func @f({buffers}) {{
  lnbwd.rowwise @f domain(m | {', '.join(dims.values())})
      ins({written(groups)}) outs({written(outs)})
      attributes {{operand_names = [{names}]}} {{
  ^row({', '.join(arguments)}):
    {body}
    lnbwd.yield {', '.join(results)} : {', '.join(kinds)}
  }}
  return
}}
"""

    def inputs(self, m: int, seed: int = 0) -> dict[str, np.ndarray]:
        """Values of about 1; weights so that a product is of about 1 as well."""
        rng = np.random.default_rng(seed)
        arrays = {name: rng.standard_normal((m, n)) for name, n in self.rows.items()}
        arrays |= {name: rng.standard_normal(n) for name, n in self.columns.items()}
        arrays |= {name: rng.standard_normal((r, c)) / np.sqrt(c)
                   for name, (r, c) in self.matrices.items()}
        return arrays

    def adjoints(self, m: int, seed: int = 1) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(seed)
        return {name: rng.standard_normal((m, n)) for name, n in self.outputs.items()}


def build(name: str, k: int = 6, n: int = 5, dtype: str = "f32") -> Forward:
    """One of NAMES, of rows of `k` elements, and `n` after the first product."""
    row, out = f"vector<{k}xf32>", f"vector<{n}xf32>"

    def product(result, value, matrix, length, shape, flag=""):
        """With the row rounded to the matrix' type, as a product of that type has it."""
        kind = f"vector<{length}x{dtype}>"
        rounded = "" if dtype == "f32" else (
            f"%{result}_in = arith.truncf %{value} : vector<{length}xf32> to {kind}\n")
        source = value if dtype == "f32" else f"{result}_in"
        return (f"{rounded}%{result} = lnbwd.linear %{source}, %{matrix}_ {flag}: "
                f"{kind}, vector<{shape[0]}x{shape[1]}x{dtype}>\n")

    def normalised(value):
        return f"""%squares = arith.mulf %{value}, %{value} : {row}
            %square = vector.reduction <add>, %squares : {row} into f32
            %variance = arith.mulf %square, %over : f32
            %moved = arith.addf %variance, %eps : f32
            %rstd = math.rsqrt %moved : f32
            %rstds = vector.broadcast %rstd : f32 to {row}
            %xhat = arith.mulf %{value}, %rstds : {row}
            %scaled = arith.mulf %xhat, %gamma_ : {row}
            """

    constants = f"""%over = arith.constant {1 / k:.17e} : f32
        %eps = arith.constant 1.0e-5 : f32
        """
    if name == "layer_norm_linear":
        body = constants + f"""%total = vector.reduction <add>, %x_ : {row} into f32
            %mean = arith.mulf %total, %over : f32
            %means = vector.broadcast %mean : f32 to {row}
            %centred = arith.subf %x_, %means : {row}
            """ + normalised("centred") + f"%z = arith.addf %scaled, %beta_ : {row}\n"
        body += product("p", "z", "w", k, (n, k)) + f"%y = arith.addf %p, %b_ : {out}"
        return Forward(dtype, {"x": k}, {"gamma": k, "beta": k, "b": n}, {"w": (n, k)},
                       {"out": n}, ("mean", "rstd"), body, ("y", "mean", "rstd"))
    if name == "rms_norm_linear":
        body = constants + normalised("x_") + product("y", "scaled", "w", k, (n, k))
        return Forward(dtype, {"x": k}, {"gamma": k}, {"w": (n, k)}, {"out": n}, ("rstd",), body,
                       ("y", "rstd"))
    if name == "chain":
        # A user's own: two layers, an activation between them, and the row added at the end.
        body = product("p", "x_", "w1", k, (n, k)) + f"""%q = arith.addf %p, %b_ : {out}
            %t = math.tanh %q : {out}
            """ + product("r", "t", "w2", n, (k, n)) + f"%y = arith.addf %r, %x_ : {row}"
        return Forward(dtype, {"x": k}, {"b": n}, {"w1": (n, k), "w2": (k, n)}, {"out": k}, (),
                       body, ("y",))
    if name == "tied":
        # The same matrix there and back: its gradient is a sum of two outer products.
        body = product("p", "x_", "w", k, (n, k)) + f"%t = math.tanh %p : {out}\n"
        body += product("y", "t", "w", n, (n, k), "transposed ")
        return Forward(dtype, {"x": k}, {}, {"w": (n, k)}, {"out": k}, (), body, ("y",))
    raise ValueError(name)
