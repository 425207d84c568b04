// RUN: rm -rf %t && mkdir %t && split-file %s %t

// From each stage that --save-temps kept, the rest of the pipeline makes the
// same code, or the same input of it: of one kernel, of several, of products,
// and for both vendors; in every run from each second stage.
// DEFINE: %{stages} = 0 1
// DEFINE: %{input} = %examples/layer_norm_bwd.mlir
// DEFINE: %{options} =
// DEFINE: %{resume} = lnbwd-opt %{input} %{options} --save-temps=%t/stages -o %t/code && \
// DEFINE:             bash %S/Inputs/resume.sh %{lnbwd-opt} %t/stages %t/code %{stages} %{options} | FileCheck %s && rm -r %t/stages
// REDEFINE: %{options} = --lnbwd-pipeline=chip=gfx942 --emit=hsaco
// RUN: %if full %{ %{resume} %}
// REDEFINE: %{options} = --lnbwd-pipeline="chip=gfx1100 two-pass=always schedule=threads_per_row=64,row_groups=2" --emit=hsaco
// RUN: %if full %{ %{resume} %}
// REDEFINE: %{options} = --lnbwd-pipeline="chip=sm_90 rows=4096" --emit=ptx
// RUN: %if full %{ %{resume} %}
// REDEFINE: %{stages} = 0 2
// RUN: %if full %{ true %} %else %{ %{resume} %}
// REDEFINE: %{stages} = 0 1
// REDEFINE: %{input} = %t/linear.mlir
// RUN: %if full %{ %{resume} %}
// REDEFINE: %{options} = --lnbwd-pipeline=chip=gfx90a
// RUN: %if full %{ %{resume} %}
// REDEFINE: %{stages} = 1 2
// RUN: %if full %{ true %} %else %{ %{resume} %}
// CHECK: {{[12][0-9]}} stages lead to the same code

// A pass that runs several times is counted.
// RUN: lnbwd-opt %examples/layer_norm_bwd.mlir --lnbwd-pipeline=chip=gfx942 --save-temps=%t/stages -o %t/whole.mlir
// RUN: lnbwd-opt %t/stages/*-canonicalize-2.mlir --lnbwd-pipeline=chip=gfx942 --start-after=canonicalize-2 -o %t/rest.mlir
// RUN: diff %t/whole.mlir %t/rest.mlir
// And after the last one nothing is left to do.
// RUN: lnbwd-opt %t/stages/*-cse-4.mlir --lnbwd-pipeline=chip=gfx942 --start-after=cse-4 | diff %t/whole.mlir -

// RUN: not lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 --start-after=lnbwd-select --emit=hsaco 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not lnbwd-opt %s --lnbwd-pipeline=chip=gfx942 --start-after=canonicalize-9 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not lnbwd-opt %s --start-after=cse 2>&1 | FileCheck %s --check-prefix=EMPTY
// UNKNOWN: error: --start-after: the pipeline has no pass 'lnbwd-select', expected one of: lnbwd-lower-to-rowwise, canonicalize, cse, {{.*}}, canonicalize-2, {{.*}}, lnbwd-select-schedule, {{.*}}, lnbwd-pipeline-rows,
// COUNT:   error: --start-after: the pipeline has no pass 'canonicalize-9', expected one of: lnbwd-lower-to-rowwise,
// EMPTY:   error: --start-after: the pipeline has no pass 'cse', expected one of: none, there is no pipeline

//--- linear.mlir
func.func @linear(%x: memref<?x64xbf16>, %w: memref<96x64xbf16>, %b: memref<96xf32>, %y: memref<?x96xbf16>) {
  lnbwd.rowwise @linear domain(m | n0, n1) ins(%x[m, n0] : memref<?x64xbf16>, %b[n1] : memref<96xf32>,
      %w[n1, n0] : memref<96x64xbf16>) outs(%y[m, n1] : memref<?x96xbf16>)
      attributes {operand_names = ["x", "b", "w", "y"]} {
  ^row(%xr: vector<64xbf16>, %br: vector<96xf32>, %wm: vector<96x64xbf16>):
    %p = lnbwd.linear %xr, %wm : vector<64xbf16>, vector<96x64xbf16>
    %s = arith.addf %p, %br : vector<96xf32>
    %t = math.tanh %s : vector<96xf32>
    %o = arith.truncf %t : vector<96xf32> to vector<96xbf16>
    lnbwd.yield %o : vector<96xbf16>
  }
  return
}
