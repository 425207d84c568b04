#!/usr/bin/env python3
# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels and damaged inputs, in a process of their own so that a crash is seen.

  fuzz_cases.py kernels|mlir|options|objects --seed S --count K [--seconds T]

Every case is named ("kernels 17") before it runs; a case alone is repeated with --seed 17
--count 1.

kernels: a valid operation, types, sizes, schedule and chip at random; compiled, run on the
  simulator under all checks, once more in another order of waves, and compared with float64. A
  schedule that does not fit has to end in a CompileError.
mlir, options: MLIR text and pipeline options with random damage: a compiled kernel or a
  CompileError.
objects: compiled kernels with random damage in the code object or the launch plan: refused, or run
  on the simulator to some end. What it calls a cache entry has to be refused if it is not what was
  stored.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import sys
import tempfile
import time
import warnings
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import layer_norm as ln
import numpy as np

from lnbwd import CompileError, compiler, runtime
from lnbwd.core.base.errors import LnbwdError
from lnbwd.core.compile import cache
from lnbwd.core.compile.kernels import make_spec
from lnbwd.core.compile.spec import GRADIENTS, ProgramSpec


def random_length(rng: random.Random) -> int:
    return rng.choice((rng.randint(1, 64), rng.randint(1, 1200), rng.randint(1, 9000),
                       1 << rng.randint(0, 13), (1 << rng.randint(1, 13)) + rng.choice((-1, 1))))


def random_schedule(rng: random.Random) -> str:
    fields = {"threads_per_row": 1 << rng.randint(0, 11), "row_groups": 1 << rng.randint(0, 6),
              "vector_width": rng.choice((1, 2, 4, 8, 16, 3)),
              "prefetch": rng.choice((0, 1)), "unroll": rng.choice((1, 2)),
              "reload": rng.choice(("true", "false")), "rows_per_workgroup": rng.choice((0, 1, 8)),
              "workgroups_per_compute_unit": rng.choice((0, 1, 2, 4))}
    names = rng.sample(list(fields), rng.randint(1, 3))
    return ",".join(f"{name}={fields[name]}" for name in names)


def random_norm(rng: random.Random) -> dict[str, Any]:
    """Arguments of make_spec."""
    dtype = rng.choice(("f16", "bf16", "f32"))
    rms = rng.random() < 0.25
    weight = rng.choice(("", dtype, "f32"))
    bias = "" if rms else rng.choice((dtype, "f32"))
    while True:
        wants = [rng.random() < 0.75, bool(weight) and rng.random() < 0.75,
                 bool(bias) and rng.random() < 0.75]
        if any(wants):
            break
    return {"op": "rms_norm_bwd" if rms else "layer_norm_bwd", "n": random_length(rng),
            "dtype": dtype, "chip": rng.choice(ln.CHIPS), "weight": weight, "bias": bias,
            "grads": [grad for grad, want in zip(GRADIENTS, wants, strict=True) if want],
            "schedule": random_schedule(rng) if rng.random() < 0.5 else "",
            "two_pass": rng.choice(("auto", "auto", "auto", "always", "never"))}


def kernel_case(rng: random.Random) -> str:
    norm = random_norm(rng)
    n, dtype, weight = norm["n"], norm["dtype"], norm["weight"]
    spec = make_spec(**norm)
    elements = rng.choice((3000, 30000, 120000))
    m = rng.randint(0, max(1, min(600, elements // n)))
    text = f"{norm} m={m}"
    try:
        k = ln.kernel_of_text(spec.source, spec.chip, spec.pipeline_options())
    except CompileError as error:
        if not spec.pipeline_options():
            raise AssertionError(f"a valid operation was refused: {text}: {error}") from error
        if "error:" not in error.diagnostics and not str(error):
            raise AssertionError(f"a refusal without a message: {text}") from error
        return "refused"
    inputs = ln.random_inputs(rng.getrandbits(32), m, n, dtype, weight,
                              mean=rng.choice((0, 0, 3, -20)), scale=rng.choice((1, 1, 0.1, 30)))
    if not weight:
        inputs.pop("gamma")
    if norm["op"] == "rms_norm_bwd":
        with np.errstate(divide="ignore"):
            inputs["rstd"] = (1 / np.sqrt((inputs["x"] ** 2).mean(axis=1) + ln.EPSILON)).astype(
                np.float32).astype(np.float64)
    results = ln.run(k, inputs, m)
    expected = ln.reference(inputs, norm["op"])
    term = np.abs(inputs["rstd"][:, None] * inputs["dy"] * inputs.get("gamma", 1.0)).max(initial=0)
    terms = {"dx": term, "dgamma": np.abs(inputs["x"] * inputs["rstd"][:, None] * inputs["dy"]).sum(
        axis=0).max(initial=0) if m else 0,
        "dbeta": np.abs(inputs["dy"]).sum(axis=0).max(initial=0)}
    kinds = {"dx": dtype, "dgamma": weight, "dbeta": norm["bias"]}
    for name, got in results.items():
        error = ln.worst_error(got, expected[name], kinds[name], terms[name])
        if error > (ln.DX_TOLERANCE if name == "dx" else ln.TOLERANCE)[kinds[name]]:
            raise AssertionError(f"{text}: {name}: error {error:.3e}")
    ln.shuffle(spec.chip, rng.randint(1, 1 << 30))
    try:
        again = ln.run(k, inputs, m)
    finally:
        ln.shuffle(spec.chip, 0)
    for name, got in results.items():
        if not np.array_equal(got, again[name]):
            raise AssertionError(f"{text}: {name} depends on the order of waves")
    return "right"


def damaged_text(rng: random.Random, text: str) -> str:
    characters = list(text)
    for _ in range(rng.choice((1, 1, 2, 4, 12))):
        place = rng.randrange(len(characters) + 1)
        kind = rng.randrange(5)
        if kind == 0 and place < len(characters):
            del characters[place:place + rng.choice((1, 1, 3, 20))]
        elif kind == 1:
            characters.insert(place, rng.choice("<>(){}%#!?x0123456789-,:\"'@\\ \n\té"))
        elif kind == 2 and place < len(characters):
            characters[place] = chr(rng.randint(1, 126))
        elif kind == 3:
            words = rng.choice(("99999999999999999999", "-1", "0", "memref<?xf32>",
                                "tensor<4x4xf64>", "f8E4M3FN", "index", "vector<4xf32>", "?",
                                "outs", "lnbwd.rowwise"))
            characters[place:place] = list(words)
        else:
            other = rng.randrange(len(characters) + 1)
            low, high = sorted((place, other))
            characters[low:low] = characters[low:high][:40]
    return "".join(characters).replace("\0", "")


def mlir_case(rng: random.Random) -> str:
    spec = make_spec(**random_norm(rng))
    try:
        compiler.compile_mlir(damaged_text(rng, spec.source), spec.chip)
    except CompileError as error:
        assert str(error), "a refusal without a message"
        return "refused"
    return "compiled"


def options_case(rng: random.Random) -> str:
    spec = make_spec(**random_norm(rng))
    options = spec.pipeline_options() or "schedule=threads_per_row=64"
    chip = spec.chip if rng.random() < 0.7 else damaged_text(rng, spec.chip)
    try:
        compiler.compile_mlir(spec.source, chip, pipeline_options=damaged_text(rng, options))
    except CompileError as error:
        assert str(error), "a refusal without a message"
        return "refused"
    return "compiled"


_codes: dict[str, tuple[ProgramSpec, bytes]] = {}


def objects_case(rng: random.Random) -> str:
    chip = rng.choice(ln.CHIPS)
    if chip not in _codes:
        spec = make_spec("layer_norm_bwd", n=192, chip=chip)
        _codes[chip] = spec, compiler.compile_mlir(spec.source, chip).code
    spec, code = _codes[chip]
    data = bytearray(code)
    plan = code.find(b'{"format"')
    places = {"plan": (plan, code.find(b"\0", plan)), "head": (0, 0x400),
              "anywhere": (0, len(code))}
    where = rng.choice(list(places))
    begin, end = places[where]
    if rng.random() < 0.15:
        del data[rng.randrange(len(data)):]
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        if not data:
            break
        place = min(rng.randrange(begin, end), len(data) - 1)
        data[place] = rng.choice((rng.randrange(256), data[place] ^ 1 << rng.randrange(8), 0, 0xff,
                                  ord(rng.choice('0123456789{}[]",:'))))
    damaged = bytes(data)
    if rng.random() < 0.3:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            store = cache.KernelCache(folder)
            assert store.store(spec, "0" * 16, code)
            file = next(pathlib.Path(folder).rglob("*.kernel"))
            entry = bytearray(file.read_bytes())
            place = rng.randrange(len(entry))
            entry[place] ^= 1 << rng.randrange(8)
            file.write_bytes(entry[:place] if rng.random() < 0.3 else entry)
            loaded = store.load(spec, None)
            assert loaded is None or loaded == code, "a damaged cache entry was used"
    try:
        program = runtime.Program.from_bytes(damaged)
        kernel = runtime.Kernel(ln.device(chip), program)
        inputs = ln.random_inputs(1, 5, 192, "f32")
        names = {a.name for a in program.arguments if a.access != "write"}
        for a in program.arguments:
            # What the plan asks for beyond reason is the caller's to refuse.
            if program.argument_size(program.arguments.index(a), 5) > 1 << 26:
                return "unreasonable"
        if kernel.workspace_size(5) > 1 << 26 or not names <= set(inputs):
            return "unreasonable"
        results = ln.run(kernel, inputs, 5)
        ln.check({name: got for name, got in results.items() if name in ("dx", "dgamma", "dbeta")},
                 inputs, "f32")
    except LnbwdError:
        return "refused"
    except (AssertionError, ValueError, KeyError):
        return "wrong, and noticed"
    return "unharmed"


CASES = {"kernels": kernel_case, "mlir": mlir_case, "options": options_case,
         "objects": objects_case}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=CASES)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=1 << 60)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    outcomes: dict[str, int] = {}
    for seed in range(options.seed, options.seed + options.count):
        if time.monotonic() > end:
            break
        print(f"{options.kind} {seed}", flush=True)
        outcome = CASES[options.kind](random.Random(f"{options.kind} {seed}"))
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    print(f"done: {sum(outcomes.values())} cases: "
          + ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
