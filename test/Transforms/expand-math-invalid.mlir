// RUN: lnbwd-opt %s --lnbwd-expand-math --split-input-file --verify-diagnostics

func.func @power(%v: f32) -> f32 {
  // expected-error@+1 {{'math.powf' op has no instruction, and no device library is linked: expected exp, exp2, expm1, log, log1p, log2, tanh, erf, sqrt, rsqrt, absf, floor, ceil, fma or copysign of float32}}
  %0 = math.powf %v, %v : f32
  return %0 : f32
}

// -----

func.func @double(%v: f64) -> f64 {
  // expected-error@+1 {{'math.sqrt' op has no instruction, and no device library is linked}}
  %0 = math.sqrt %v : f64
  return %0 : f64
}
