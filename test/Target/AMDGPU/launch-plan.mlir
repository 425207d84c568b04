// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco -o %t.hsaco
// RUN: llvm-readelf -p .lnbwd.plan %t.hsaco | FileCheck %s --check-prefix=TEXT
// RUN: llvm-readelf -S --dyn-syms %t.hsaco | FileCheck %s --check-prefix=SYMBOL

// The plan travels in the code object: a section of its own, which tools print,
// and a symbol, which loaders find.
// TEXT:      String dump of section '.lnbwd.plan':
// TEXT-NEXT: [ 0] {"format":"lnbwd-plan","version":1,{{.*}}"chip":"gfx942",{{.*}}}{{$}}

// SYMBOL:    .lnbwd.plan PROGBITS {{.*}} A
// SYMBOL:    OBJECT GLOBAL {{PROTECTED|DEFAULT}} {{[0-9]+}} layer_norm_bwd.kd
// SYMBOL:    OBJECT GLOBAL PROTECTED {{[0-9]+}} lnbwd_plan
