# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The streams: what their kernels do. NVIDIA's are executed by a few lines of Python that know the
instructions of these kernels alone, AMD's by the simulator."""

import json
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest

from lnbwd_bench import our_kernels, stream
from lnbwd_bench.stream import Traffic

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAFFICS = [Traffic(1, 1), Traffic(2, 1), Traffic(2, 2), Traffic(3, 2)]
UNITS = 3
# Where an array begins, by its number.
PLACE = 1 << 40
ELEMENTS = stream.VECTOR_BYTES // 4


class Memory:
    """The arrays of a launch, the ones that are read first, and how often each number was read or
    written."""

    def __init__(self, traffic, vectors):
        random = np.random.default_rng(3)
        self.traffic = traffic
        self.arrays = [random.integers(0, 1 << 32, vectors * ELEMENTS, dtype=np.uint32)
                       for _ in traffic.arrays]
        self.uses = [np.zeros(vectors * ELEMENTS, int) for _ in traffic.arrays]

    def place(self, address, is_write):
        """The array and the elements of 16-byte accesses."""
        number, = set((address // PLACE).tolist())
        offset = address % PLACE
        assert not (offset % stream.VECTOR_BYTES).any(), "an access is not aligned"
        first = offset // 4
        assert (first + ELEMENTS <= len(self.arrays[number - 1])).all(), "outside of the array"
        assert (number > self.traffic.reads) == is_write, "a read array is written, or vice versa"
        np.add.at(self.uses[number - 1], first[:, None] + np.arange(ELEMENTS), 1)
        return self.arrays[number - 1], first


def execute_workgroup(body, memory, threads, index, parameters):
    """One workgroup, all work-items at once."""
    labels = {line[:-1]: place for place, line in enumerate(body) if line.endswith(":")}
    values = {"%tid.x": np.arange(threads), "%ctaid.x": np.full(threads, index)}

    def value(name):
        return values[name] if name.startswith("%") else np.full(threads, int(name))

    place = 0
    while body[place] != "ret":
        line = body[place]
        place += 1
        if line.endswith(":"):
            continue
        active = np.ones(threads, bool)
        if line.startswith("@"):
            predicate, line = line[1:].split(" ", 1)
            active = values[predicate]
        operation, rest = line.split(" ", 1)
        operands = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^, ]+", rest)
        if operation == "bra":
            assert active.all() or not active.any(), "work-items part"
            place = labels[operands[0]] if active.all() else place
        elif operation.startswith("ld.param"):
            values[operands[0]] = np.full(threads, parameters[operands[1].strip("[]")])
        elif operation.startswith(("ld.global", "st.global")):
            is_write = operation.startswith("st")
            names, address = operands[::-1] if is_write else operands
            base, _, offset = address.strip("[]").partition("+")
            names = names.strip("{}").split(", ")
            if not is_write:
                values.update({name: np.zeros(threads, np.uint32) for name in names})
            if not active.any():
                continue
            array, first = memory.place((values[base] + int(offset or 0))[active], is_write)
            for element, name in enumerate(names):
                if is_write:
                    array[first + element] = values[name][active]
                else:
                    values[name][active] = array[first + element]
        else:
            sources = [value(name) for name in operands[1:]]
            values[operands[0]] = {
                "mov.u32": lambda a: a, "cvt.u64.u32": lambda a: a,
                "cvta.to.global.u64": lambda a: a, "add.u64": lambda a, b: a + b,
                "mul.wide.u32": lambda a, b: a * b, "mul.lo.u64": lambda a, b: a * b,
                "shl.b64": lambda a, b: a << b, "xor.b32": lambda a, b: a ^ b,
                "setp.lt.s64": lambda a, b: a < b}[operation](*sources)


def execute(ptx, memory, variant, vectors):
    """The whole grid, as the plan in the text says that it is launched."""
    plan = json.loads(ptx.splitlines()[0].partition("lnbwd-plan: ")[2])
    count, = plan["workgroup_counts"]
    workgroups = -(-vectors // count["rows_per_workgroup"])
    if count["workgroups_per_compute_unit"]:
        workgroups = min(workgroups, UNITS * count["workgroups_per_compute_unit"])
    names = re.findall(r"\.param \.u64 (\w+)", ptx)
    parameters = dict(zip(names, [
        {"argument": lambda number: PLACE * (number + 1), "rows": lambda _: vectors,
         "workgroup_count": lambda _: workgroups}[kind](number)
        for parameter in plan["kernels"][0]["parameters"]
        for kind, number in parameter.items()], strict=True))
    text = ptx[ptx.index("{", ptx.index(".maxntid")) + 1:ptx.rindex("}")]
    body = [line.strip().rstrip(";") for line in text.splitlines()
            if line.strip() and not line.strip().startswith(".reg")]
    assert plan["kernels"][0]["block"][0] == variant.threads
    for index in range(workgroups):
        execute_workgroup(body, memory, variant.threads, index, parameters)


def combined(memory):
    """What the stream has to write."""
    return np.bitwise_xor.reduce(memory.arrays[:memory.traffic.reads])


@pytest.mark.parametrize("traffic", TRAFFICS, ids=str)
@pytest.mark.parametrize("variant", stream.variants()[::5] + stream.variants()[-2:], ids=str)
def test_each_number_is_moved_once(variant, traffic):
    # Several pieces for each workgroup of a bounded grid, and a last one that is not full.
    pieces = 2 * UNITS * max(1, variant.workgroups) + 1 if variant.workgroups else 3
    vectors = pieces * variant.threads * variant.vectors + 5
    memory = Memory(traffic, vectors)
    expected = combined(memory)
    execute(stream.stream_ptx(variant, traffic), memory, variant, vectors)
    assert all((uses == 1).all() for uses in memory.uses)
    for written in memory.arrays[traffic.reads:]:
        assert np.array_equal(written, expected)


def test_what_executes_the_kernels_notices_a_fault():
    variant = stream.variants()[0]
    text = stream.stream_ptx(variant, Traffic(1, 1))
    for good, bad, problem in (("setp.lt.s64 %p0, %offset, %count", "setp.lt.s64 %p0, %a, %a", ""),
                               ("[%pb+0]", "[%pa+0]", "a read array is written")):
        assert good in text
        memory = Memory(Traffic(1, 1), 300)
        try:
            execute(text.replace(good, bad), memory, variant, 300)
        except AssertionError as error:
            assert problem and problem in str(error)
        else:
            assert not problem and not any(uses.any() for uses in memory.uses)


@pytest.mark.parametrize("traffic", TRAFFICS, ids=str)
def test_all_streams_assemble_without_spills(traffic, tmp_path):
    ptxas = shutil.which("ptxas")
    if not ptxas:
        pytest.skip("no ptxas")
    # The most registers of each number of work-items.
    for variant in [each for each in stream.variants() if each.threads * each.vectors >= 2048][::3]:
        source = tmp_path / "stream.ptx"
        source.write_text(stream.stream_ptx(variant, traffic))
        result = subprocess.run([ptxas, "-arch=sm_90", "-v", source, "-o", tmp_path / "cubin"],
                                capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        assert "0 bytes spill stores, 0 bytes spill loads" in result.stderr


@pytest.mark.parametrize("reads,writes", [(0, 1), (1, 0), (7, 1), (6, 3)])
def test_traffic_that_is_none_is_refused(reads, writes):
    with pytest.raises(ValueError, match=f"got {reads} and {writes}"):
        Traffic(reads, writes)


@pytest.mark.parametrize("traffic", TRAFFICS[:3], ids=str)
def test_streams_of_amd_move_what_they_say(traffic, tmp_path, monkeypatch, build):
    torch = pytest.importorskip("torch")
    if not (build / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")
    from lnbwd_bench.machine import DryMachine, streams

    monkeypatch.setenv("LNBWD_BUILD_DIR", str(build))
    monkeypatch.setattr(stream, "schedules", lambda: ["", "row_groups=2"])
    our_kernels.compile_streams("gfx942", tmp_path, traffic)
    rows, row = 7, 1024
    # As much again as a half row, which is left out.
    tensors = [[torch.randn(rows * row + row // 2) for _ in traffic.arrays] for _ in range(2)]
    machine = DryMachine("gfx942")
    candidates = streams(machine, traffic, tensors, tmp_path)
    assert len(candidates) == 2
    for candidate in candidates:
        for slot, arrays in enumerate(tensors):
            for tensor in arrays[traffic.reads:]:
                tensor.fill_(float("nan"))
            candidate.call(slot)
            expected = sum(arrays[1:traffic.reads], arrays[0])[:rows * row]
            for tensor in arrays[traffic.reads:]:
                assert torch.equal(tensor[:rows * row], expected)
                assert tensor[rows * row:].isnan().all()
    assert streams(machine, traffic, [[tensors[0][0][:row - 1]]], tmp_path) == []


def test_a_folder_without_the_stream_is_named(tmp_path):
    with pytest.raises(our_kernels.KernelError,
                       match="no stream of 1 read, 1 write for gfx942: compile the folder again"):
        our_kernels.stream_programs("gfx942", tmp_path, False, Traffic(1, 1))
