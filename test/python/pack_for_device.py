# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packs the tests for a machine that has a GPU, Python and PyTorch, but no compiler and no network.

    python test/python/pack_for_device.py FOLDER [--chip sm_90] [--sample]

leaves in FOLDER the package with the runtime library, the tests, a cache with every kernel that
they use, and the wheels that they need. There, with FOLDER copied:

    bash FOLDER/run.sh OUT          # one GPU: tests, lnbwd.check; a table at the end
                                    # (no GPU: tests and check, on the simulator if
                                    # LNBWD_SIM_LIBRARY names it)
    bash FOLDER/run.sh OUT ddp      # two GPUs: data-parallel training
"""

import argparse
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LNBWD_BUILD_DIR", ROOT / "build")).resolve()
WHEELS = ("pytest==9.2.0", "hypothesis==6.170.15", "iniconfig==2.3.1", "pluggy==1.7.0",
          "packaging==26.3", "pygments==2.21.0", "sortedcontainers==2.4.0")
PLATFORMS = [f"manylinux_2_{n}_x86_64" for n in (39, 34, 28, 27, 24, 17)] + ["manylinux2014_x86_64"]

# What --sample packs of the tests, and what lnbwd.check is for there: one length and one type
# beside the tutorial's. All of them without a GPU: test_torch_tools.py.
SAMPLE_TESTS = ("test_torch_strange_arguments.py",)
SAMPLE_CHECK = (257, "bf16")
TUTORIAL_CHECK = (8, "f32")
CHECK_LENGTHS = (8, 64, 257)

sys.path[:0] = [str(ROOT / "python"), str(ROOT / "test" / "python")]
os.environ.setdefault("LNBWD_LIBRARY_DIR", str(BUILD / "lib"))


def recorded_kernels(tests):
    """What the tests that run without a GPU ask for, by a run of them on the simulator."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernels.json"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header",
             "--tb=no", "-k", "torch and not process and not transformer and not in_python",
             *tests], check=False, stdout=subprocess.DEVNULL,
            env={**os.environ, "LNBWD_TEST_RECORD": str(path)})
        return json.loads(path.read_text())


def wanted_specs(chip, tests, sample):
    """Specs of all kernels: the tests', those of tests for GPUs alone, and lnbwd.check's; of a
    sample the tests' and lnbwd.check's."""
    from capture_step import WIDTH
    from cases import DEVICE_LENGTHS, TYPES, device_configs

    from lnbwd.core.compile import kernels, spec, store
    from lnbwd.functional import linear_layers
    from lnbwd.program.mlir import mlir
    from lnbwd.program.row_program import RowProgram

    form = store.code_format(chip)
    specs = []
    for fields in recorded_kernels(tests):
        specs.append(spec.ProgramSpec(**{**fields, "chip": chip, "format": form}))

    def add(op, n, dtype, weight, bias, grads, epsilons):
        norm = {"n": n, "dtype": dtype, "chip": chip, "weight": weight, "bias": bias}
        specs.append(kernels.make_spec(f"{op}_bwd", **norm, grads=[
            grad for grad, want in zip(spec.GRADIENTS, grads, strict=True) if want]))
        specs.extend(kernels.make_spec(op, **norm, epsilon=epsilon) for epsilon in epsilons)

    for config in () if sample else device_configs():
        add(config.op, config.n, config.dtype, config.weight, config.bias, config.grads, (1e-5,))
    for n, dtype in (TUTORIAL_CHECK, SAMPLE_CHECK) if sample else itertools.product(
            {8, 64, 256, 768, WIDTH, *DEVICE_LENGTHS}, TYPES):
        add("layer_norm", n, dtype, dtype, dtype, (True, True, True), (1e-5, 1e-6))
        add("rms_norm", n, dtype, dtype, "", (True, True, False), (1e-5, 1e-6))
    # Those of lnbwd.check's linear layers.
    first = (SAMPLE_CHECK,) if sample else itertools.product((*CHECK_LENGTHS, 1024), TYPES)
    for k, outputs, dtype in ((8, 16, "f32"), *((k, 96, dtype) for k, dtype in first)):
        layer = linear_layers.Layer("layer_norm", k, outputs, dtype,
                                    (("gamma", dtype), ("beta", dtype), ("b", dtype)), 1e-5)
        gradient = layer.gradient(linear_layers.INPUTS)
        rows = spec.rows_hint(16 if outputs == 16 else 512)
        specs.append(gradient.spec)
        # Of PyTorch's products also what is around them.
        specs.extend(spec.ProgramSpec(source, chip, format=form, rows=rows)
                     for source in (layer.text, gradient.derived.mlir,
                                    mlir(RowProgram.from_text(layer.bias_program(rows).text))))
        add("layer_norm", k, dtype, dtype, dtype, (True, True, True), (1e-5,))
    return sorted(dict.fromkeys(specs), key=str)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--chip", default="sm_90")
    parser.add_argument("--sample", action="store_true", help="a few tests, to try the pack")
    parser.add_argument("--no-wheels", action="store_true", help="leave the wheels as they are")
    options = parser.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("python", "tests"):
        shutil.rmtree(folder / name, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(ROOT / "python" / "lnbwd", folder / "python" / "lnbwd", ignore=ignored)
    shutil.copy(ROOT / "lib" / "Chips" / "Chips.json", folder / "python" / "lnbwd" / "chips.json")
    shutil.copytree(ROOT / "test" / "python", folder / "tests", ignore=ignored)
    tests = [ROOT / "test" / "python" / name for name in SAMPLE_TESTS] if options.sample else [
        ROOT / "test" / "python"]
    for test in (folder / "tests").glob("test_*.py") if options.sample else ():
        if test.name not in SAMPLE_TESTS:
            test.unlink()
    (folder / "python" / "lnbwd" / "lib").mkdir()
    for name in ("runtime", "torch"):  # The second is there if the build found PyTorch's headers.
        library = BUILD / "lib" / f"liblnbwd-{name}.so"
        if name == "runtime" or library.exists():
            shutil.copy(library, folder / "python" / "lnbwd" / "lib")
    shutil.copy(ROOT / "test" / "python" / "run_on_device.sh", folder / "run.sh")
    shutil.copy(ROOT / "bench" / "host_cost.py", folder / "tests")
    shutil.copytree(ROOT / "bench" / "lnbwd_bench", folder / "tests" / "lnbwd_bench",
                    ignore=ignored)
    (folder / "check_arguments").write_text(
        "--n {} --dtype {}\n".format(*SAMPLE_CHECK) if options.sample else "\n")

    import lnbwd

    specs = wanted_specs(options.chip, tests, options.sample)
    done = lnbwd.precompile(specs, cache=folder / "cache")
    print(f"{len(done)} kernels for {options.chip}, {sum(d.size for d in done) >> 10} KiB, "
          f"{sum(not d.was_cached for d in done)} of them compiled now")
    # Kernels of compilers before this one are of no use there.
    from lnbwd import compiler
    for path in (folder / "cache").rglob("*.kernel"):
        if path.stem != compiler.compiler_id():
            path.unlink()
    if not options.no_wheels:
        platforms = [flag for p in PLATFORMS for flag in ("--platform", p)]
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps",
                        "--only-binary=:all:", "--python-version", "3.12", "--implementation", "cp",
                        *platforms, "-d", str(folder / "wheels"), *WHEELS], check=True)
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    print(f"{folder}: {size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
