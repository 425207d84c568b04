# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far the simulator's results are those of hardware (the tables of docs/simulator.md)."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_ROUNDED = re.compile(
    r"v_(?:s_)?(?:rcp|rsq|sqrt|exp|log|sin|cos)_"
    # Sums of matrix instructions are exact for integers, and a chain of fma for f64.
    r"|v_(?:mfma|smfmac)_(?!i32_|f64_)|v_s?wmma(?:c)?_(?!i32_)")


def is_rounded(mnemonic: str) -> bool:
    """Whether a card's result may differ in the last place."""
    return _ROUNDED.match(mnemonic) is not None


@dataclass
class Fidelity:
    """What a run executed."""

    executed: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    """What code objects contain that the simulator does not model."""
    kernels: dict[str, set[str]] = field(default_factory=dict)
    """The instructions that kernels contain."""

    def read(self, coverage: pathlib.Path) -> None:
        """Adds a file of LNBWD_SIM_COVERAGE: "CHIP NAME STATE"."""
        if not coverage.exists():
            return
        for line in coverage.read_text(encoding="utf-8").splitlines():
            _, name, state = line.split(" ", 2)
            if state.startswith("executed"):
                self.executed.add(name)
            elif state == "missing":
                self.missing.add(name)

    def to_dict(self) -> dict[str, Any]:
        """For a report."""
        rounded = sorted(filter(is_rounded, self.executed))
        return {
            "exact": len(self.executed) - len(rounded),
            "rounded": rounded,
            "not_modelled": sorted(self.missing),
            "kernels_with_rounded": {name: sorted(found) for name, has in self.kernels.items()
                                     if (found := has & set(rounded))},
        }

    def merge(self, data: Mapping[str, Any]) -> None:
        """Adds what another process has seen."""
        self.executed |= set(data["executed"])
        self.missing |= set(data["missing"])
        for name, has in data["kernels"].items():
            self.kernels.setdefault(name, set()).update(has)

    def lines(self) -> list[str]:
        """Some lines of text."""
        data = self.to_dict()
        lines = [f"{data['exact']} different instructions were executed exactly as documented"]
        if data["rounded"]:
            lines.append(f"{len(data['rounded'])} within rounding, a card may differ in the last "
                         f"place: {', '.join(data['rounded'])}")
            lines.append("  in the kernels " + ", ".join(sorted(data["kernels_with_rounded"]))
                         + "; --amdgpu-rounding shows what depends on it")
        if data["not_modelled"]:
            lines.append("not modelled, a launch that reaches one stops: "
                         + ", ".join(data["not_modelled"]))
        return lines
