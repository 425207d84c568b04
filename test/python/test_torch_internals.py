# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Private names of PyTorch: a failure here says which name a new version has moved, and the file of
lnbwd.program.torch_internals to change."""

import ast
import pathlib
import pkgutil
import types
import warnings

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lnbwd.core.base import errors
from lnbwd.program import torch_internals
from lnbwd.program.torch_internals import eager as internals

FILES = sorted(pathlib.Path(torch_internals.__file__).parent.glob("*.py"))
REMEDY = "find what took its place, and name that in python/lnbwd/program/torch_internals"


def names_of(file):
    """The names of PyTorch in a file, as pkgutil finds them."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module.startswith("torch"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node).startswith("torch._"):
            yield ast.unparse(node)


@pytest.mark.parametrize("file, name", sorted({(file.name, name) for file in FILES
                                               for name in names_of(file)}))
def test_this_version_has_what_a_file_names(file, name):
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError) as error:
        pytest.fail(f"PyTorch {torch.__version__} has no {name}: {REMEDY}/{file} ({error})")


@pytest.mark.parametrize("owner, name", [
    (torch._C, "_are_functorch_transforms_active"), (torch._C, "_len_torch_dispatch_stack"),
    (torch._C, "_dispatch_has_kernel_for_dispatch_key"),
    (torch._C, "_disabled_torch_function_impl"), (torch._C._functorch, "is_legacy_batchedtensor"),
    (torch.autograd.forward_ad, "_current_level"), (torch.ops.aten, "_unsafe_view"),
    (torch.ops.aten._unsafe_view.default, "_op"), (torch.ops.aten.relu.default, "_schema"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_this_version_has_the_name(owner, name):
    assert hasattr(owner, name), f"PyTorch {torch.__version__} has no {name}: {REMEDY}"


def test_a_missing_name_has_a_substitute_and_one_warning(monkeypatch):
    monkeypatch.setattr(errors, "_warned", set())
    owner = types.SimpleNamespace(__name__="torch._C", _there=1)
    with pytest.warns(RuntimeWarning, match=r"has no torch\._C\._gone: calls are slow") as caught:
        for _ in range(2):
            assert internals._find(owner, "_gone", 2, "calls are slow") == 2
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert internals._find(owner, "_there", 2, "calls are slow") == 1
        assert internals._find(owner, "_gone", 2) == 2


def test_transforms_are_seen():
    seen = []
    torch.func.vmap(lambda x: seen.append(internals.transforms_are_active()) or x)(torch.ones(2))
    assert seen == [True] and not internals.transforms_are_active()


def test_dispatch_modes_are_counted():
    before = internals.count_dispatch_modes()
    with TorchDispatchMode():
        assert internals.count_dispatch_modes() == before + 1


def test_forward_mode_is_seen():
    assert not internals.is_forward_mode()
    with torch.autograd.forward_ad.dual_level():
        assert internals.is_forward_mode()


def test_a_tensor_in_another_shape_is_no_view():
    x = torch.ones(6, requires_grad=True)
    y = internals.reshaped(x.detach(), (2, 3))
    assert y.shape == (2, 3) and not y._is_view()


def test_what_autocast_widens():
    assert internals.has_autocast_kernel("layer_norm")
    assert not internals.has_autocast_kernel("relu")


def test_pytorchs_own_kernel_is_called():
    x = torch.tensor([-1.0, 2.0])
    kernel = torch.library.get_kernel("aten::relu", "CPU")
    assert torch.equal(internals.call_kernel(kernel, "CPU", [x]), x.relu())
    formula = internals.formula_of(torch.ops.aten.hardtanh.default)
    assert torch.equal(formula(x), torch.nn.functional.hardtanh(x))
    assert internals.call_without_warnings(lambda: 3) == 3
    assert internals.schema_of(torch.ops.aten.relu.default) == "aten::relu(Tensor self) -> Tensor"


def test_a_function_is_traced():
    tracer = internals.Tracer()
    x = tracer.stand_in(torch.empty(2, 5))
    found = []

    def function(x):
        result = torch.nn.functional.glu(x[..., :4])
        found.append(next(node.op for node in internals.graph_in_progress().nodes))
        return result

    table = internals.decompositions(torch.ops.aten.glu)
    targets = {node.target for node in tracer.trace(function, [x], table).graph.nodes}
    assert found == ["placeholder"]
    assert torch.ops.aten.sigmoid.default in targets and not tracer.conditions
    assert all(map(internals.is_operator, targets - {"x_1", "output"}))
