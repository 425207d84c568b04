// RUN: rm -rf %t && mkdir %t
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --emit=elf -o %t/out 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --emit=hsaco -o %t/out 2>&1 | FileCheck %s --check-prefix=NOT-LOWERED
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-gpu-pipeline=chip=gfx942 --emit=hsaco -o %t/out 2>&1 | FileCheck %s --check-prefix=NO-TARGET
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx1013 --emit=hsaco -o %t/out 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=AMD
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=cubin -o %t/out 2>&1 | FileCheck %s --check-prefix=AMD
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_90 --emit=hsaco -o %t/out 2>&1 | FileCheck %s --check-prefix=NVIDIA
// RUN: not lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t/out 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not lnbwd-opt %t/missing.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t/out 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not lnbwd-opt %S/Inputs/nothing.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t/out 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: ls %t | count 0

// A failure says what was expected and leaves no file.

// FORMAT:      error: unknown emit format 'elf', expected one of: mlir, llvm, isa, hsaco, ptx, cubin, report, report-json
// NOT-LOWERED: error: {{.*}}expected one function with kernels to emit as hsaco, got 0: a row program or named operation, lowered for a chip, for example by --lnbwd-pipeline="chip=gfx942"
// NO-TARGET:   error: {{.*}}expected one target: a module is emitted after it was lowered for a chip, for example by --lnbwd-pipeline="chip=..."
// CHIP:        error: unknown chip 'gfx1013', expected one of: gfx908, {{.*}}, sm_120
// AMD:         error: {{.*}}cannot be emitted as {{ptx|cubin}} for gfx942; expected one of: mlir, llvm, isa, hsaco
// NVIDIA:      error: {{.*}}cannot be emitted as hsaco for sm_90; expected one of: mlir, llvm, isa (PTX), ptx, cubin
// TWO:         error: {{.*}}expected one function with kernels to emit as hsaco, got 2; write each to a file of its own
// MISSING:     error: cannot open input file '{{.*}}missing.mlir': No such file or directory
// The pipeline was run: it is no remedy.
// NOTHING:     error: {{.*}}expected one function with kernels to emit as hsaco, got 0: the module has no row program and no named operation of lnbwd{{$}}

func.func @first(%x: memref<?x64xf32>, %s: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%x : memref<?x64xf32>) x(%x : memref<?x64xf32>) mean(%s : memref<?xf32>)
      rstd(%s : memref<?xf32>) outs dx(%x : memref<?x64xf32>)
  return
}

func.func @second(%x: memref<?x64xf32>, %s: memref<?xf32>) {
  lnbwd.layer_norm_bwd dy(%x : memref<?x64xf32>) x(%x : memref<?x64xf32>) mean(%s : memref<?xf32>)
      rstd(%s : memref<?xf32>) outs dx(%x : memref<?x64xf32>)
  return
}
