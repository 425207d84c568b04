# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python package: its folders are layers, which import downwards only. Imports within functions
and for type checkers count as well."""

import ast
import functools
import pathlib

import pytest
from pages import ROOT

PACKAGE = ROOT / "python" / "lnbwd"

# Lowest first; what lies beside the folders stands on all of them.
LAYERS = ("core.base", "core.runtime", "core.compile", "program", "ops", "functional", "nn",
          "inductor")
DOORS = {"lnbwd", "lnbwd.check", "lnbwd.distributed", "lnbwd.regions_op", "lnbwd.sharding"}

# Modules that stand on one another, of which this many are too many for a head.
MOST_OF_A_CHAIN = 10
MOST_LINES, MOST_OF_A_FUNCTION = 450, 60

# What takes long to import, or need not be installed, is imported where it is used.
WITHIN_FUNCTIONS = {
    ("functional.linear_losses", "lnbwd.functional.sharded_losses"),
    ("ops.norms", "lnbwd.ops.sharding"), ("ops.row_functions", "lnbwd.ops.row_gradients"),
    ("ops.row_functions", "lnbwd.program.tracing"),
    ("ops.row_functions", "lnbwd.program.watching")}


def name_of(file: pathlib.Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(file): file for file in sorted(PACKAGE.rglob("*.py"))}


def folder_of(name: str) -> str:
    """The package that relative imports of a module start from."""
    return name if FILES[name].name == "__init__.py" else name.rpartition(".")[0]


def targets(name: str, node: ast.AST) -> list[str]:
    """What an import statement of a module names, whoever has it."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    source = node.module or ""
    if node.level:
        base = folder_of(name).split(".")
        base = base[:len(base) - node.level + 1]
        source = ".".join([*base, *[source] * bool(source)])
    return [f"{source}.{alias.name}" if f"{source}.{alias.name}" in FILES else source
            for alias in node.names]


@functools.cache
def imports(name: str) -> frozenset[str]:
    """The modules of the package that a module imports, wherever it does."""
    found = {target for node in ast.walk(ast.parse(FILES[name].read_text()))
             for target in targets(name, node)}
    return frozenset(found & FILES.keys() - {name})


def layer_of(name: str) -> int:
    """The number of a module's layer; that of the doors is the highest."""
    inner = name.removeprefix("lnbwd.")
    return next((number for number, layer in enumerate(LAYERS)
                 if inner == layer or inner.startswith(f"{layer}.")), len(LAYERS))


def test_each_module_is_in_a_layer():
    others = {name for name in FILES if layer_of(name) == len(LAYERS)}
    assert others == DOORS | {"lnbwd.core"}
    assert {layer_of(name) for name in FILES} == set(range(len(LAYERS) + 1))


@pytest.mark.parametrize("name", FILES)
def test_imports_run_downwards(name):
    for other in imports(name):
        assert layer_of(other) <= layer_of(name), f"{name} imports {other}"
        assert other not in DOORS or name == "lnbwd", f"{name} imports {other}, which is for users"


def test_imports_are_seen():
    assert "lnbwd.ops.sharding" in imports("lnbwd.ops.norms")  # In a function.
    assert "lnbwd.nn.patching" in imports("lnbwd")  # For a type checker.
    assert layer_of("lnbwd.inductor") > layer_of("lnbwd.ops.regions") > layer_of(
        "lnbwd.core.base.errors") == 0


def chain(name: str, behind: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The longest chain of imports from a module on."""
    assert name not in behind, f"a circle of imports: {' > '.join((*behind, name))}"
    if name not in CHAINS:
        CHAINS[name] = (name, *max((chain(other, (*behind, name)) for other in imports(name)),
                                   key=len, default=()))
    return CHAINS[name]


CHAINS: dict[str, tuple[str, ...]] = {}


def test_no_circle_and_no_long_chain_of_imports():
    longest = max(map(chain, FILES), key=len)
    assert len(longest) <= MOST_OF_A_CHAIN, " > ".join(longest)


def test_imports_within_functions_are_for_time_alone():
    found = set()
    for name, file in FILES.items():
        for function in ast.walk(ast.parse(file.read_text())):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found |= {(name.removeprefix("lnbwd."), target) for node in ast.walk(function)
                          for target in targets(name, node) if target in FILES}
    assert found == WITHIN_FUNCTIONS


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("lnbwd.core")])
def test_the_core_needs_no_torch(name):
    for node in ast.walk(ast.parse(FILES[name].read_text())):
        for target in targets(name, node):
            assert target.partition(".")[0] != "torch", name


def private_names(node: ast.AST) -> list[str]:
    """The private names of torch in an expression or an import."""
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    elif isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.Attribute):
        names = [ast.unparse(node)]
    else:
        return []
    return [name for name in names if name.split(".")[0] in ("torch", "forward_ad")
            and any(part.startswith("_") and not part.startswith("__") for part in name.split("."))]


INTERNALS = "lnbwd.program.torch_internals"


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith(INTERNALS)])
def test_private_names_of_torch_are_in_torch_internals(name):
    """Those of Inductor are for the backend alone."""
    assert "inductor" in name or {f"{INTERNALS}.eager"} >= {
        other for other in imports(name) if other.startswith(INTERNALS)}
    found = {private for node in ast.walk(ast.parse(FILES[name].read_text()))
             for private in private_names(node)}
    assert not found, f"{name}: move {sorted(found)} to {INTERNALS}"


def test_the_root_is_short():
    entries = [entry.name for entry in PACKAGE.iterdir() if entry.name != "__pycache__"]
    assert len(entries) <= 12 and "py.typed" in entries, sorted(entries)


@pytest.mark.parametrize("name", sorted({folder_of(name) for name in FILES} - {"lnbwd"}))
def test_a_folder_says_what_it_may_import(name):
    assert "import" in (ast.get_docstring(ast.parse(FILES[name].read_text())) or ""), name


def test_modules_are_short():
    assert not {name for name, file in FILES.items()
                if len(file.read_text().splitlines()) > MOST_LINES}


def test_functions_are_short():
    assert not {(name, node.name) for name, file in FILES.items()
                for node in ast.walk(ast.parse(file.read_text()))
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                and node.end_lineno - node.lineno >= MOST_OF_A_FUNCTION}
