# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a calibration benchmark is; mi300x.py and mi300a.py have them, benchmarks.py all of them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping

from timing_model.launches import Run

#: Kinds of benchmarks, by what bounds them; "streaming" and "reduction" have a goal of their own.
KINDS = ("streaming", "reduction", "stencil", "transpose", "latency", "arithmetic", "atomics",
         "product", "irregular", "launches")

#: Buffers of more bytes than this were measured on the MI300A once fast and once slow.
LARGE_BYTES = 1.1e9


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """A benchmark on one device; ``make`` takes the numbers in a value.

    ``judged``: its times were kept back when the clock was made, to judge it by. ``doubt`` says
    what of the original is not known, and ``doubts`` what is wrong with the times of some values;
    such rows are neither fitted nor counted.
    """

    device: str
    name: str
    kind: str
    make: Callable[..., Run]
    judged: bool = False
    doubt: str = ""
    doubts: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def run(self, value: str) -> Run:
        """What the benchmark launches at this value of its parameter."""
        return self.make(*(int(number) for number in re.findall(r"\d+", value)))

    def doubt_of(self, value: str) -> str:
        """Why the time at this value is not to be relied on; empty if it is."""
        if self.doubt or value in self.doubts:
            return self.doubt or self.doubts[value]
        if self.device == "MI300A" and self.run(value).bytes() > LARGE_BYTES:
            return "large, and two runs of the same program differ"
        return ""
