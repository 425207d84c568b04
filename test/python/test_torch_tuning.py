# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lnbwd.autotune(): a search when a kernel is first used, with fake times and with the simulator's
counts."""

import dataclasses
import functools
import json
import threading
import types

import pytest
import torch

import lnbwd
from lnbwd import errors, schedule
from lnbwd.core.compile import store, tuning
from lnbwd.core.compile.kernels import make_spec
from lnbwd.ops import launching, native, norms, regions
from lnbwd.program.operands import Input, Output
from lnbwd.program.row_program import Builder

pytestmark = [pytest.mark.compiler, pytest.mark.simulator]

CHIP, ROWS, N = "gfx942", 3, 64


def load_kernel(n, rows):
    types = (torch.float32, torch.float32)
    name = norms.name_of("rms_norm_bwd", n, types, (True, True), rows)
    return regions.load_kernel(regions.find_program(name), torch.device("cpu"))


def load(rows=ROWS):
    """What the first call of a backward pass with M = ``rows`` does."""
    return load_kernel(N, rows)


# What there is to choose from is the same whatever the times are: it is compiled once.
candidates = functools.cache(tuning._candidates)
MEASURE = tuning.measure
SHORT = tuning.Effort(rotated_bytes=1, filler_bytes=64, launches=2, rounds=(1, 2))


@pytest.fixture
def tune(monkeypatch, tmp_path, new_process):
    """Searches are on, the cache is empty, and a dictionary of times by schedule ("": the
    compiler's own; others: 100) stands for the device. Gives a process that has just begun."""
    monkeypatch.setenv("LNBWD_AUTOTUNE", "1")
    new_process(tmp_path / "cache")

    class Process:
        def __init__(self):
            self.times = {}
            self.searches = []
            self.begin()

        def begin(self):
            """Forgets what a process has in memory."""
            new_process()
            self.schedules = []

        def measure(self, device, codes, rows, groups):
            texts = [candidate.text for candidate in self.found]
            assert len(texts) == len(codes) and texts[0] == ""
            self.searches.append((texts, rows))
            return [self.times.get(text, 100.0) for text in texts]

    process = Process()
    code_for = store.KernelStore.code_for

    def record(self, make, chip):
        process.schedules.append(make(chip, "hsaco").schedule)
        return code_for(self, make, chip)

    monkeypatch.setattr(store.KernelStore, "code_for", record)

    def find(spec, count):
        process.found = candidates(spec, count)
        return process.found

    monkeypatch.setattr(tuning, "_candidates", find)
    monkeypatch.setattr(tuning, "measure", process.measure)
    with lnbwd.simulate(CHIP):
        yield process
    lnbwd.autotune(None)


def spec_of(text=""):
    return make_spec("rms_norm_bwd", n=N, chip=CHIP, schedule=text)


def test_the_fastest_is_taken_and_kept_for_the_next_process(tune):
    load()
    (texts, rows), = tune.searches
    assert rows == 64  # The number of the range, not of the call.
    assert 2 < len(texts) <= 1 + tuning.CANDIDATES and len(set(texts)) == len(texts)
    # Each names all fields, so that nothing follows what the compiler would choose.
    assert all(list(schedule.parse_printed(text)) == list(schedule.FIELDS) for text in texts[1:])

    tune.begin()
    store.set_cache_folder(store.kernel_cache().folder.with_name("another"))
    tune.times = {texts[2]: 50.0}
    load()
    assert store.kernel_store().find(spec_of(texts[2])) is not None
    assert len(tune.searches) == 2

    tune.begin()
    tune.times = {}
    load()
    assert len(tune.searches) == 2 and tune.schedules == [texts[2]]


def test_a_result_says_what_was_measured(tune):
    load()
    path, = [path for path in store.kernel_cache().folder.rglob("*.kernel")
             if b'"kind": "tuning"' in path.read_bytes().partition(b"\n")[0]]
    result = json.loads(path.read_bytes().partition(b"\n")[2])
    assert result["schedule"] == ""
    assert [one["schedule"] for one in result["measured"]] == tune.searches[0][0]


@pytest.mark.parametrize("others,chosen", [
    ((100.0, 100.0), 0),  # A tie is the compiler's own.
    ((99.5, 99.9), 0),  # So is what measuring cannot tell apart.
    ((90.0, 90.0), 1),  # Of two others that are as fast, the first.
    ((120.0, 80.0), 2),
])
def test_ties_have_one_outcome(tune, others, chosen):
    load()
    texts = tune.searches[0][0]
    tune.begin()
    store.set_cache_folder(None)
    tune.times = dict(zip(texts[1:3], others, strict=True))
    load()
    assert tune.schedules == [texts[chosen]]


def test_nothing_is_searched_for_unless_it_is_asked_for(tune, monkeypatch):
    lnbwd.autotune(False)
    load()
    assert not tune.searches
    lnbwd.autotune(None)
    assert tuning.is_on()
    monkeypatch.delenv("LNBWD_AUTOTUNE")
    assert not tuning.is_on()
    with pytest.raises(TypeError, match="enabled: expected True, False or None, got 1"):
        lnbwd.autotune(1)


def test_a_malformed_variable_is_an_error(monkeypatch):
    monkeypatch.setenv("LNBWD_AUTOTUNE", "yes")
    with pytest.raises(errors.LnbwdError, match="LNBWD_AUTOTUNE: expected '0' or '1', got 'yes'"):
        tuning.is_on()


def test_nothing_is_searched_for_while_a_graph_is_captured(tune, monkeypatch):
    monkeypatch.setattr(launching, "is_capturing", lambda device: True)
    with pytest.raises(native.NotNowError, match="CUDA graph is being captured"):
        load()
    assert not tune.searches


def test_a_schedule_by_hand_stays(tune):
    device = launching.open_device(torch.device("cpu"))
    assert store.kernel_store().tuned(spec_of("row_groups=2"), device, ROWS) == store.Tuned(
        "row_groups=2")
    assert not tune.searches


def test_what_cannot_be_measured_is_the_compilers(tune, monkeypatch):
    def fail(device, codes, rows, groups):
        raise errors.LnbwdError("out of memory")

    monkeypatch.setattr(tuning, "measure", fail)
    with pytest.warns(RuntimeWarning, match="no schedule was searched for.*out of memory"):
        load()
    assert tune.schedules == [""]


def test_a_result_that_is_none_is_searched_for_again(tune, monkeypatch):
    load()
    tune.begin()
    monkeypatch.setattr(store, "_read", lambda data, device: None)
    load()
    assert len(tune.searches) == 2


MEASURED = b'"measured": [{"schedule": "", "us": 3.5}, {"schedule": "stages=2", "us": 2.5}]'


@pytest.mark.parametrize("data", [
    None, b"{}", b"[]", b"\xff", b'{"schedule": "speed=9", %b}' % MEASURED,
    b'{"schedule": 3, %b}' % MEASURED, b'{"schedule": "stages=2"}'])
def test_damaged_results_are_none(data):
    card, stand_in = (types.SimpleNamespace(is_stand_in=value) for value in (False, True))
    assert store._read(data, card) is None
    whole = b'{"schedule": "stages=2", %b}' % MEASURED
    assert store._read(whole, card) == store.Tuned("stages=2", 2.5)
    assert store._read(whole, stand_in) == store.Tuned("stages=2")


def test_the_simulators_counts_choose_a_kernel_that_is_right(monkeypatch, tmp_path, new_process):
    monkeypatch.setenv("LNBWD_AUTOTUNE", "1")
    new_process(tmp_path)
    monkeypatch.setattr(tuning, "CANDIDATES", 4)
    generator = torch.Generator().manual_seed(0)
    x, weight, dy = (torch.randn(*size, generator=generator) for size in ((5, 80), (80,), (5, 80)))
    x.requires_grad_()
    weight.requires_grad_()
    with lnbwd.simulate(CHIP):
        expected = torch.autograd.grad(torch.nn.functional.rms_norm(x, (80,), weight, 1e-6),
                                       (x, weight), dy)
        # Operators of C++ may have kernels of an earlier test loaded; this has not.
        kernel = load_kernel(80, 5)
        rstd = (x.detach().square().mean(1) + 1e-6).rsqrt()
        dx, dgamma = torch.empty(5, 80), torch.empty(80)
        given = {"dy": dy, "x": x.detach(), "gamma": weight.detach(), "rstd": rstd, "dx": dx,
                 "dgamma": dgamma}
        launching.launch_kernel(kernel, 5, [given[a.name] for a in kernel.program.arguments])
    torch.testing.assert_close(dx, expected[0], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(dgamma, expected[1], rtol=1e-4, atol=1e-5)
    results = [path for path in tmp_path.rglob("*.kernel")
               if b'"kind": "tuning"' in path.read_bytes().partition(b"\n")[0]]
    counts = [one["us"] for one in
              json.loads(results[0].read_bytes().partition(b"\n")[2])["measured"]]
    assert len(results) == 1 and len(counts) > 2 and all(count > 0 for count in counts)


def test_a_device_that_is_not_simulated_is_timed(monkeypatch):
    """The simulator, said to be a card: batches between events, on buffers that rotate, and all
    memory given back."""
    device = lnbwd.runtime.Device.open(f"sim:{CHIP}")
    monkeypatch.setattr(lnbwd.runtime.Device, "is_stand_in", False)
    codes = [candidate.code for candidate in candidates(spec_of(), tuning.CANDIDATES)][:8]
    free, _ = device.memory()
    times = tuning.measure(device, codes, 64, effort=SHORT)
    assert device.memory()[0] == free
    assert len(times) == len(codes) > 5 and min(times) > 0


def test_the_model_ranks_what_is_tried_on_chips_that_it_knows():
    """Compiled alone: the schedules that the cost model names, of sm_90."""
    found = tuning._candidates(make_spec("layer_norm", n=1024, dtype="bf16", chip="sm_90",
                                         format="ptx", rows=4096), tuning.CANDIDATES)
    texts = [candidate.text for candidate in found]
    assert texts[0] == "" and 4 < len(texts) <= 1 + tuning.CANDIDATES
    assert any(schedule.parse_printed(text)["dependent_launch"] for text in texts[1:])


GROUPS = 2


@pytest.fixture
def region(tune, monkeypatch):
    """One of torch.compile, in groups of rows. What says that it is a card is the simulator."""
    monkeypatch.setattr(lnbwd.runtime.Device, "is_stand_in", False)
    monkeypatch.delenv("LNBWD_AUTOTUNE")
    builder = Builder(N)
    x = builder.add("input", 0)
    program = builder.finish(2 * ROWS, [Input("row", "f32")], [
        Output("scalar", "f32", builder.add("row_sum", x)), Output("group_sum", "f32", x)], GROUPS)
    return regions.register_row_program(program, is_tuned=True)


@pytest.fixture
def load_region(region):
    return lambda: regions.load_kernel(region, torch.device("cpu"))


def test_a_region_has_a_short_search(tune, load_region):
    load_region()
    (texts, rows), = tune.searches
    assert rows == 2 * ROWS and 1 < len(texts) <= 1 + tuning.REGION_CANDIDATES
    tune.begin()
    store.set_cache_folder(store.kernel_cache().folder.with_name("another"))
    tune.times = {texts[1]: 50.0}
    load_region()
    tune.begin()
    tune.times = {}
    load_region()
    assert len(tune.searches) == 2
    assert tune.schedules == [texts[1]]


def test_kernels_are_loaded_side_by_side(region, monkeypatch):
    """Each program once; one without a kernel has an error, and the others go on."""
    together = threading.Barrier(2, timeout=60)

    def load(program, device):
        together.wait()
        if program is not region:
            raise errors.CompileError("no")
        return program.text

    monkeypatch.setattr(regions, "load_kernel", load)
    other = dataclasses.replace(region, text="other")
    found = regions.load_all([region, other, region], torch.device("cpu"))
    assert found[region.text].result() == region.text
    assert isinstance(found["other"].exception(), errors.CompileError)


@pytest.mark.parametrize("why", ["switched off", "by the environment", "simulated", "by order"])
def test_a_region_without_a_search(tune, load_region, monkeypatch, why):
    if why == "switched off":
        lnbwd.autotune(False)
    elif why == "by the environment":
        monkeypatch.setenv("LNBWD_AUTOTUNE", "0")
    elif why == "simulated":
        monkeypatch.setattr(lnbwd.runtime.Device, "is_stand_in", True)
    with lnbwd.batch_invariant(why == "by order"):
        load_region()
    assert not tune.searches and tune.schedules == [""]


def test_a_region_without_room_is_the_compilers(tune, load_region, monkeypatch, recwarn):
    """Nobody asked for a search: there is no warning."""
    def fail(device, codes, rows, groups):
        raise errors.LnbwdError("out of memory")

    monkeypatch.setattr(tuning, "measure", fail)
    load_region()
    assert not recwarn and tune.schedules == [""]


def test_groups_of_rows_are_timed(tune, load_region):
    load_region()
    codes = [candidate.code for candidate in tune.found]
    times = MEASURE(launching.open_device(torch.device("cpu")), codes, 2 * ROWS, GROUPS, SHORT)
    assert len(times) == len(codes) and min(times) > 0
