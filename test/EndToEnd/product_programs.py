# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of one product of matrices."""


def product(form: str, types: tuple[str, str], sizes: tuple[int, int], output: str = "f32") -> str:
    """A function c = a b, a b^T ("rhs_transposed") or a^T b ("lhs_transposed"), of elements of
    `types`; `sizes` are those that are not the number of rows."""
    first, second = sizes
    outer = form == "lhs_transposed"
    a, b = f"{first}x{types[0]}", f"{first}x{second}x{types[1]}"
    c, maps = f"?x{second}x{output}", ("n0, n1", "m, n1")
    body, result = ["%p = lnbwd.linear %ar, %br transposed"], f"{second}xf32"
    if form:
        b, maps = f"{second}x{first}x{types[1]}", ("n1, n0", maps[1])
        body = ["%p = lnbwd.linear %ar, %br"]
    kinds = f"vector<{a}>, vector<{b}>"
    if outer:
        b, c, maps = f"{second}x{types[1]}", f"{first}x{second}x{output}", ("m, n1", "n0, n1")
        kinds, result = f"vector<{first}xf32>, vector<{second}xf32>", f"{first}x{second}xf32"
        body = [f"%{name}w = arith.extf %{name}r : vector<{kind}> to vector<{size}xf32>"
                for name, kind, size in zip("ab", (a, b), sizes, strict=True)
                if not kind.endswith("f32")]
        rows = (f"%{name}{'r' if kind == 'f32' else 'w'}"
                for name, kind in zip("ab", types, strict=True))
        body.append(f"%p = vector.outerproduct {', '.join(rows)}")
    body[-1] += f" : {kinds}"
    value = "%p"
    if output != "f32" and not outer:
        body.append(f"%q = arith.truncf %p : vector<{result}> to vector<{second}x{output}>")
        value, result = "%q", f"{second}x{output}"
    rows = f"memref<?x{a}>", f"memref<{'?x' if outer else ''}{b}>", f"memref<{c}>"
    lines = "\n    ".join(body)
    return f"""func.func @f(%a: {rows[0]}, %b: {rows[1]}, %c: {rows[2]}) {{
  lnbwd.rowwise @f domain(m | n0, n1) ins(%a[m, n0] : {rows[0]}, %b[{maps[0]}] : {rows[1]})
      outs(%c[{maps[1]}]{' add' if outer else ''} : {rows[2]})
      attributes {{operand_names = ["a", "b", "c"]}} {{
  ^row(%ar: vector<{a}>, %br: vector<{b}>):
    {lines}
    lnbwd.yield {value} : vector<{result}>
  }}
  return
}}
"""
