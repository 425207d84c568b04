// RUN: lnbwd-opt %s --split-input-file --verify-diagnostics

// expected-error-re @below {{expected name to be one of layer_norm, rms_norm, {{.*}}, got "softmax"}}
func.func private @name() attributes {lnbwd.operation = #lnbwd.operation<name = "softmax">}

// -----

// expected-error @below {{expected epsilon to be a number of 0 or more, got -1.0}}
func.func private @epsilon() attributes {lnbwd.operation = #lnbwd.operation<name = "rms_norm", epsilon = -1.0 : f64>}

// -----

// expected-error @below {{expected lnbwd.operation to be as in #lnbwd.operation<name = "...", epsilon = 1.0e-5 : f64>, or the programs of a launch plan, a string with an array of JSON, got "rms_norm"}}
func.func private @text() attributes {lnbwd.operation = "rms_norm"}

// -----

// expected-error @below {{expected lnbwd.operation on a function}}
module attributes {lnbwd.operation = #lnbwd.operation<name = "rms_norm">} {}
