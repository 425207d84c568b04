// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942:xnack+:sramecc- --emit=hsaco -o %t.set
// RUN: llvm-readelf --notes --file-header %t.set | FileCheck %s --check-prefix=SET
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t.any
// RUN: llvm-readelf --notes --file-header %t.any | FileCheck %s --check-prefix=ANY
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942:xnack+:sramecc- --emit=mlir | FileCheck %s --check-prefix=PLAN

// The settings of a target id reach LLVM, which records them in the code object; the launch plan
// has them in their canonical order.

// SET:      Flags: {{.*}}gfx942, xnack+, sramecc-
// SET:      amdhsa.target: 'amdgcn-amd-amdhsa--gfx942:sramecc-:xnack+'
// ANY:      amdhsa.target: amdgcn-amd-amdhsa--gfx942{{$}}
// PLAN:     chip\22:\22gfx942:sramecc-:xnack+
