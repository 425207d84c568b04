// RUN: lnbwd-opt %s --lnbwd-convert-few-rows-to-gpu="chip=gfx942 few-rows=always" --split-input-file --verify-diagnostics

func.func @accumulate(%x: memref<?x8xf32>, %g: memref<8x8xf32>) {
  // expected-error@+1 {{cannot be taken by one workgroup (few-rows=always): expected sums that are neither partial nor accumulate}}
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x8xf32>) outs(%g[n1, n0] add : memref<8x8xf32>) attributes {accumulate} {
  ^row(%xr: vector<8xf32>):
    %o = vector.outerproduct %xr, %xr : vector<8xf32>, vector<8xf32>
    lnbwd.yield %o : vector<8x8xf32>
  }
  return
}

// -----

func.func @groups(%x: memref<?x?x8xf32>, %s: memref<?x8xf32>, %g: memref<8x8xf32>) {
  // expected-error@+1 {{cannot be taken by one workgroup (few-rows=always): expected no groups of rows}}
  lnbwd.rowwise @k domain(m0, m1 | n0, n1) ins(%x[m0, m1, n0] : memref<?x?x8xf32>, %s[m0, n0] : memref<?x8xf32>) outs(%g[n1, n0] add : memref<8x8xf32>) {
  ^row(%xr: vector<8xf32>, %sr: vector<8xf32>):
    %o = vector.outerproduct %xr, %sr : vector<8xf32>, vector<8xf32>
    lnbwd.yield %o : vector<8x8xf32>
  }
  return
}

// -----

func.func @long_rows(%x: memref<?x4097xf32>, %w: memref<1x4097xf32>, %y: memref<?x1xf32>) {
  // expected-error@+1 {{expected rows of at most 4096 elements, 8 for each of 512 work-items, got 4097}}
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x4097xf32>, %w[n1, n0] : memref<1x4097xf32>) outs(%y[m, n1] : memref<?x1xf32>) {
  ^row(%xr: vector<4097xf32>, %wm: vector<1x4097xf32>):
    %p = lnbwd.linear %xr, %wm : vector<4097xf32>, vector<1x4097xf32>
    lnbwd.yield %p : vector<1xf32>
  }
  return
}

// -----

func.func @large_matrix(%x: memref<?x96xf32>, %w: memref<256x96xf32>, %y: memref<?x256xf32>) {
  // expected-error@+1 {{expected matrices of at most 8192 elements, 16 for each of 512 work-items, got 24576}}
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x96xf32>, %w[n1, n0] : memref<256x96xf32>) outs(%y[m, n1] : memref<?x256xf32>) {
  ^row(%xr: vector<96xf32>, %wm: vector<256x96xf32>):
    %p = lnbwd.linear %xr, %wm : vector<96xf32>, vector<256x96xf32>
    lnbwd.yield %p : vector<256xf32>
  }
  return
}

// -----

func.func @memory(%x: memref<?x4096xf32>, %w: memref<2x4096xf32>, %y: memref<?x2xf32>) {
  // expected-error@+1 {{expected the matrices, and what is multiplied or summed of one row, to take at most 65536 bytes, the shared memory of gfx942, got 81940}}
  lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x4096xf32>, %w[n1, n0] : memref<2x4096xf32>) outs(%y[m, n1] : memref<?x2xf32>) {
  ^row(%xr: vector<4096xf32>, %wm: vector<2x4096xf32>):
    %z = arith.mulf %xr, %xr : vector<4096xf32>
    %s = vector.reduction <add>, %z : vector<4096xf32> into f32
    %p = lnbwd.linear %xr, %wm : vector<4096xf32>, vector<2x4096xf32>
    %b = vector.broadcast %s : f32 to vector<2xf32>
    %q = arith.addf %p, %b : vector<2xf32>
    %m = arith.mulf %xr, %z : vector<4096xf32>
    %t = vector.reduction <add>, %m : vector<4096xf32> into f32
    %c = vector.broadcast %t : f32 to vector<2xf32>
    %r = arith.addf %q, %c : vector<2xf32>
    lnbwd.yield %r : vector<2xf32>
  }
  return
}

// -----

func.func @branch(%c: i1, %x: memref<?x8xf32>, %w: memref<4x8xf32>, %y: memref<?x4xf32>) {
  scf.if %c {
    // expected-error@+1 {{expected to be at the top level of its function: a launch plan has no loops or branches}}
    lnbwd.rowwise @k domain(m | n0, n1) ins(%x[m, n0] : memref<?x8xf32>, %w[n1, n0] : memref<4x8xf32>) outs(%y[m, n1] : memref<?x4xf32>) {
    ^row(%xr: vector<8xf32>, %wm: vector<4x8xf32>):
      %p = lnbwd.linear %xr, %wm : vector<8xf32>, vector<4x8xf32>
      lnbwd.yield %p : vector<4xf32>
    }
  }
  return
}

// -----

func.func @no_matrices(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  // expected-error@+1 {{cannot be taken by one workgroup (few-rows=always): expected a function with matrices or outer sums, got none; leave few-rows out for it}}
  lnbwd.rowwise @k domain(m | n) ins(%x[m, n] : memref<?x8xf32>) outs(%y[m, n] : memref<?x8xf32>) {
  ^row(%xr: vector<8xf32>):
    %p = arith.mulf %xr, %xr : vector<8xf32>
    lnbwd.yield %p : vector<8xf32>
  }
  return
}
