# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel costs and what limits it, as numbers and as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Report"]


@dataclass(frozen=True, repr=False)
class Report:
    """Figures of a kernel for a number of rows.

    The compiler reads them off the machine code's metadata and the launch plan
    (``--emit=report-json``).

    Attributes:
        data: all figures, under the names that ``lnbwd-opt --emit=report-json`` gives them.
        text: the same for people.
        chip: the chip's name.
        rows: M.
        minimal_bytes: the fewest bytes that the operation can move.
        bytes: those that the kernels move by the plan.
        seconds: the least time that what bounds the kernels allows.
        share_of_peak: of the memory's bandwidth that the operation reaches in that time, 0 to 1.
    """

    data: dict[str, Any]
    text: str
    chip: str
    rows: int
    minimal_bytes: float
    bytes: float
    seconds: float
    share_of_peak: float

    @property
    def bound(self) -> str:
        """What bounds the kernel that takes longest: "memory" or "matrix instructions"."""
        return str(max(self.data["kernels"], key=lambda k: k["seconds"])["bound"])

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return (f"<lnbwd report: {self.data['name']} on {self.chip}, {self.rows} rows: at "
                f"least {self.seconds * 1e6:.1f} us, {100 * self.share_of_peak:.0f} % of peak "
                f"bandwidth, bound by {self.bound}>")
