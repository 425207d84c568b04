# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documentation: generated parts are fresh, links lead somewhere, examples compile; and the
source tree is layered."""

import ast
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterable

import pytest
from pages import BUILD, PAGES, ROOT, each_page

# Where the sources of programs and libraries are.
PROGRAMS = ("include", "lib", "tools")
SIMULATOR = tuple(f"simulator/{top}" for top in PROGRAMS)


def without_code(text: str) -> str:
    """Markdown without its code, whose brackets are no links."""
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(text: str) -> set[str]:
    """What a link to a heading of the page may name, by GitHub's rule."""
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
            for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def test_generated_parts_are_fresh():
    result = subprocess.run([ROOT / "scripts" / "update-docs.sh", "--check"],
                            env={**os.environ, "LNBWD_BUILD_DIR": str(BUILD)},
                            capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_published_faults_are_tested():
    folder = ROOT / "simulator" / "unittests"
    sources = "".join(file.read_text() for file in (folder / "CheckerEscapeTest.cpp",
                                                    folder / "Inputs" / "escapes.c"))
    for fault in json.loads((folder / "Inputs" / "published-faults.json").read_text()):
        number = fault["fault"].split()[-1]
        assert bool(re.search(rf"{number}\b", sources)) == fault.get("tested", True), fault


def test_check_names_a_stale_page(tmp_path):
    """On a copy of the sources, in which one generated line is changed."""
    copy, page = tmp_path / "copy", "docs/reference/passes.md"
    for folder in ("docs/reference", "scripts", "examples", "include", "lib/Chips",
                   "python/lnbwd", "simulator/scripts", "simulator/lib/Timing"):
        shutil.copytree(ROOT / folder, copy / folder)
    (copy / "test" / "EndToEnd").mkdir(parents=True)
    for name in ("chips.py", "product_programs.py"):
        shutil.copy(ROOT / "test" / "EndToEnd" / name, copy / "test" / "EndToEnd")
    text = (ROOT / page).read_text()
    stale = text.replace("lnbwd-select-schedule", "lnbwd-select-plan")
    assert stale != text
    (copy / page).write_text(stale)

    def update(*arguments):
        return subprocess.run([copy / "scripts" / "update-docs.sh", *arguments],
                              env={**os.environ, "LNBWD_BUILD_DIR": str(BUILD)},
                              capture_output=True, text=True, check=False)

    check = update("--check", page)
    assert check.returncode == 1
    assert f"stale: {page};" in check.stderr
    assert update(page).stdout == f"{page} was rewritten\n"
    assert (copy / page).read_text() == text
    assert "got " in (wrong := update("docs/none.md")).stderr and wrong.returncode == 2


@each_page
def test_links_resolve(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name} links to {target}, which is not there"
        assert ROOT in file.parents, f"{page.name} links to {target}, outside the project"
        if anchor:
            assert anchor in anchors(file.read_text()), f"{target} names no heading"


@each_page
def test_no_machine_specific_paths(page):
    found = re.findall(r"(?<![\w.<>-])/(?:root|home|work|tmp|Users|mnt)/\S*", page.read_text())
    assert not found


@each_page
def test_markers_are_paired(page):
    markers = re.findall(r"<!-- ((?:generated|measured): [\w-]+|end) -->", page.read_text())
    assert all((text == "end") == (i % 2 == 1) for i, text in enumerate(markers))
    assert len(markers) % 2 == 0


@each_page
def test_files_that_are_named_exist(page):
    """A page that names a source file in backquotes names one that is there."""
    names = re.findall(r"`((?:include|lib|tools|test|unittests|scripts|examples|docs|"
                       r"python/lnbwd|bench|simulator)/[\w./-]+)`", page.read_text())
    missing = [name for name in names if not (ROOT / name).exists()]
    assert not missing


def test_functions_that_are_named_exist():
    """Where architecture.md names a function of a file, the file has it."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = re.findall(r"`([\w/-]+\.\w+)`: `([\w:.]+)`", text)
    assert len(named) > 25
    missing = [(file, name) for file, name in named if not re.search(
        rf"\b{re.split('::|[.]', name)[-1]}\b", (ROOT / file).read_text())]
    assert not missing


def mlir_functions():
    """Complete functions that pages quote, and the examples."""
    for file in PAGES:
        for code in re.findall(r"^```mlir\n(.*?)^```", file.read_text(),
                               flags=re.DOTALL | re.MULTILINE):
            if re.match(r"(//.*\n)*func\.func @", code) and "..." not in code:
                yield pytest.param(code, id=str(file.relative_to(ROOT)))
    for file in sorted((ROOT / "examples").glob("*.mlir")):
        yield pytest.param(file.read_text(), id=str(file.relative_to(ROOT)))


@pytest.mark.parametrize("chip,format", [("gfx942", "hsaco"), ("sm_90", "ptx")])
@pytest.mark.parametrize("code", list(mlir_functions()))
def test_functions_compile(code, chip, format, tmp_path):
    output = tmp_path / "kernel"
    subprocess.run([BUILD / "bin" / "lnbwd-opt", "-", f"--lnbwd-pipeline=chip={chip}",
                    f"--emit={format}", "-o", output], input=code, text=True, check=True)
    assert output.stat().st_size > 0


def test_launch_example(tmp_path):
    """examples/launch.c compiles without a warning and, with a simulator, runs."""
    runtime = BUILD / "lib" / "liblnbwd-runtime.so"
    compiler = shutil.which("cc")
    if not runtime.exists() or not compiler:
        pytest.skip("no runtime library in the build, or no C compiler")
    program, kernel = tmp_path / "launch", tmp_path / "kernel.hsaco"
    subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic",
                    f"-I{ROOT}/include", ROOT / "examples" / "launch.c", f"-L{BUILD}/lib",
                    f"-Wl,-rpath,{BUILD}/lib", "-llnbwd-runtime", "-o", program], check=True)
    subprocess.run([BUILD / "bin" / "lnbwd-opt", ROOT / "examples" / "layer_norm_bwd.mlir",
                    "--lnbwd-pipeline=chip=gfx942", "--emit=hsaco", "-o", kernel], check=True)
    if not (BUILD / "lib" / "liblnbwd-hip-sim.so").exists():
        pytest.skip("no simulator in the build")
    result = subprocess.run([program, kernel, "sim", "64"], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, result.stderr
    assert "launched on sim" in result.stdout


def test_hip_example(tmp_path):
    """examples/launch_hip.cpp has the numbers of the plan; compiled against HIP's headers it runs
    on the simulator, which stands behind HIP's functions."""
    simulator = BUILD / "lib" / "liblnbwd-hip-sim.so"
    compiler = shutil.which("c++")
    if not simulator.exists() or not compiler:
        pytest.skip("no simulator in the build, or no C++ compiler")
    source = ROOT / "examples" / "launch_hip.cpp"
    program, kernel = tmp_path / "launch_hip", tmp_path / "k.hsaco"
    subprocess.run([BUILD / "bin" / "lnbwd-opt", ROOT / "examples" / "layer_norm_bwd.mlir",
                    "--lnbwd-pipeline=chip=gfx942", "--emit=hsaco", "-o", kernel], check=True)
    code = kernel.read_bytes()
    begin = code.index(b'{"format":"lnbwd-plan"')
    plan = json.loads(code[begin:code.index(b"\0", begin)])
    rows, finalize = plan["kernels"]
    [count] = plan["workgroup_counts"]
    text = " ".join(source.read_text().split())
    for name, value in {"rowLength": plan["arguments"][0]["row_length"],
                        "rowsPerWorkgroup": count["rows_per_workgroup"],
                        "workgroupsPerComputeUnit": count["workgroups_per_compute_unit"],
                        "block": rows["block"][0], "finalizeBlock": finalize["block"][0],
                        "finalizeGrid[]": "{{{}, {}}}".format(*finalize["grid"][:2])}.items():
        assert f"{name} = {value}" in text, f"the plan has {name} = {value} now"
    subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", source,
                    f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib", "-llnbwd-hip-sim", "-o",
                    program], check=True)
    messages = []
    for device in range(32):  # The devices are one for each chip.
        result = subprocess.run([program, kernel, "64", str(device)], capture_output=True,
                                text=True, check=False)
        if result.returncode == 0:
            break
        messages.append(result.stderr)
    assert result.stdout == "dbeta[0] = 64 for 64 rows\n", messages


# The folders of lib, lowest first, and those that each may look into.
LAYERS = {
    "Chips": set(),
    "Support": set(),
    "Operations": set(),
    "Reference": {"Operations"},
    "Runtime": {"Chips", "Operations", "Simulator/SimulatorAPI.h"},
    "Dialect": {"Operations"},
    "GradientAlgebra": {"Dialect"},
    "Target": {"Chips", "Dialect", "Operations"},
    "Analysis": {"Dialect", "Target"},
    "LaunchPlan": {"Dialect", "Target", "Analysis"},
    "Transforms": {"Dialect", "Operations", "GradientAlgebra", "Target", "Analysis", "LaunchPlan"},
    "Conversion": {"Dialect", "Target", "Analysis", "LaunchPlan", "Transforms"},
    "Pipelines": {"Support", "Dialect", "Target", "LaunchPlan", "Transforms", "Conversion"},
    "Report": {"Dialect", "Runtime", "Target"},
    "Compiler": {"Chips", "Dialect", "Target", "Transforms", "Pipelines", "Report"},
    "Torch": {"Operations", "Runtime"},
}


def test_each_layer_is_known():
    folders = {folder.name for top in ("lib", "include/lnbwd")
               for folder in (ROOT / top).iterdir() if folder.is_dir()}
    assert set(LAYERS) == folders


@pytest.mark.parametrize("layer", LAYERS)
def test_lower_layers_do_not_include_upper_ones(layer):
    allowed = {layer, "Config.h", *LAYERS[layer]}
    for folder in (ROOT / "include" / "lnbwd" / layer, ROOT / "lib" / layer):
        for file in folder.rglob("*.[ch]*"):
            if file.suffix not in (".h", ".cpp", ".c"):
                continue
            for header in re.findall(r'#include "lnbwd/([^"]+)"', file.read_text()):
                assert header in allowed or header.split("/")[0] in allowed, (
                    f"{file.relative_to(ROOT)} includes lnbwd/{header}")


# Where an include in quotes is looked for, beside the folder of the file that has it.
SEARCHED = [ROOT / "include", ROOT / "simulator" / "include", ROOT / "simulator" / "lib"]


def unit_of(file: pathlib.Path) -> str:
    """A source file with its header: include/lnbwd/A/B.h and lib/A/B.cpp are A/B; so they are in
    simulator/, whose headers are of Simulator and of ISA."""
    path = file.relative_to(ROOT).with_suffix("")
    for top in ("include/lnbwd", "lib", "simulator/include/lnbwd", "simulator/lib"):
        if path.is_relative_to(top):
            path = path.relative_to(top)
    return str(path)


def units_needed() -> dict[str, set[str]]:
    """Each unit of the C++ sources, and those whose headers it includes."""
    needed: dict[str, set[str]] = {}
    for top in (*PROGRAMS, *SIMULATOR):
        for file in sorted((ROOT / top).rglob("*.*")):
            if file.suffix not in (".h", ".cpp", ".c"):
                continue
            unit = unit_of(file)
            needs = needed.setdefault(unit, set())
            for name in re.findall(r'^ *#include "([^"]+\.h)"', file.read_text(), re.MULTILINE):
                for folder in (file.parent, *SEARCHED):
                    header = (folder / name).resolve()
                    if header.exists():
                        needs.add(unit_of(header))
                        break
            needs.discard(unit)
    return needed


def circle(needed: dict[str, set[str]]) -> list[str]:
    """A way from a node back to itself, if there is one."""
    finished: set[str] = set()

    def search(way: list[str]) -> list[str]:
        for node in sorted(needed.get(way[-1], ())):
            if node in way:
                return [*way[way.index(node):], node]
            if node not in finished and (found := search([*way, node])):
                return found
        finished.add(way[-1])
        return []

    for start in sorted(needed):
        if start not in finished and (found := search([start])):
            return found
    return []


def test_circles_are_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert not circle({"a": {"b", "c"}, "b": {"c"}, "c": set()})


def test_units_are_in_no_circle():
    needed = units_needed()
    # What the search of headers rests on: these are there.
    assert "Target/TargetBackend" in needed["Compiler/CompileSource"]
    assert "Execute/LaneSupport" in needed["Execute/LaneDriver"]
    assert not circle(needed)


def test_no_two_files_have_one_name():
    """But for what each library has of its own: its C interface, its declaration of passes."""
    found: dict[str, list[str]] = {}
    for top in ("include", "lib", "tools", "unittests", "fuzz", "bench", "simulator"):
        for file in sorted((ROOT / top).rglob("*.*")):
            if file.suffix in (".h", ".cpp", ".c", ".td") and "build" not in file.parts:
                found.setdefault(file.name, []).append(str(file.relative_to(ROOT)))
    assert len(found) > 400
    collisions = {name: files for name, files in found.items() if len(files) > 1}
    assert collisions.keys() <= {"CApi.cpp", "Passes.h", "Passes.td"}, collisions


# Sources that are one unit: what TableGen declares as one.
ONE_UNIT = {unit_of(file): str(file.parent.relative_to(ROOT / "lib"))
            for file in sorted((ROOT / "lib" / "Dialect").rglob("IR/*.cpp"))}


def sources_of_objects() -> dict[pathlib.Path, list[pathlib.Path]]:
    """Each object file of libraries and tools, with the sources that CMake compiles into it."""
    sources: dict[pathlib.Path, list[pathlib.Path]] = {}
    for top in ("lib", "tools", "simulator"):
        for file in sorted((BUILD / top).rglob("*.o")):
            unity = file.with_suffix("")
            parts = [part for part in unity.relative_to(BUILD).parts
                     if part != "CMakeFiles" and not part.endswith(".dir")]
            paths = (re.findall(r'#include "(.+)"', unity.read_text()) if unity.exists()
                     else [ROOT.joinpath(*parts)])
            sources[file] = [path for path in map(pathlib.Path, paths)
                             if path.exists() and path.is_relative_to(ROOT)]
    return {file: paths for file, paths in sources.items() if paths}


def symbols_of(objects: Iterable[pathlib.Path]) -> dict[pathlib.Path, dict[str, set[str]]]:
    """What each object file defines for others (T), and what it takes from others (U), without
    arguments."""
    found: dict[pathlib.Path, dict[str, set[str]]] = {
        file: {"T": set(), "U": set()} for file in objects}
    listing = subprocess.run(["nm", "-A", "-C", "-g", *found], capture_output=True, text=True,
                             check=bool(found)).stdout
    for file, kind, symbol in re.findall(r"^(.*\.o): *\w* ([TDBRU]) (.*)$", listing, re.MULTILINE):
        name = re.split(r"[(<[]", symbol.replace("(anonymous namespace)::", ""))[0]
        if re.search(r"\w$", name) and " " not in name:
            found[pathlib.Path(file)]["U" if kind == "U" else "T"].add(name)
    return found


DEFINITION = re.compile(r"^(?:[^\s#/}][^;={}\n]*[\s*&])?(~?\w+(?:::~?\w+)*)(?:\([^;{]*\{|"
                        r"(?:\[\w*\])* *[={;])", re.MULTILINE)


Symbols = dict[str, set[pathlib.Path]]
"""Names, with what each belongs to."""


def sources_of_symbols(sources: dict[pathlib.Path, list[pathlib.Path]],
                       symbols: dict[pathlib.Path, dict[str, set[str]]],
                       texts: dict[pathlib.Path, str]) -> Symbols:
    """The sources that define what an object file does: those whose text defines the longest end of
    the name, since a source may open namespaces around it."""
    in_texts = {path: set(DEFINITION.findall(text)) for path, text in texts.items()}
    found: Symbols = {}
    for file, paths in sources.items():
        for name in symbols[file]["T"]:
            parts = name.split("::")
            ends = ("::".join(parts[begin:]) for begin in range(len(parts)))
            having: set[pathlib.Path] = next(filter(None, (
                {path for path in paths if end in in_texts[path]} for end in ends)), set())
            if having:
                found.setdefault(name, set()).update(having)
    return found


def units_of_sources(paths: Iterable[pathlib.Path], defined: Symbols) -> dict[pathlib.Path, str]:
    """The unit of each source; sources that define members of one class are one unit."""
    units = {path: ONE_UNIT.get(unit_of(path), unit_of(path)) for path in paths}
    classes: dict[str, str] = {}
    for name, having in sorted(defined.items()):
        if len(having) == 1 and re.search(r"(^|::)[A-Z]\w*::~?\w+$", name):
            of_source = units[min(having)]
            of_class = classes.setdefault(name.rpartition("::")[0], of_source)
            units = {path: of_class if unit == of_source else unit for path, unit in units.items()}
    return units


def names_declared_once() -> set[str]:
    """Functions that the headers declare once, so that who has the word names the function."""
    declared = collections.Counter(
        name for top in (*PROGRAMS, *SIMULATOR) for file in (ROOT / top).rglob("*.h")
        for name in re.findall(r"^ *(?!return)[\w:<>,*& ]*[ *&](\w+)\(", file.read_text(),
                               re.MULTILINE))
    return {name for name, count in declared.items() if count == 1}


def units_called() -> dict[str, set[str]]:
    """Each unit of which there is an object file, and those whose functions and variables it names:
    a header that two sources implement hides that one of them needs the other.

    Of two object files, their symbols say that one calls the other. Within one, and where several
    sources of one have the word, the texts say it: of names that headers declare once, and of
    members where the class is named too.
    """
    sources = sources_of_objects()
    symbols = symbols_of(sources)
    texts = {path: re.sub(r"//.*", "", path.read_text())
             for paths in sources.values() for path in paths}
    words = {path: set(re.findall(r"\w+", text)) for path, text in texts.items()}
    defined = sources_of_symbols(sources, symbols, texts)
    units, once = units_of_sources(texts, defined), names_declared_once()
    called: dict[str, set[str]] = {unit: set() for unit in units.values()}
    for file, paths in sources.items():
        for name, having in defined.items():
            *scopes, short = name.split("::")
            users = [path for path in paths if short in words[path]]
            is_taken = name in symbols[file]["U"]
            if not (is_taken and len(users) == 1):
                is_seen = short in once and (is_taken or not having.isdisjoint(paths))
                needed = {scope for scope in scopes[-1:] if scope[0].isupper()}
                users = [path for path in users if is_seen and needed <= words[path]]
            for path in users:
                called[units[path]] |= {units[other] for other in having} - {units[path]}
    return called


def test_units_call_each_other_in_no_circle():
    called = units_called()
    if "Compiler/CompileSource" in called:  # With the compiler: of two object files, and of one.
        assert "Pipelines/Pipelines" in called["Compiler/CompileSource"]
        assert "GradientAlgebra/Adjoints" in called["GradientAlgebra/DerivativeRules"]
    assert not circle(called)


def test_folders_are_in_no_circle():
    needed: dict[str, set[str]] = {}
    for unit, needs in units_needed().items():
        folder = str(pathlib.PurePath(unit).parent)
        needed.setdefault(folder, set()).update(
            str(pathlib.PurePath(other).parent) for other in needs)
        needed[folder].discard(folder)
    assert not circle(needed)


def test_the_simulator_knows_its_own_headers_alone():
    """And the description of the chips. Its program writes files as the others do."""
    for top in ("include", "lib", "tools", "unittests", "fuzz", "bench"):
        for file in (ROOT / "simulator" / top).rglob("*.*"):
            if file.suffix in (".h", ".cpp", ".c"):
                for layer in re.findall(r'#include "lnbwd/([^/"]+)', file.read_text()):
                    assert layer in ("Simulator", "ISA", "Chips") or (
                        layer == "Support" and top == "tools"), file


def test_layers_of_the_simulator_know_those_above():
    layers = {"Core": "", "Decode": "Core", "Execute": "Core", "Load": "Core, Decode, Execute",
              "Check": "Core", "Timing": "Core, Check", "Hip": "all", "Assembler": ""}
    simulator = ROOT / "simulator" / "lib"
    assert {*layers, "ISA"} == {folder.name for folder in simulator.iterdir() if folder.is_dir()}
    for layer, known in layers.items():
        for file in sorted(file for pattern in ("*.cpp", "*.h")
                           for file in (simulator / layer).rglob(pattern)):
            for other in re.findall(r'#include "(\w+)/', file.read_text()):
                assert other not in layers or other == layer or known == "all" or (
                    other in known.split(", ")), f"{file.relative_to(ROOT)} includes {other}"


@pytest.mark.parametrize("folder", ["lib/Runtime", "lib/Reference", "lib/Support",
                                    "tools/lnbwd-run", "include/lnbwd/Runtime",
                                    "include/lnbwd/Operations", "include/lnbwd/Reference",
                                    "include/lnbwd/Support"])
def test_the_runtime_is_free_of_llvm(folder):
    for file in (ROOT / folder).rglob("*.*"):
        if file.suffix in (".h", ".cpp", ".c"):
            assert not re.search(r'#include [<"](llvm|mlir|lld)/', file.read_text()), file


def string_literals(file: pathlib.Path) -> list[str]:
    """The texts in a source file's code, without comments and descriptions."""
    text = file.read_text()
    if file.suffix == ".sh":  # Whole lines, since a script is texts in texts.
        return [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    if file.suffix not in (".py", ""):
        tokens = re.findall(r'//[^\n]*|/\*.*?\*/|"((?:[^"\\\n]|\\.)*)"', text, re.DOTALL)
        return [token for token in tokens if token]
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    described = {id(node.body[0].value) for node in ast.walk(tree)
                 if isinstance(node, documented) and node.body
                 and isinstance(node.body[0], ast.Expr)}
    # Names that a module exports are Python's, whatever they stand for.
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id in ("__all__", "_WITH_TORCH")
                for target in node.targets):
            described |= {id(part) for part in ast.walk(node)}
    return [node.value for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            and id(node) not in described]


def own_sources(*more: str) -> list[pathlib.Path]:
    """The sources of programs and libraries, and of more folders; not the table of chips."""
    made = {ROOT / "python/lnbwd/core/base/chip_table.py"}
    return [file for top in (*PROGRAMS, *SIMULATOR, "python/lnbwd", *more)
            for file in sorted((ROOT / top).rglob("*"))
            if (file.suffix in (".h", ".cpp", ".c", ".py", ".sh") and file not in made)
            or (file.is_file() and file.name == "lnbwd-tune")]


def test_literals_are_found(tmp_path):
    source = tmp_path / "a.cpp"
    source.write_text('// "no"\nauto A = "yes"; /* "no" */ auto B = "it\'s \\"so\\"";\n')
    assert string_literals(source) == ["yes", "it's \\\"so\\\""]
    source = tmp_path / "a.py"
    source.write_text('"""No."""\n__all__ = ["no"]\nname = f"yes {name}"\n')
    assert string_literals(source) == ["yes "]
    source = tmp_path / "a.sh"
    source.write_text("# no\nyes --with=this # and that\n")
    assert string_literals(source) == ["yes --with=this # and that"]


def test_operations_are_named_in_their_tables_only():
    table = ROOT / "python/lnbwd/core/base/operations.py"
    names = set(re.findall(r'^\w+ = "(\w+_norm\w*)"', table.read_text(), re.MULTILINE))
    assert {"layer_norm", "rms_norm_bwd"} <= names
    # Behind more of a name, it is another's: PyTorch's "native_layer_norm". So is what ends in
    # "_eps", an entry of a model's configuration; other endings are ours, "layer_norm_bwd_dx".
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(names))})(?!_eps\b)")
    # In a script's lines an example or a benchmark is a file, and lnbwd.layer_norm(...) a function.
    in_lines = re.compile(pattern.pattern + r"(?!\w*\.(?:mlir|py)\b|\()")
    for file in own_sources("bench", "scripts", "fuzz", "simulator/bench", "simulator/scripts",
                            "simulator/fuzz"):
        found = [text for text in string_literals(file)
                 if (in_lines if file.suffix == ".sh" else pattern).search(text)]
        assert sorted(found) == (sorted(names) if file == table else []), (
            f"{file.relative_to(ROOT)} names an operation: {found}")


def test_nothing_is_undefined_above_the_llvm_level():
    """lane.undefined_row says what an undefined value is for; ub.poison hides it."""
    for file in own_sources():
        assert not re.search(r"\bub::|\bub\.poison|UBOps\.h", file.read_text()), file


def test_assembly_is_written_where_there_is_no_operation():
    """st.async, in one place."""
    count = {file.relative_to(ROOT).as_posix(): found for file in own_sources()
             if (found := len(re.findall(r"\bInline(?:Ptx|Asm)Op::create", file.read_text())))}
    assert count == {"lib/Conversion/LaneToGPU/NVIDIAPatterns.cpp": 1}


def passes() -> dict[str, str]:
    """The C++ source of each pass, by the pass's name."""
    sources = {record: file.read_text() for file in sorted((ROOT / "lib").rglob("*.cpp"))
               for record in re.findall(r"#define GEN_PASS_DEF_(\w+)", file.read_text())}
    return {name: sources[record.upper()]
            for file in sorted((ROOT / "include").rglob("Passes.td"))
            for record, name in re.findall(r'^def (\w+)\s*:\s*Pass<\s*"(lnbwd-[\w-]+)"',
                                           file.read_text(), re.MULTILINE)}


PASSES = passes()


def test_passes_are_found():
    assert {"lnbwd-pipeline-rows", "lnbwd-convert-lane-to-gpu"} <= PASSES.keys()


@pytest.mark.parametrize("name", PASSES)
def test_each_pass_is_tested(name):
    """Alone; one that cannot fail needs no invalid input."""
    source = PASSES[name]
    stem = name.removeprefix("lnbwd-").removeprefix("convert-")
    own = {file.name for file in (ROOT / "test").rglob("*.mlir")
           if file.name.startswith((stem, f"convert-{stem}"))}
    assert any("invalid" not in file for file in own), f"{name} has no test of its own"
    # What can fail in this one, the erasure of func.func's results, never does.
    if "signalPassFailure" in source and name != "lnbwd-drop-argument-results":
        assert any("invalid" in file for file in own), f"{name} fails nowhere in the tests"


def test_every_key_of_the_plan_has_its_meaning():
    source = (ROOT / "lib/Runtime/Plan.cpp").read_text()
    readers = "contains|integer|integerOr|index|flag|has|string|array|get"
    keys = set(re.findall(rf'(?:{readers})\("(\w+)"', source))
    keys |= set(re.findall(r'readGroups\(\w+, "(\w+)"', source))
    assert len(keys) > 30  # Else they are read in another way now.
    # On one page, the one of the launch plan.
    missing = [[key for key in sorted(keys) if not re.search(rf"`{key}(\[i\])?`", text)]
               for text in (page.read_text() for page in PAGES)]
    assert min(missing, key=len) == []
