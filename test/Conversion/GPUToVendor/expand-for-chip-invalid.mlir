// RUN: lnbwd-opt %s --lnbwd-set-chip=chip=gfx942 --lnbwd-expand-for-chip --split-input-file --verify-diagnostics

func.func @power(%v: f32) -> f32 {
  // expected-error@+1 {{'math.powf' op expected an exponent that is a finite constant, the same for all elements; write x^y as exp(y log x)}}
  %0 = math.powf %v, %v : f32
  return %0 : f32
}

// -----

func.func @whole_power(%v: f32, %i: i32) -> f32 {
  // expected-error@+1 {{'math.fpowi' op expected an exponent that is a finite constant}}
  %0 = math.fpowi %v, %i : f32, i32
  return %0 : f32
}

// -----

func.func @hyperbolic_sine(%v: f32) -> f32 {
  // expected-error@+1 {{'math.sinh' op has no instruction, and no device library is linked: expected exp, exp2, expm1, log, log1p, log2, tanh, erf, sin, cos, sqrt, rsqrt, powf, fpowi, absf, floor, ceil, trunc, roundeven, fma or copysign of float32}}
  %0 = math.sinh %v : f32
  return %0 : f32
}

// -----

func.func @double(%v: f64) -> f64 {
  // expected-error@+1 {{'math.sqrt' op has no instruction, and no device library is linked}}
  %0 = math.sqrt %v : f64
  return %0 : f64
}
