# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes tests of element-wise kernels of Triton against PyTorch: a kernel for each operation.

elementwise.py > FOLDER/test_elementwise.py
"""

OPS = []


def op(name, expression, reference, count=1, types="fp32 fp16 bf16", low=-3, high=3):
    OPS.append((name, expression, reference, count, types.split(), low, high))


op("add", "a + b", "a + b", 2, "fp32 fp16 bf16 fp64 int8 int16 int32 int64 uint8")
op("sub", "a - b", "a - b", 2, "fp32 fp16 bf16 fp64 int8 int32 int64")
op("mul", "a * b", "a * b", 2, "fp32 fp16 bf16 fp64 int8 int16 int32 int64")
op("div", "a / b", "a / b", 2, "fp32 fp64 fp16 bf16", 0.5, 3)
op("divrn", "tl.div_rn(a, b)", "a / b", 2, "fp32", 0.5, 3)
op("fdiv", "tl.fdiv(a, b)", "a / b", 2, "fp32", 0.5, 3)
op(
    "floordiv",
    "a // b",
    "torch.div(a, b, rounding_mode='trunc')",
    2,
    "int8 int16 int32 int64",
    1,
    90,
)
op("mod", "a % b", "torch.fmod(a, b)", 2, "int8 int16 int32 int64 fp32", 1, 90)
op("and_", "a & b", "a & b", 2, "int8 int16 int32 int64", -90, 90)
op("or_", "a | b", "a | b", 2, "int8 int32 int64", -90, 90)
op("xor_", "a ^ b", "a ^ b", 2, "int16 int32 int64", -90, 90)
op("shl", "a << (b & 7)", "a << (b & 7)", 2, "int32 int64 int16", 0, 90)
op("shr", "a >> (b & 7)", "a >> (b & 7)", 2, "int8 int32 int64 int16", -90, 90)
op("inv", "~a", "~a", 1, "int8 int32 int64", -90, 90)
op("neg", "-a", "-a", 1, "fp32 fp16 bf16 fp64 int32 int64")
op("abs", "tl.abs(a)", "a.abs()", 1, "fp32 fp16 bf16 fp64 int8 int32 int64")
op("exp", "tl.exp(a)", "a.exp()", 1, "fp32 fp64")
op("exp2", "tl.exp2(a)", "a.exp2()", 1, "fp32 fp64")
op("log", "tl.log(a)", "a.log()", 1, "fp32 fp64", 0.1, 9)
op("log2", "tl.log2(a)", "a.log2()", 1, "fp32 fp64", 0.1, 9)
op("sin", "tl.sin(a)", "a.sin()", 1, "fp32 fp64", -30, 30)
op("cos", "tl.cos(a)", "a.cos()", 1, "fp32 fp64", -30, 30)
op("sqrt", "tl.sqrt(a)", "a.sqrt()", 1, "fp32 fp64", 0, 9)
op("sqrtrn", "tl.sqrt_rn(a)", "a.sqrt()", 1, "fp32", 0, 9)
op("rsqrt", "tl.rsqrt(a)", "a.rsqrt()", 1, "fp32 fp64", 0.1, 9)
op("erf", "tl.erf(a)", "a.erf()", 1, "fp32 fp64")
op("sigmoid", "tl.sigmoid(a)", "a.sigmoid()", 1, "fp32")
op("floor", "tl.floor(a)", "a.floor()", 1, "fp32 fp64")
op("ceil", "tl.ceil(a)", "a.ceil()", 1, "fp32 fp64")
op(
    "fma",
    "tl.fma(a, b, a)",
    "(a.double() * b.double() + a.double()).to(a.dtype)",
    2,
    "fp32 fp16 bf16 fp64",
)
op("maximum", "tl.maximum(a, b)", "torch.maximum(a, b)", 2, "fp32 fp16 bf16 fp64 int8 int32 int64")
op("minimum", "tl.minimum(a, b)", "torch.minimum(a, b)", 2, "fp32 fp16 bf16 fp64 int16 int32 int64")
op(
    "maxnan",
    "tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)",
    "torch.maximum(a, b)",
    2,
    "fp32 fp16 bf16",
)
op("clamp", "tl.clamp(a, -1.0, 1.0)", "a.clamp(-1, 1)", 1, "fp32 fp16")
op(
    "where",
    "tl.where(a < b, a, b * 2)",
    "torch.where(a < b, a, b * 2)",
    2,
    "fp32 fp16 bf16 fp64 int8 int64",
)
op(
    "cmpchain",
    "((a < b) & (a > -1)).to(tl.int32).to(a.dtype)",
    "((a < b) & (a > -1)).to(a.dtype)",
    2,
    "fp32 fp16 fp64 int64 int8",
)
op(
    "umulhi",
    "tl.umulhi(a.to(tl.uint32), b.to(tl.uint32)).to(tl.int32)",
    "((a.long() & 0xffffffff) * (b.long() & 0xffffffff) >> 32).int()",
    2,
    "int32",
    0,
    1000000000,
)
op("tanh", "libdevice.tanh(a)", "a.tanh()", 1, "fp32 fp64")
op("pow", "libdevice.pow(a, b)", "a.pow(b)", 2, "fp32 fp64", 0.3, 3)
op("asin", "libdevice.asin(a)", "a.asin()", 1, "fp32 fp64", -1, 1)
op("acos", "libdevice.acos(a)", "a.acos()", 1, "fp32 fp64", -1, 1)
op("atan", "libdevice.atan(a)", "a.atan()", 1, "fp32 fp64")
op("atan2", "libdevice.atan2(a, b)", "torch.atan2(a, b)", 2, "fp32 fp64")
op("sinh", "libdevice.sinh(a)", "a.sinh()", 1, "fp32 fp64")
op("cosh", "libdevice.cosh(a)", "a.cosh()", 1, "fp32 fp64")
op("tan", "libdevice.tan(a)", "a.tan()", 1, "fp32 fp64", -1, 1)
op("expm1", "libdevice.expm1(a)", "a.expm1()", 1, "fp32 fp64")
op("log1p", "libdevice.log1p(a)", "a.log1p()", 1, "fp32 fp64", 0, 9)
op("log10", "libdevice.log10(a)", "a.log10()", 1, "fp32 fp64", 0.1, 9)
op("erfinv", "libdevice.erfinv(a)", "a.erfinv()", 1, "fp32 fp64", -0.9, 0.9)
op("erfc", "libdevice.erfc(a)", "1 - a.erf()", 1, "fp32 fp64")
op("lgamma", "libdevice.lgamma(a)", "a.lgamma()", 1, "fp32 fp64", 0.5, 9)
op("fmod", "libdevice.fmod(a, b)", "torch.fmod(a, b)", 2, "fp32 fp64", 0.5, 9)
op("hypot", "libdevice.hypot(a, b)", "torch.hypot(a, b)", 2, "fp32 fp64")
op("copysign", "libdevice.copysign(a, b)", "torch.copysign(a, b)", 2, "fp32 fp64")
op("nextafter", "libdevice.nextafter(a, b)", "torch.nextafter(a, b)", 2, "fp32 fp64")
op("ldexp", "libdevice.ldexp(a, 3)", "a * 8", 1, "fp32 fp64")
op("trunc", "libdevice.trunc(a)", "a.trunc()", 1, "fp32 fp64")
op("rint", "libdevice.rint(a)", "a.round()", 1, "fp32 fp64")
op("round", "libdevice.round(a)", "torch.sign(a) * (a.abs() + 0.5).floor()", 1, "fp32")
op("llrint", "libdevice.llrint(a).to(tl.float32)", "a.round()", 1, "fp32")
op("isnan", "libdevice.isnan(a).to(tl.int32).to(a.dtype)", "a * 0", 1, "fp32 fp64")
op(
    "isinf",
    "libdevice.isinf(a / (a - a)).to(tl.int32).to(a.dtype)",
    "a * 0 + 1",
    1,
    "fp32 fp64",
    0.1,
    3,
)
op(
    "signbit",
    "libdevice.signbit(a).to(tl.int32).to(a.dtype)",
    "(a < 0).to(a.dtype)",
    1,
    "fp32 fp64",
)
op(
    "popc",
    "libdevice.popc(a)",
    "torch.tensor([bin(int(v)).count('1') for v in a.tolist()], dtype=torch.int32)",
    1,
    "int32",
    1,
    900,
)
op(
    "clz",
    "libdevice.clz(a)",
    "torch.tensor([32 - int(v).bit_length() for v in a.tolist()], dtype=torch.int32)",
    1,
    "int32",
    1,
    900,
)
op("j0", "libdevice.j0(a)", "torch.special.bessel_j0(a)", 1, "fp32 fp64")
op("y0", "libdevice.y0(a)", "torch.special.bessel_y0(a)", 1, "fp32", 0.5, 9)
op("i0", "libdevice.cyl_bessel_i0(a)", "torch.special.i0(a)", 1, "fp32")
op(
    "gelu",
    "0.5 * a * (1 + tl.erf(a * 0.7071067811865476))",
    "torch.nn.functional.gelu(a)",
    1,
    "fp32",
)
op(
    "gelutanh",
    "0.5 * a * (1 + libdevice.tanh(0.7978845608 * (a + 0.044715 * a * a * a)))",
    "torch.nn.functional.gelu(a, approximate='tanh')",
    1,
    "fp32",
)
op("silu", "a * tl.sigmoid(a)", "torch.nn.functional.silu(a)", 1, "fp32")
op(
    "softplus",
    "tl.where(a > 20, a, libdevice.log1p(tl.exp(a)))",
    "torch.nn.functional.softplus(a)",
    1,
    "fp32",
)
op("elu", "tl.where(a > 0, a, tl.exp(a) - 1)", "torch.nn.functional.elu(a)", 1, "fp32")
op(
    "mish",
    "a * libdevice.tanh(libdevice.log1p(tl.exp(a)))",
    "torch.nn.functional.mish(a)",
    1,
    "fp32",
)
op("hardswish", "a * tl.clamp(a + 3, 0.0, 6.0) / 6", "torch.nn.functional.hardswish(a)", 1, "fp32")
op("swizzle2d", "(tl.swizzle2d(a, a, 4, 4, 2)[0])", "a", 1, "int32", 0, 1)
for s, d in [
    ("fp32", "fp16"),
    ("fp32", "bf16"),
    ("fp16", "fp32"),
    ("bf16", "fp32"),
    ("fp32", "fp64"),
    ("fp64", "fp32"),
    ("fp32", "int32"),
    ("int32", "fp32"),
    ("int8", "fp32"),
    ("fp32", "int8"),
    ("int64", "fp32"),
    ("fp32", "int64"),
    ("fp64", "int64"),
    ("int64", "fp64"),
    ("int32", "int64"),
    ("int64", "int32"),
    ("uint8", "fp32"),
    ("fp16", "int8"),
    ("int8", "fp16"),
    ("bf16", "fp16"),
    ("fp16", "bf16"),
    ("int16", "bf16"),
    ("fp64", "fp16"),
    ("fp64", "bf16"),
    ("int32", "fp16"),
    ("fp16", "fp64"),
]:
    op(
        f"cast_{s}_{d}",
        f"a.to(tl.{d.replace('bf', 'bfloat') if d[0] == 'b' else d.replace('fp', 'float')})",
        f"a.to(DT['{d}'])",
        1,
        s,
        -90 if s != "uint8" else 0,
        90,
    )
print("""import pytest, torch, triton
import triton.language as tl
from triton.language.extra import libdevice
DT = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "fp64": torch.float64,
      "int8": torch.int8, "int16": torch.int16,
      "int32": torch.int32, "int64": torch.int64,
      "uint8": torch.uint8}
def data(t, lo, hi, n=777, seed=0):
    g = torch.Generator(); g.manual_seed(seed)
    if t.startswith(("int","uint")):
        lo = max(int(lo), 0) if t == "uint8" else int(lo)
        return torch.randint(int(lo), int(hi) + 1, (n,), generator=g).to(DT[t])
    return (torch.rand(n, generator=g, dtype=torch.float64) * (hi - lo) + lo).to(DT[t])
def check(kernel, ref, t, n, lo, hi):
    a, b = data(t, lo, hi), data(t, lo, hi, seed=1)
    want = ref(a, b) if n == 2 else ref(a)
    out = torch.empty(a.shape, dtype=want.dtype, device="cuda")
    ins = (a.cuda(), b.cuda())[:n]
    kernel[(4,)](*ins, out, 777, BLOCK=256)
    got = out.cpu()
    if want.dtype.is_floating_point:
        r = {torch.float32: 2e-5, torch.float64: 1e-9, torch.float16: 2e-3}.get(want.dtype, 2e-2)
        torch.testing.assert_close(got, want, rtol=r, atol=r)
    else:
        assert torch.equal(got, want), (got[got != want][:5], want[got != want][:5])
""")

for name, expr, ref, n, types, lo, hi in OPS:
    second = ", b" if n == 2 else ""
    print(f"""
@triton.jit
def k_{name}(a_ptr, {"b_ptr, " if n == 2 else ""}out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    a = tl.load(a_ptr + o, mask=m, other={1 if lo > 0 else 0})""")
    if n == 2:
        print("    b = tl.load(b_ptr + o, mask=m, other=1)")
    print(f"""    tl.store(out + o, {expr}, mask=m)


@pytest.mark.parametrize("t", {types})
def test_{name}(t):
    check(k_{name}, lambda a{second}: {ref}, t, {n}, {lo}, {hi})
""")
