// RUN: lnbwd-opt %s --split-input-file --verify-diagnostics

func.func @both(%a: memref<?x64xf32>, %b: memref<96x64xf32>, %c: memref<?x96xf32>) {
  // expected-error@+1 {{expected lhs_transposed or rhs_transposed, got both}}
  lnbwd.product @k lhs(%a : memref<?x64xf32>) rhs(%b : memref<96x64xf32>) outs(%c : memref<?x96xf32>)
      attributes {lhs_transposed, rhs_transposed}
  return
}

// -----

func.func @rank(%a: memref<?x2x64xf32>, %b: memref<96x64xf32>, %c: memref<?x96xf32>) {
  // expected-error@+1 {{expected lhs to be a dense memref of two dimensions, got 'memref<?x2x64xf32>'}}
  lnbwd.product @k lhs(%a : memref<?x2x64xf32>) rhs(%b : memref<96x64xf32>) outs(%c : memref<?x96xf32>)
  return
}

// -----

func.func @element(%a: memref<?x64xi8>, %b: memref<96x64xf32>, %c: memref<?x96xf32>) {
  // expected-error@+1 {{expected the elements of lhs to be f16, bf16 or f32, got 'i8'}}
  lnbwd.product @k lhs(%a : memref<?x64xi8>) rhs(%b : memref<96x64xf32>) outs(%c : memref<?x96xf32>)
  return
}

// -----

func.func @parts(%a: memref<?x64xf32>, %b: memref<?x96xf32>, %c: memref<2x64x96xbf16>) {
  // expected-error@+1 {{expected lhs_transposed and an output of f32 with 2 parts, got 'memref<2x64x96xbf16>'}}
  lnbwd.product @k lhs(%a : memref<?x64xf32>) rhs(%b : memref<?x96xf32>) outs(%c : memref<2x64x96xbf16>)
      attributes {lhs_transposed, parts = 2}
  return
}

// -----

func.func @part_count(%a: memref<?x64xf32>, %b: memref<?x96xf32>, %c: memref<3x64x96xf32>) {
  // expected-error@+1 {{expected lhs_transposed and an output of f32 with 2 parts, got 'memref<3x64x96xf32>'}}
  lnbwd.product @k lhs(%a : memref<?x64xf32>) rhs(%b : memref<?x96xf32>) outs(%c : memref<3x64x96xf32>)
      attributes {lhs_transposed, parts = 2}
  return
}

// -----

func.func @parts_rank(%a: memref<?x64xf32>, %b: memref<?x96xf32>, %c: memref<64x96xf32>) {
  // expected-error@+1 {{expected the output to be a dense memref of three dimensions, got 'memref<64x96xf32>'}}
  lnbwd.product @k lhs(%a : memref<?x64xf32>) rhs(%b : memref<?x96xf32>) outs(%c : memref<64x96xf32>)
      attributes {lhs_transposed, parts = 2}
  return
}

// -----

func.func @depth(%a: memref<?x64xf32>, %b: memref<96x64xf32>, %c: memref<?x64xf32>) {
  // expected-error@+1 {{expected dimension 1 of lhs and dimension 0 of rhs to have the same size, got 'memref<?x64xf32>' and 'memref<96x64xf32>'}}
  lnbwd.product @k lhs(%a : memref<?x64xf32>) rhs(%b : memref<96x64xf32>) outs(%c : memref<?x64xf32>)
  return
}

// -----

func.func @shape(%a: memref<?x64xf32>, %b: memref<96x64xf32>, %c: memref<?x64xf32>) {
  // expected-error@+1 {{expected the output to have the other dimensions of 'memref<?x64xf32>' and 'memref<96x64xf32>', got 'memref<?x64xf32>'}}
  lnbwd.product @k lhs(%a : memref<?x64xf32>) rhs(%b : memref<96x64xf32>) outs(%c : memref<?x64xf32>)
      attributes {rhs_transposed}
  return
}

// -----

func.func @dynamic(%a: memref<?x64xf32>, %b: memref<?x64xf32>, %c: memref<?x?xf32>) {
  // expected-error@+1 {{expected all sizes but the number of rows, M, to be static, got 'memref<?x64xf32>', 'memref<?x64xf32>' and 'memref<?x?xf32>'}}
  lnbwd.product @k lhs(%a : memref<?x64xf32>) rhs(%b : memref<?x64xf32>) outs(%c : memref<?x?xf32>)
      attributes {rhs_transposed}
  return
}

// -----

func.func @names(%a: memref<?x64xf32>, %b: memref<96x64xf32>, %c: memref<?x96xf32>) {
  // expected-error@+1 {{expected operand_names to name 3 operands, got 1}}
  lnbwd.product @k lhs(%a : memref<?x64xf32>) rhs(%b : memref<96x64xf32>) outs(%c : memref<?x96xf32>)
      attributes {rhs_transposed, operand_names = ["x"]}
  return
}
