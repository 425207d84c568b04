# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every operation of the family with every option, compiled, executed on the
simulator and compared with the reference in float64."""

import os
import random
import subprocess

import numpy as np
import pytest

import device as devices
import family
import samples


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("family")


@pytest.fixture(scope="session")
def runtime(build):
    return devices.Runtime(build)


def pytest_generate_tests(metafunc):
    if "case" not in metafunc.fixturenames:
        return
    full = metafunc.config.getoption("--full")
    cases = list(dict.fromkeys(
        (*(family.cases() if full else family.sampled_cases()), *family.few_cases())))
    if metafunc.function is test_the_runner_agrees and not full:
        cases = samples.cover(cases, lambda case: {case.op, case.statistics, family.others(case)},
                              family.cost)
    metafunc.parametrize("case", cases, ids=[case.name for case in cases])


def test_valid_on_simulator(build, runtime, folder, case):
    file = family.compile_case(build, case, folder)
    for rows in family.row_counts(case):
        family.run_case(runtime, "sim", case, file, rows)


def test_the_runner_agrees(build, folder, case):
    """lnbwd-run finds the same kernels right: it reads from the plan what they compute. The
    simulator's checks have seen them with as many rows in the test above."""
    file = family.compile_case(build, case, folder)
    rows = family.row_counts(case)[-1]
    command = [build / "bin" / "lnbwd-run", file, "--verify", "--m", str(rows)]
    if case.init == "large-mean":
        command += ["--init", "large-mean"]
    if case.in_place:
        command.append("--in-place")
    result = subprocess.run(command, env={**os.environ, "LNBWD_SIM_CHECK": "0"},
                            capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def draw_schedule(seed):
    """An operation over short rows with a schedule that is legal, but that no model need pick."""
    draw = random.Random(seed)
    chip = draw.choice(("gfx942", "gfx1100", "gfx1201"))
    op = draw.choice(("layer_norm", "rms_norm", "layer_norm_bwd", "rms_norm_bwd"))
    dtype, n = draw.choice(family.DTYPES), draw.choice((8, 24, 32, 40, 64, 96, 100, 128, 37, 113))
    width = draw.choice([w for w in (1, 2, 4, 8) if n % w == 0 and (w < 8 or dtype != "f32")])
    threads = draw.choice([t for t in (1, 2, 4, 8, 16, 32, 64, 128)
                           if n / 32 <= t * width < 2 * n])
    groups = draw.choice([g for g in (1, 2, 3, 4, 8, 16, 32, 64) if threads * g <= 1024])
    rows, workgroups = draw.choice((0, groups, groups + 1, 3 * groups)), draw.choice((0, 1, 2, 8))
    prefetch, unroll = draw.choice(((0, 1), (1, 1), (1, 2)))
    outputs = draw.choice(((), ("dx",))) if op.endswith("bwd") else ()
    return family.Case(op, chip, dtype, n, outputs=outputs, pipeline=(
        f"schedule=threads_per_row={threads},row_groups={groups},vector_width={width},"
        f"rows_per_workgroup={rows},workgroups_per_compute_unit={workgroups},"
        f"prefetch={prefetch},unroll={unroll}"))


@pytest.mark.parametrize("seed", [
    pytest.param(seed, marks=[] if seed < 6 else [pytest.mark.full]) for seed in range(12)])
def test_drawn_schedules(build, runtime, folder, seed):
    case = draw_schedule(seed)
    file = family.compile_case(build, case, folder)
    for rows in (1, 6, 12, 33, 70):
        family.run_case(runtime, "sim", case, file, rows)


@pytest.mark.parametrize("large", list(family.large_cases("gfx942")), ids=lambda case: case.op)
def test_large_run_with_few_rows(build, runtime, folder, large):
    """What a GPU does with 2^31 elements, with fewer."""
    family.run_large(runtime, "sim", large, family.compile_case(build, large, folder), 6, 3)


def test_every_option_is_sampled():
    """Each case but for the chip, the type and the length is met on some chip."""
    def kind(case):
        return (case.op, case.statistics, *(getattr(case, name) for name in (
            "column", "gamma", "zero_centred", "accumulate", "in_place", "row_shape", "leading",
            "stride", "outputs", "init", "pipeline", "derived")), bool(case.residual))
    assert {kind(c) for c in family.cases()} == {kind(c) for c in family.sampled_cases()}


def test_every_length_type_and_chip_is_sampled():
    def met(cases):
        return {part for case in cases for part in (
            case.n, (case.op, case.dtype), (case.chip, case.dtype))}
    every, sampled = list(dict.fromkeys(family.cases())), family.sampled_cases()
    assert met(sampled) == met(every)
    assert len(sampled) < len(every) / 6


def test_a_wrong_result_is_noticed(build, runtime, folder, monkeypatch):
    """With another epsilon in the reference than in the kernel."""
    case = family.Case("rms_norm", "gfx942", "f32", 64)
    file = family.compile_case(build, case, folder)
    reference = family.reference

    def wrong(case, inputs):
        return {name: (values * (1 + 1e-5), terms)
                for name, (values, terms) in reference(case, inputs).items()}
    monkeypatch.setattr(family, "reference", wrong)
    with pytest.raises(devices.LaunchError, match="largest error"):
        family.run_case(runtime, "sim", case, file, 5)


@pytest.mark.parametrize("element", ["f16", "bf16", "f32"])
def test_elements_round_trip(element):
    bits = np.arange(1 << 16, dtype=np.uint32)
    bits = bits << 16 if element == "f32" else bits.astype(np.uint16)
    values = devices.decode(bits, element)
    again = devices.encode(values, element)
    same = (again == bits) | np.isnan(values)
    assert same.all()


def test_bf16_rounds_to_nearest_even():
    # A tie below, a tie above an odd number, and just beyond a tie.
    values = np.array([1 + 2.0 ** -8, 1 + 3 * 2.0 ** -8, 1 + 2.0 ** -8 + 2.0 ** -20])
    rounded = devices.decode(devices.encode(values, "bf16"), "bf16")
    assert rounded.tolist() == [1.0, 1 + 2.0 ** -6, 1 + 2.0 ** -7]
