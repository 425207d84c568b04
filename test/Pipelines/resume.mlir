// From what --save-temps kept behind a pass, the passes that follow make the
// same code.
// RUN: rm -rf %t && mkdir %t
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --emit=hsaco --save-temps=%t/stages -o %t/whole
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --dump-pass-pipeline -o /dev/null 2> %t/passes
// RUN: sed '1,/lnbwd-split-row-sums/d' %t/passes > %t/rest
// RUN: bash -c '"$0" %t/stages/*-lnbwd-select-schedule.mlir --pass-pipeline="builtin.module($(cat %t/rest)" --emit=hsaco -o %t/resumed' %{lnbwd-opt}
// RUN: cmp %t/whole %t/resumed
