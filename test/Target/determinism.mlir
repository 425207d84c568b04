// RUN: rm -rf %t && mkdir %t
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t/gfx942.1
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t/gfx942.2
// RUN: cmp %t/gfx942.1 %t/gfx942.2
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx1100 --emit=hsaco -o %t/gfx1100.1
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx1100 --emit=hsaco -o %t/gfx1100.2
// RUN: cmp %t/gfx1100.1 %t/gfx1100.2
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_90 --emit=ptx -o %t/sm_90.1
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=sm_90 --emit=ptx -o %t/sm_90.2
// RUN: cmp %t/sm_90.1 %t/sm_90.2

// The same input gives the same bytes.
