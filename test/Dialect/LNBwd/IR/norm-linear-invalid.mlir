// RUN: lnbwd-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: memref<?x8xf32>, %w: memref<16x9xf32>, %out: memref<?x16xf32>) {
  // expected-error@+1 {{expected w to have 8 columns, as many as the normalised rows of x have elements, got 'memref<16x9xf32>'}}
  lnbwd.layer_norm_linear x(%x : memref<?x8xf32>) w(%w : memref<16x9xf32>) outs out(%out : memref<?x16xf32>)
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<16xf32>, %out: memref<?x16xf32>) {
  // expected-error@+1 {{expected w to have two static dimensions of at least 1 (a kernel is compiled for one size of it), got 'memref<16xf32>'}}
  lnbwd.layer_norm_linear x(%x : memref<?x8xf32>) w(%w : memref<16xf32>) outs out(%out : memref<?x16xf32>)
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<?x8xf32>, %out: memref<?x16xf32>) {
  // expected-error@+1 {{expected w to have two static dimensions of at least 1 (a kernel is compiled for one size of it), got 'memref<?x8xf32>'}}
  lnbwd.layer_norm_linear x(%x : memref<?x8xf32>) w(%w : memref<?x8xf32>) outs out(%out : memref<?x16xf32>)
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<16x8xbf16>, %out: memref<?x16xf32>) {
  // expected-error@+1 {{expected the elements of w to be those of x, 'f32', which it is multiplied with, got 'bf16'}}
  lnbwd.layer_norm_linear x(%x : memref<?x8xf32>) w(%w : memref<16x8xbf16>) outs out(%out : memref<?x16xf32>)
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<16x8xf32>, %out: memref<?x8xf32>) {
  // expected-error@+1 {{expected out to have the shape [?, 16] (the leading dimensions of x, and the rows of w), got}}
  lnbwd.layer_norm_linear x(%x : memref<?x8xf32>) w(%w : memref<16x8xf32>) outs out(%out : memref<?x8xf32>)
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<16x8xf32>, %out: memref<?x16xbf16>) {
  // expected-error@+1 {{expected the elements of out to be those of x, 'f32', got 'bf16'}}
  lnbwd.layer_norm_linear x(%x : memref<?x8xf32>) w(%w : memref<16x8xf32>) outs out(%out : memref<?x16xbf16>)
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<16x8xf32>, %b: memref<8xf32>, %out: memref<?x16xf32>) {
  // expected-error@+1 {{expected b to have the shape [16] (the rows of w), got}}
  lnbwd.layer_norm_linear x(%x : memref<?x8xf32>) w(%w : memref<16x8xf32>) b(%b : memref<8xf32>) outs out(%out : memref<?x16xf32>)
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<16x8xf32>, %b: memref<16xbf16>, %out: memref<?x16xf32>) {
  // expected-error@+1 {{expected the elements of b to be f32 or those of x, 'f32', got 'bf16'}}
  lnbwd.layer_norm_linear x(%x : memref<?x8xf32>) w(%w : memref<16x8xf32>) b(%b : memref<16xbf16>) outs out(%out : memref<?x16xf32>)
  return
}

// -----

func.func @f(%x: memref<?x4x8xf32>, %w: memref<16x8xf32>, %out: memref<?x16xf32>) {
  // expected-error@+1 {{expected row_rank 1 where a linear layer follows (a row is multiplied by a matrix), got 2; collapse the dimensions of a row}}
  lnbwd.layer_norm_linear x(%x : memref<?x4x8xf32>) w(%w : memref<16x8xf32>) outs out(%out : memref<?x16xf32>) {row_rank = 2 : i64}
  return
}

// -----

func.func @f(%dout: memref<?x16xbf16>, %x: memref<?x8xbf16>, %w: memref<16x8xbf16>, %rstd: memref<?xf32>, %dw: memref<8x8xbf16>) {
  // expected-error@+1 {{expected dw to have 16 rows, as many as w, got 'memref<8x8xbf16>'}}
  lnbwd.rms_norm_linear_bwd dout(%dout : memref<?x16xbf16>) x(%x : memref<?x8xbf16>) w(%w : memref<16x8xbf16>)
      rstd(%rstd : memref<?xf32>) outs dw(%dw : memref<8x8xbf16>)
  return
}

// -----

func.func @f(%dout: memref<?x16xbf16>, %x: memref<?x8xbf16>, %w: memref<16x8xbf16>, %rstd: memref<?xf32>, %dw: memref<16x8xf16>) {
  // expected-error@+1 {{expected the elements of dw to be f32 or those of x, 'bf16', which it is multiplied with, got 'f16'}}
  lnbwd.rms_norm_linear_bwd dout(%dout : memref<?x16xbf16>) x(%x : memref<?x8xbf16>) w(%w : memref<16x8xbf16>)
      rstd(%rstd : memref<?xf32>) outs dw(%dw : memref<16x8xf16>)
  return
}

// -----

func.func @f(%dout: memref<?x16xbf16>, %x: memref<?x8xbf16>, %w: memref<16x8xbf16>, %rstd: memref<?xf32>, %dw: memref<16x8xf32>) {
  // expected-error@+1 {{expected no accumulate where a linear layer follows: dw is an outer sum, which does not accumulate; add the gradients up outside}}
  lnbwd.rms_norm_linear_bwd dout(%dout : memref<?x16xbf16>) x(%x : memref<?x8xbf16>) w(%w : memref<16x8xbf16>)
      rstd(%rstd : memref<?xf32>) outs dw(%dw : memref<16x8xf32>) {accumulate}
  return
}

// -----

func.func @f(%dout: memref<?x16xf32>, %x: memref<?x8xf32>, %w: memref<16x8xf32>, %rstd: memref<?xf32>, %dx: memref<?x8xf32>) {
  lnbwd.layer_norm_linear_bwd dout(%dout : memref<?x16xf32>) x(%x : memref<?x8xf32>) w(%w : memref<16x8xf32>)
      // expected-error@+1 {{expected 'mean'}}
      rstd(%rstd : memref<?xf32>) outs dx(%dx : memref<?x8xf32>)
  return
}

// -----

func.func @f(%x: memref<?x8xf32>, %w: memref<16x8xf32>) {
  // expected-error@+1 {{expected at least one of the outputs out, mean and rstd}}
  "lnbwd.layer_norm_linear"(%x, %w) <{operandSegmentSizes = array<i32: 1, 0, 0, 1, 0, 0, 0, 0>}> : (memref<?x8xf32>, memref<16x8xf32>) -> ()
  return
}
