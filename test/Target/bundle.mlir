// REQUIRES: offload-bundler

// RUN: rm -rf %t && mkdir %t
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --emit=bundle --chips=gfx942,gfx1100,sm_90 -o %t/all.bundle
// RUN: clang-offload-bundler --list --type=o --input=%t/all.bundle | FileCheck %s --check-prefix=LIST

// clang's own tool lists the entries, and takes out what the compiler emits for one chip.
// RUN: clang-offload-bundler --unbundle --type=o --input=%t/all.bundle --targets=hipv4-amdgcn-amd-amdhsa--gfx1100 --output=%t/one.hsaco
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx1100 --emit=hsaco -o %t/alone.hsaco
// RUN: cmp %t/one.hsaco %t/alone.hsaco

// The options reach the pipeline.
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --emit=bundle --chips=gfx1100 --bundle-options=two-pass=always -o %t/two.bundle
// RUN: not cmp -s %t/two.bundle %t/all.bundle
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --emit=bundle --chips=gfx1100 --bundle-options=two-pass=maybe -o %t/none 2>&1 | FileCheck %s --check-prefix=OPTIONS

// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --emit=bundle -o %t/none 2>&1 | FileCheck %s --check-prefix=NO-CHIPS
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --emit=bundle --chips=gfx942,gfx1 -o %t/none 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --emit=bundle --chips=gfx942,gfx942 -o %t/none 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --emit=bundle --chips=gfx942 --lnbwd-pipeline=chip=gfx942 -o %t/none 2>&1 | FileCheck %s --check-prefix=PASSES
// RUN: not lnbwd-opt %examples/layer_norm_bwd.mlir --emit=hsaco --chips=gfx942 -o %t/none 2>&1 | FileCheck %s --check-prefix=NOT-BUNDLE
// RUN: ls %t | not grep none

// LIST-DAG: hipv4-amdgcn-amd-amdhsa--gfx942
// LIST-DAG: hipv4-amdgcn-amd-amdhsa--gfx1100
// LIST-DAG: hip-nvptx64-nvidia-cuda--sm_90
// OPTIONS:    error: {{.*}}auto, always or never, got 'maybe'
// NO-CHIPS:   error: --emit=bundle: expected --chips=CHIP,CHIP,...
// CHIP:       error: unknown chip 'gfx1', expected one of: gfx908, gfx90a, gfx942
// TWICE:      error: an offload bundle: expected each chip once, got 'gfx942' twice
// PASSES:     error: --emit=bundle runs lnbwd-pipeline for each of --chips: leave out the passes
// NOT-BUNDLE: error: --chips is for --emit=bundle
