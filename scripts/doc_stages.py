# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stages of the example that docs/tutorial.md and others quote: IR, launch plan, assembly."""

from __future__ import annotations

import json
import re

from doc_tools import (
    EXAMPLE,
    LAYER_NORM_BWD,
    Stop,
    Tools,
    cut,
    dedent,
    fence,
    pick,
    wrap,
    wrap_header,
)


def named_op(tools: Tools) -> str:
    """The example as it is written."""
    return fence(EXAMPLE.read_text(), "mlir")


def row_program(tools: Tools) -> str:
    """The row program that it becomes."""
    lines = dedent(cut(tools.stage("cse.mlir"), r"= lnbwd\.rowwise @"))
    return fence(wrap_header(lines[0]) + lines[1:], "mlir")


def schedule(tools: Tools) -> str:
    """The schedule that is chosen for it."""
    found = re.search(r"#lnbwd\.schedule<[^>]*>", tools.stage("lnbwd-select-schedule.mlir"))
    return fence(wrap(found.group()), "mlir")


def partial_sums(tools: Tools) -> str:
    """The two row programs, the first one's region left out: it is unchanged."""
    lines = dedent(cut(tools.stage("lnbwd-finalize-column-sums.mlir"), r"func\.func @"))
    result: list[str] = []
    region = 0
    inside = False
    for line in lines[1:-1]:
        if "lnbwd.rowwise @" in line:
            region += 1
            header = wrap_header(line)
            if region == 1:
                header[-1] += " ... }"
            result += header
            inside = region == 1
        elif inside:
            inside = line != "  }"
        elif line.strip() != "return":
            result += wrap(line)
    return fence(dedent(result), "mlir")


def shorten_spaces(text: str) -> str:
    """The text with one word for each memory space."""
    for name in ("global", "workgroup"):
        text = text.replace(f"#gpu.address_space<{name}>", f"#{name}")
    return text


def lane_level(tools: Tools) -> str:
    """The first kernel at the lane level, without its parameters."""
    stage = tools.stage("lnbwd-distribute-rows.mlir")
    place = re.search(r"^!layout = .*$", stage, re.MULTILINE)
    if not place:
        raise Stop("the first place of lnbwd-distribute-rows has no name")
    lines = dedent(cut(shorten_spaces(stage), r"= lane\.layout : !layout$", r"gpu\.return"))
    return fence([place.group(), "", *(piece for line in lines[:-1] for piece in wrap(line))],
                 "mlir")


def whole_plan(tools: Tools) -> str:
    """The launch plan in the example's code object, list entries on lines of their own."""
    code = tools.kernel_file.read_bytes()
    begin = code.index(b'{"format":"lnbwd-plan"')
    plan = json.loads(code[begin:code.index(b"\0", begin)])

    def entry(values: dict) -> str:
        return json.dumps({key: values[key] for key in ("name", *values) if key in values})

    texts = [f'"{key}": ' + ("[\n    " + ",\n    ".join(map(entry, value)) + "\n  ]"
                            if isinstance(value, list) else json.dumps(value))
             for key, value in plan.items()]
    lines = ("{\n  " + ",\n  ".join(texts) + "\n}").split("\n")
    return fence([piece for line in lines for piece in wrap(line)], "json")


def assembly(tools: Tools) -> str:
    """The row loop of the machine code, the first lines of each kind."""
    lines = [line.split(";")[0].rstrip().expandtabs(8)
             for line in tools.stage("kernel.s").split("\n")]
    begin = lines.index(f"{LAYER_NORM_BWD}:")
    end = next(i for i in range(begin, len(lines)) if "s_endpgm" in lines[i])
    body = [line for line in lines[begin:end] if line and not re.match(r"\s+\.", line)]
    for start, line in enumerate(body):
        label = re.match(r"(\.\w+):", line)
        if not label:
            continue
        branches = [i for i in range(start, len(body))
                    if re.search(rf"s_c?branch\w*\s+{re.escape(label.group(1))}$", body[i])]
        if branches:
            break
    else:
        raise Stop("the machine code has no loop")
    loop = body[start:branches[-1] + 1]
    shown = pick(loop, {
        r"^\.": 1, r"v_and_b32|v_lshlrev_b32": 2, r"v_sub_f32": 1, r"v_pk_mul_f32": 1,
        r"v_pk_fma_f32": 1, r"global_load_dwordx4": 4, r"v_add_f32_dpp": 4,
        r"v_readlane_b32": 1, r"global_store_dwordx4": 2, r"s_cbranch": 1,
    }, ";")
    return fence([re.sub(r"\s+;", "        ;", line) for line in shown], "asm")
