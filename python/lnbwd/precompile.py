# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``python -m lnbwd.precompile``: fills the kernel cache ahead of time."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence

from . import _chips, kernels
from .errors import LnbwdError
from .operations import LAYER_NORM_BWD, OPERATIONS
from .spec import DTYPES, OPS, words


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lnbwd.precompile",
        description="Compiles kernels into the cache on disk: every combination of the lists "
                    "given. Copy the cache's folder to a machine without a compiler.")
    parser.add_argument("--chip", type=words,
                        help=f"chips, for example {_chips.SIMULATED},{_chips.GPU}")
    parser.add_argument("--n", type=words, help="row lengths, for example 1024,4096")
    parser.add_argument("--dtype", type=words, default=["bf16"],
                        help=f"types of x, of {', '.join(DTYPES)} (default: bf16)")
    parser.add_argument("--op", type=words, default=[LAYER_NORM_BWD],
                        help=f"operations, of {', '.join(OPS)} (default: {LAYER_NORM_BWD})")
    parser.add_argument("--weight", type=words, default=["same"],
                        help="types of the scale: same (as x), f32 or none (default: same)")
    parser.add_argument("--bias", type=words, default=["same"],
                        help="types of the shift, likewise, where there is one")
    parser.add_argument("--grads", type=words, action="append",
                        help="the gradients wanted, of dx,dweight,dbias (default: all there are); "
                             "may be given several times")
    parser.add_argument("--format", default="", help="hsaco, ptx or cubin (default: the chip's)")
    parser.add_argument("--cache", help="the cache's folder (default: the usual one)")
    parser.add_argument("--jobs", type=int, help="compilations at once (default: the processors)")
    parser.add_argument("--list", action="store_true", help="show what the cache has, and end")
    return parser


def _parameter(text: str) -> bool | str:
    return {"same": True, "none": False}.get(text, text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; 0 if every kernel is in the cache."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.cache:
        kernels.set_cache_folder(options.cache)
    if options.list:
        for spec, identity, size in kernels.kernel_cache().entries():
            print(f"{spec}: {size} bytes, by {identity}")
        return 0
    if not options.chip or not options.n:
        parser.error("expected --chip and --n, or --list")
    requests = []
    for op, chip, n, dtype, weight, bias, grads in itertools.product(
            options.op, options.chip, options.n, options.dtype, options.weight, options.bias,
            options.grads or [None]):
        if not n.isdigit():
            parser.error(f"--n: expected numbers, got {n!r}")
        request = {"op": op, "chip": chip, "n": int(n), "dtype": dtype,
                   "weight": _parameter(weight), "grads": grads, "format": options.format}
        if op not in OPERATIONS or OPERATIONS[op].has("beta"):
            request["bias"] = _parameter(bias)
        if request not in requests:
            requests.append(request)

    def show(done: kernels.Precompiled) -> None:
        state = "cached" if done.was_cached else f"compiled in {done.seconds:.2f} s"
        print(f"{done.spec}: {done.size} bytes, {state}", flush=True)

    try:
        results = kernels.precompile(requests, jobs=options.jobs, progress=show)
    except (LnbwdError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{len(results)} kernels in {kernels.kernel_cache().folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
