# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an instruction is, its record says: nobody else goes by names."""

import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
READERS = [ROOT / "simulator/lib", ROOT / "lib/Report"]

# A text that is the name of an instruction, or the beginning of one.
NAME = re.compile(r"(?:v|s|ds|global|flat|scratch|buffer|tbuffer|image)_\w*")

# The table that gives names their types. Those of lib/ISA give them all else.
TABLES = {"simulator/lib/Decode/ConversionDecoder.cpp"}

# Texts that look like names: keys, and messages of one word; and the move that goes between the
# halves of a pair.
OTHERS = {
    "lib/Report/ReportPrinter.cpp": {"scratch_bytes"},
    "simulator/lib/Check/Resources.cpp": {
        "global_load", "global_store", "global_atomic", "scratch_load", "scratch_store"},
    "simulator/lib/Check/RaceChecker.cpp": {
        "buffer_gl0_inv", "buffer_gl1_inv", "buffer_wbinvl1_vol", "s_dcache_inv"},
    "simulator/lib/Decode/InstDecoder.cpp": {"v_mov_b32"},
    "simulator/lib/Hip/HipModule.cpp": {"global_buffer"},
}

# Who may look at a record's name, and what for.
READ_NAMES = {
    "simulator/lib/Check/HazardRules.cpp": 2,          # whether two instructions are the same one
    "simulator/lib/Decode/ConversionDecoder.cpp": 1,   # to look it up in a table
    "simulator/lib/Decode/InstDecoder.cpp": 1,
    "simulator/lib/Decode/MatrixDecoder.cpp": 1,
}


@functools.cache
def sources() -> dict[str, str]:
    """The sources that read machine code, without their comments; the records are made in ISA."""
    return {str(file.relative_to(ROOT)): re.sub(r"//[^\n]*", "", file.read_text())
            for folder in READERS for file in sorted(folder.rglob("*.*"))
            if file.suffix in (".h", ".cpp") and "ISA" not in file.parts}


def names_in(text: str) -> set[str]:
    """The texts of a source that are names of instructions, or look like it."""
    literals = re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)
    return {literal for literal in literals if NAME.fullmatch(literal)}


def test_names_are_found():
    code = 'Name.starts_with("v_mul_hi_") || Name == "s_nop"; say("s_nop is missing");'
    assert names_in(code) == {"v_mul_hi_", "s_nop"}


def test_instructions_are_named_in_their_tables_only():
    found = {file: names_in(text) for file, text in sources().items() if file not in TABLES}
    assert {file: names for file, names in found.items() if names} == OTHERS


def test_tables_have_names():
    """What is no table any more is not to be left out."""
    for table in TABLES:
        assert names_in(sources()[table]), table


def test_nobody_goes_by_parts_of_a_name():
    """A part of a name ("_f64") is no name: who takes one apart has to read the name first."""
    found = {file: len(re.findall(r"\b[Rr]ecord(?:->|\.)Name\b", text))
             for file, text in sources().items()}
    assert {file: count for file, count in found.items() if count} == READ_NAMES
    # Under another name a record is no way around it.
    for file, text in sources().items():
        assert not re.search(r"InstructionRecord [&*](?![Rr]ecord\b)", text), file
