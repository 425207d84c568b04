// RUN: rm -rf %t && mkdir %t
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t/missing/out.hsaco 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not ls %t/missing
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t 2>&1 | FileCheck %s --check-prefix=DIRECTORY
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o /dev/full 2>&1 | FileCheck %s --check-prefix=FULL

// A compilation that fails leaves what was there.
// RUN: echo precious > %t/out.hsaco
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx1 --emit=hsaco -o %t/out.hsaco
// RUN: FileCheck %s --check-prefix=KEPT < %t/out.hsaco
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t/out.hsaco
// RUN: llvm-readelf -h %t/out.hsaco | FileCheck %s --check-prefix=ELF

// FOLDER:    error: cannot write '{{.*}}out.hsaco': {{.*}}No such file or directory
// DIRECTORY: error: cannot write '{{.*}}': Is a directory
// FULL:      error: cannot write '/dev/full': No space left on device
// KEPT:      precious
// ELF:       Machine: EM_AMDGPU
