// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline="chip=gfx942" --emit=hsaco | llvm-readelf -h - | FileCheck %s --check-prefix=V5
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline="chip=gfx942 code-object-version=5" --emit=hsaco | llvm-readelf -h - | FileCheck %s --check-prefix=V5
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline="chip=gfx942 code-object-version=6" --emit=hsaco | llvm-readelf -h - | FileCheck %s --check-prefix=V6
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline="chip=gfx942 code-object-version=7" --emit=hsaco -o %t 2>&1 | FileCheck %s --check-prefix=V7
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline="chip=gfx942 code-object-version=new" --emit=hsaco -o %t 2>&1 | FileCheck %s --check-prefix=WORD

// The ELF header counts differently: 3 is version 5, 4 is version 6.
// V5:   ABI Version: 3
// V6:   ABI Version: 4
// V7:   for the --code-object-version option: expected 5 or 6, got '7'
// WORD: for the --code-object-version option: expected 5 or 6, got 'new'
