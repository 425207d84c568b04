# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All operations of the family with all their options: compiles them, runs them,
and compares with the reference in float64.

As a program it has two halves, like grid.py:

  family.py compile --build BUILD --chips sm_90 --out KERNELS
  family.py run --build BUILD --kernels KERNELS --device cuda
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import functools
import hashlib
import json
import pathlib
import sys
import time

import numpy as np

import chips as chips_of_tests
import compiling
import device as devices
import reference as references
import samples
from lnbwd import operations

AMD_CHIPS = chips_of_tests.MANY
# gfx1250 has matrix instructions of its own.
PRODUCT_CHIPS = (*AMD_CHIPS, "gfx1250")
ROWS = (0, 1, 5, 70)
F32_ROUNDOFF = 2.0 ** -24
# One rounding of the type and a little room, as in docs/numerics.md.
TOLERANCE = {"f16": 6e-4, "bf16": 4e-3, "f32": 5e-7}


@dataclasses.dataclass(frozen=True)
class Case:
    """One kernel of one operation with its options, and its inputs."""

    op: str
    chip: str = chips_of_tests.DEFAULT
    dtype: str = "f32"
    n: int = 512
    # Columns' type; empty: that of the rows.
    column: str = ""
    gamma: bool = True
    beta: bool = True
    # Backward: "saved", "recomputed", or "output" (y in the place of x).
    statistics: str = "saved"
    # Forward: residual in, sum out. Backward: dsum in, dresidual out.
    residual: str = ""
    zero_centred: bool = False
    accumulate: bool = False
    # Backward: dx over dy. Forward: the sum over the residual.
    in_place: bool = False
    # Dimensions of a row, if several; their product is n.
    row_shape: tuple[int, ...] = ()
    # Leading dimensions in front of the one that is dynamic, for a higher rank.
    leading: tuple[int, ...] = ()
    # Elements from row to row; 0: dense.
    stride: int = 0
    outputs: tuple[str, ...] = ()
    epsilon: float = 1e-5
    init: str = "normal"
    pipeline: str = ""
    # A gradient that --lnbwd-differentiate derives from the forward pass.
    derived: bool = False

    @property
    def operation(self) -> operations.Operation:
        return operations.OPERATIONS[self.op]

    @property
    def forward(self) -> bool:
        return self.operation.is_forward

    @property
    def suffix(self) -> str:
        return "hsaco" if self.chip.startswith("gfx") else "ptx"

    @property
    def name(self) -> str:
        """Short, and different for different cases."""
        plain = Case(self.op)
        parts = [self.op]
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name in ("chip", "dtype", "n"):
                parts.append(str(value))
            elif field.name != "op" and value != getattr(plain, field.name):
                text = value if isinstance(value, str) else json.dumps(value)
                text = "".join(c for c in text if c.isalnum() or c in "-_")
                parts.append(field.name if value is True else f"{field.name}_{text}")
        return "-".join(parts)

    @property
    def file_name(self) -> str:
        text = f"{self.chip} {self.pipeline} {self.derived} {source(self)}"
        return hashlib.sha256(text.encode()).hexdigest()[:20] + "." + self.suffix

    def arguments(self) -> list[tuple[str, str, str, bool]]:
        """(name, kind, element, is_output) of each argument, in the operation's order."""
        from_output = self.statistics == "output"
        is_there = {"x": self.forward or not from_output, "y": from_output, "gamma": self.gamma,
                    "beta": self.beta and (self.forward or from_output),
                    "mean": self.statistics == "saved", "rstd": self.statistics != "recomputed"}
        result = []
        for operand in self.operation.operands:
            role = operand.role
            if (not self.residual if role.has_own_element
                    else not operand.is_output and not is_there.get(role.name, True)):
                continue
            if operand.is_output and self.outputs and role.name not in self.outputs:
                continue
            element = {"row_block": self.residual if role.has_own_element else self.dtype,
                       "column": self.column or self.dtype, "row_scalar": "f32"}[role.kind]
            if role.kind == "column" and operand.is_output and self.accumulate:
                element = "f32"
            result.append((role.name, role.kind, element, operand.is_output))
        return result


def source(case: Case) -> str:
    """The operation as MLIR."""
    types = {name: operations.buffer_type(kind, element, case.row_shape or (case.n,),
                                          leading=("?", *case.leading), stride=case.stride)
             for name, kind, element, _ in case.arguments()}
    attributes = [f"epsilon = {case.epsilon:e} : f64"]
    if case.zero_centred:
        attributes.append("zero_centred_gamma")
    if case.accumulate:
        attributes.append("accumulate")
    if case.row_shape:
        attributes.append(f"row_rank = {len(case.row_shape)} : i64")
    return operations.mlir(case.op, types, attributes)


def compile_case(build: pathlib.Path, case: Case, folder: pathlib.Path) -> pathlib.Path:
    """Compiles `case` into `folder`, unless that is done; returns the file."""
    output = folder / case.file_name
    if output.exists():
        return output
    text = source(case)
    if case.derived:
        # Of a forward pass that puts its statistics out only where they are saved.
        outputs = () if case.statistics == "saved" else ("y",)
        forward = dataclasses.replace(case, op=case.operation.counterpart, statistics="saved",
                                      outputs=outputs)
        text = compiling.differentiate(build, source(forward))
    compiling.compile_to(output, build, text, case.chip, case.pipeline)
    return output


def make_inputs(case: Case, rows: int) -> dict[str, np.ndarray]:
    """float64 values that their types hold exactly, by name; rows are [rows, n]."""
    random = np.random.default_rng(int(case.file_name[:8], 16) + rows)

    def rounded(values, element):
        return devices.decode(devices.encode(values, element).ravel(),
                              element).reshape(values.shape)

    inputs = {}
    elements = {name: element for name, _, element, _ in case.arguments()}
    column = case.column or case.dtype
    drawn = ("x", "dy", "residual", "dsum")
    others = [o.name for o in case.operation.operands if not o.is_output
              and o.role.kind == "row_block" and o.name not in (*drawn, "y")]
    for name in (*drawn, *others):
        values = random.standard_normal((rows, case.n))
        if name == "x" and case.init == "large-mean":
            values += {"f32": 1e4, "f16": 1e3, "bf16": 1e2}[case.dtype]
        if name == "x" and case.init == "huge":
            values *= 1e15
        if name == "x" and case.init == "constant":
            values = np.repeat(values[:, :1] * 1e30, case.n, axis=1)
        inputs[name] = rounded(values, elements.get(name, case.dtype))
    for name in ("gamma", "beta"):
        values = (0.0 if case.zero_centred or name == "beta" else 1.0) + 0.25 * \
            random.standard_normal(case.n)
        if case.init == "zero-gamma" and name == "gamma":
            # Zeros of both signs, subnormal and very small numbers among the rest.
            values[::3] = (-1.0 if case.zero_centred else 0.0)
            values[1::5] = (-1.0 if case.zero_centred else 1e-38)
            values[2::7] = (-1.0 if case.zero_centred else -1e-30)
        inputs[name] = rounded(values, column)
    if not case.forward:
        # What the forward pass saves.
        derived, _ = evaluate(case, inputs, rows, case.operation.counterpart, in_float32=False)
        for name, values in derived.items():
            kind = operations.ROLES[name].kind
            inputs[name] = rounded(values, "f32" if kind == "row_scalar" else case.dtype)
    for name in ("dgamma", "dbeta"):
        inputs[name] = rounded(random.standard_normal(case.n), "f32")
    return inputs


def evaluate(case: Case, inputs, rows: int, op: str, **options):
    """An operation in float64, on those of the inputs that the case has."""
    there = {name for name, _, _, _ in case.arguments()}
    if op != case.op:
        # The forward pass has them where a gradient from its output has not.
        there |= {"x"} | ({"beta"} if case.beta else set())
    read = {o.name for o in operations.OPERATIONS[op].operands
            if not o.is_output or (case.accumulate and o.role.kind == "column")}
    return references.evaluate(
        op, {name: inputs[name] for name in inputs if name in there & read}, rows, case.n,
        zero_centred=case.zero_centred, epsilon=case.epsilon, **options)


def reference(case: Case, inputs) -> dict[str, tuple[np.ndarray, float]]:
    """The outputs in float64, each with the size of the terms that it is a sum of."""
    outputs, terms = evaluate(case, inputs, len(inputs["x"]), case.op)
    results = {}
    for name, values in outputs.items():
        size = terms[name]
        kind = operations.ROLES[name].kind
        # A sum over rows and a statistic have some roundings more, what was there before has not.
        if kind != "row_block" and name != "mean":
            size *= 2
        if kind == "column" and case.accumulate:
            size -= float(np.max(np.abs(inputs[name]), initial=0.0))
        results[name] = values, size
    return results


def allowed_error(name: str, element: str, expected: np.ndarray, terms: float) -> float:
    tolerance = TOLERANCE[element]
    if element == "f32" and operations.ROLES[name].kind == "column":
        tolerance *= 2
    largest = float(np.max(np.abs(expected), initial=0.0))
    return max(tolerance * largest, 4 * F32_ROUNDOFF * terms) + devices.SMALLEST[element]


@functools.lru_cache(maxsize=1)
def load(runtime: devices.Runtime, device: str, chip: str, file: pathlib.Path) -> devices.Kernel:
    """A kernel, which the next number of rows needs again."""
    return devices.Kernel(runtime.open(device, chip), file)


def run_case(runtime: devices.Runtime, device: str, case: Case, file: pathlib.Path,
             rows: int) -> dict[str, float]:
    """Runs and compares; returns the largest error of each output, as a part of
    what is allowed. Raises LaunchError with what is wrong."""
    kernel = load(runtime, device, case.chip, file)
    inputs = make_inputs(case, rows)
    buffers = {}
    for name, kind, element, is_output in case.arguments():
        if is_output and not case.accumulate:
            continue
        if is_output and kind != "column":
            continue
        values = inputs[name]
        if kind == "row_block" and case.stride:
            padded = np.full((rows, case.stride), 7.0)
            padded[:, :case.n] = values
            values = padded
        buffers[name] = devices.encode(values.ravel(), element)
    same = {"sum": "residual"} if case.forward else {"dx": "dy"}
    outputs = kernel.launch(rows, buffers, same if case.in_place else None)
    expected = reference(case, inputs)
    errors = {}
    for name, kind, element, is_output in case.arguments():
        if not is_output:
            continue
        values, terms = expected[name]
        bits = outputs[name]
        if kind == "row_block" and case.stride:
            bits = np.ascontiguousarray(bits.reshape(rows, case.stride)[:, :case.n]).ravel()
        actual = devices.decode(bits, element).reshape(values.shape)
        if not np.all(np.isfinite(actual)):
            raise LaunchError(f"{name}: {np.sum(~np.isfinite(actual))} elements are not finite")
        allowed = allowed_error(name, element, values, terms)
        error = float(np.max(np.abs(actual - values), initial=0.0))
        errors[name] = error / allowed
        if error > allowed:
            raise devices.LaunchError(
                f"{name}: largest error {error:.3e}, allowed {allowed:.3e}, largest value "
                f"{np.max(np.abs(values)):.3e}")
    return errors


LaunchError = devices.LaunchError
LENGTHS = (1, 2, 7, 96, 255, 512, 769, 1024, 1032, 3000, 4096)
DTYPES = ("f32", "bf16", "f16")
# Those with a linear layer have a size more: test_linear_operations.py has them.
OPS = tuple(operations.OPERATIONS)


def cases(chips=AMD_CHIPS):
    """The cases of the family. Chips and types walk through the lengths out of step; every
    option meets every operation that has it, on every chip."""
    for c, chip in enumerate(chips):
        for o, op in enumerate(OPS):
            operation = operations.OPERATIONS[op]
            forward = operation.is_forward
            for i, n in enumerate(LENGTHS):
                dtype = DTYPES[(i + c + o) % 3]
                ways = ("saved",) if forward else ("saved", "recomputed", *from_output(operation))
                statistics = ways[(i + c) % len(ways)]
                # xhat from an output of one or two columns is the output's rounding.
                if statistics == "output" and n < 7:
                    statistics = "saved"
                yield Case(op, chip, dtype, n, statistics=statistics)
            yield from option_cases(operation, chip, DTYPES[c % 3])


def from_output(operation):
    """That way to the statistics, if the gradient can take the output in the place of x."""
    return ("output",) if operation.find("y", False) else ()


def option_cases(operation, chip, dtype):
    op, forward = operation.name, operation.is_forward
    has_residual = operation.has("residual") or operation.has("dsum")
    yield Case(op, chip, dtype, 512, gamma=False, beta=False)
    yield Case(op, chip, "bf16", 768, column="f32")
    yield Case(op, chip, dtype, 512, zero_centred=True)
    if has_residual:
        yield Case(op, chip, "bf16", 512, residual="f32")
        yield Case(op, chip, dtype, 512, residual="bf16")
    yield Case(op, chip, dtype, 24, row_shape=(4, 6))
    yield Case(op, chip, dtype, 96, leading=(3,))
    yield Case(op, chip, dtype, 256, stride=320)
    yield Case(op, chip, dtype, 96, stride=97, leading=(2,))
    yield Case(op, chip, "f32", 769, init="large-mean",
               statistics="saved" if forward else "recomputed")
    yield Case(op, chip, "f32", 65537)
    if forward:
        yield Case(op, chip, dtype, 131072)
        if has_residual:
            yield Case(op, chip, dtype, 512, residual=dtype, in_place=True)
            yield Case(op, chip, dtype, 65536, residual=dtype, in_place=True)
        if operation.has("mean"):
            yield Case(op, chip, "f32", 256, init="constant")
        return
    yield Case(op, chip, dtype, 1024, statistics="recomputed")
    for way in from_output(operation):
        yield Case(op, chip, dtype, 1024, statistics=way)
        yield Case(op, chip, dtype, 512, statistics=way, gamma=False, beta=False)
        yield Case(op, chip, dtype, 512, statistics=way, zero_centred=True)
        yield Case(op, chip, dtype, 300, statistics=way, init="zero-gamma")
    yield Case(op, chip, "bf16", 512, accumulate=True)
    yield Case(op, chip, "bf16", 512, accumulate=True, pipeline="two-pass=always")
    yield Case(op, chip, dtype, 512, pipeline="reproducible=true")
    yield Case(op, chip, dtype, 512, in_place=True)
    yield Case(op, chip, dtype, 512, in_place=True, pipeline="two-pass=always")
    yield Case(op, chip, dtype, 512, outputs=("dx",))
    yield Case(op, chip, dtype, 512, outputs=("dgamma",))
    yield Case(op, chip, dtype, 131072)
    yield Case(op, chip, dtype, 1024, derived=True)
    yield Case(op, chip, dtype, 1024, statistics="recomputed", derived=True)
    # Rows that one workgroup cannot hold, and statistics that nobody saved.
    yield Case(op, chip, dtype, 131072, statistics="recomputed")
    yield Case(op, chip, dtype, 512, statistics="recomputed", pipeline="two-pass=always")


def others(case: Case) -> tuple:
    """Its options but for operation, chip, type and length."""
    plain = Case(case.op, case.chip, case.dtype, case.n)
    return tuple((field.name, getattr(case, field.name)) for field in dataclasses.fields(case)
                 if getattr(case, field.name) != getattr(plain, field.name))


def taken_for(case: Case) -> set:
    """Its chip; operation, type and other options beside the chip's family; operation and type,
    operation and other options; and the length."""
    return samples.beside_family(case.chip, (case.op, case.dtype, others(case))) | {
        (case.chip, case.dtype), (case.op, case.dtype), (case.op, others(case)), case.n}


def cost(case: Case) -> float:
    """What a case takes, roughly: gradients take longer to compile than forward passes, those of
    single elements of float32 longest, and long rows to simulate."""
    single = case.n > 64 and case.n % 2 == 1 and case.dtype == "f32"
    return (1 if case.forward else 5 if single else 2) + case.n / 20000


def sampled_cases():
    """Some of the cases, by what taken_for says."""
    return samples.cover(dict.fromkeys(cases()), taken_for, cost)


def few_cases(chips=chips_of_tests.FEW):
    """For a chip whose instructions another one has too: a forward pass and a gradient, each with
    what takes more than the plain one."""
    for chip in chips:
        yield Case("rms_norm", chip, "bf16", 1000, residual="bf16")
        yield Case("layer_norm_bwd", chip, "f16", 512, statistics="recomputed")


def row_counts(case: Case):
    """Numbers of rows to run a case with."""
    step = int(np.prod(case.leading)) if case.leading else 1
    if case.n > 50000:
        return (2,)
    return tuple(rows * step for rows in ROWS) if case.n < 1000 else (0, 3, 70)


def large_cases(chip):
    """Kernels for row blocks of more than 2^31 elements and 4 GiB."""
    for op in OPS:
        recomputes = op == operations.LAYER_NORM_BWD
        yield Case(op, chip, "bf16", 4096, statistics="recomputed" if recomputes else "saved")


def run_large(runtime, device, case, file, block=2048, repeats=300):
    """Runs on `block` rows, `repeats` times over, and compares every repetition with the first,
    and that with the reference; column sums are sums of repetitions."""
    kernel = devices.Kernel(runtime.open(device, case.chip), file)
    inputs = make_inputs(case, block)
    buffers = {}
    for name, kind, element, is_output in case.arguments():
        if not is_output:
            bits = devices.encode(inputs[name].ravel(), element)
            buffers[name] = bits if kind == "column" else np.tile(bits, repeats)
    outputs = kernel.launch(block * repeats, buffers)
    expected = reference(case, inputs)
    for name, kind, element, is_output in case.arguments():
        if not is_output:
            continue
        values, terms = expected[name]
        bits = outputs[name]
        if kind == "column":
            values, terms = values * repeats, terms * repeats
        else:
            for row in bits.reshape(repeats, -1):
                if not np.array_equal(row, bits[:row.size]):
                    raise LaunchError(f"{name}: the same rows give other results further on")
            bits = bits[:bits.size // repeats]
        error = np.max(np.abs(devices.decode(bits, element).reshape(values.shape) - values))
        allowed = allowed_error(name, element, values, terms)
        if not error <= allowed:
            raise LaunchError(f"{name}: largest error {error:.3e}, allowed {allowed:.3e}")


def compile_main(options) -> int:
    folder = pathlib.Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    chosen = list(dict.fromkeys(cases(options.chips)))[::options.every]
    if options.every == 1:
        chosen += [case for chip in options.chips for case in large_cases(chip)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda case: compile_case(options.build, case, folder), chosen))
    print(f"{len(chosen)} kernels in {folder}")
    return 0


def run_main(options) -> int:
    start = time.monotonic()
    runtime = devices.Runtime(options.build)
    passed, failures, worst = 0, [], {}
    for case in list(dict.fromkeys(cases(options.chips)))[::options.every]:
        file = pathlib.Path(options.kernels) / case.file_name
        for rows in row_counts(case):
            try:
                for name, part in run_case(runtime, options.device, case, file, rows).items():
                    key = (case.op, name)
                    worst[key] = max(worst.get(key, (0.0, "")), (part, case.name))
                passed += 1
            except LaunchError as error:
                failures.append(f"{case.name} m={rows}: {error}")
    for case in large_cases(options.chips[0]) if options.large else ():
        try:
            run_large(runtime, options.device, case,
                      pathlib.Path(options.kernels) / case.file_name)
            passed += 1
        except LaunchError as error:
            failures.append(f"{case.name}, more than 2^31 elements: {error}")
    for failure in failures[:40]:
        print(failure)
    for (op, name), (part, where) in sorted(worst.items()):
        print(f"{op:15} {name:10} largest error {part:.2f} of the allowed one, {where}")
    print(f"{passed} passed, {len(failures)} failed, {time.monotonic() - start:.0f} s")
    return 1 if failures or not passed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("compile", "run"):
        command = commands.add_parser(name)
        command.add_argument("--build", type=pathlib.Path, required=True,
                             help="folder that has bin/lnbwd-opt or lib/liblnbwd-runtime.so")
        command.add_argument("--chips", nargs="+", default=[chips_of_tests.GPU])
        command.add_argument("--every", type=int, default=1, metavar="N",
                             help="only each Nth case, and no large ones")
    commands.choices["compile"].add_argument("--out", required=True)
    commands.choices["run"].add_argument("--kernels", required=True)
    commands.choices["run"].add_argument("--device", default="cuda")
    commands.choices["run"].add_argument("--large", action="store_true",
                                         help="also row blocks of more than 2^31 elements; takes "
                                         "40 GB of this machine's memory")
    options = parser.parse_args()
    return compile_main(options) if options.command == "compile" else run_main(options)


if __name__ == "__main__":
    sys.exit(main())
