//===- LNBwdNorms.td - The named operations ----------------*- tablegen -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one declaration of each named operation: its operands by role, its
// options, which operation it is the gradient of, and its reference. All other
// lists of operations and operands are made from this file (docs/adding.md).
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_DIALECT_LNBWD_IR_LNBWDNORMS_TD
#define LNBWD_DIALECT_LNBWD_IR_LNBWDNORMS_TD

include "lnbwd/Dialect/LNBwd/IR/LNBwdInterfaces.td"
include "lnbwd/Dialect/LNBwd/IR/LNBwdRoles.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// What operations in destination style share: an output is a tensor and gives
/// a result, or a memref and is written in place.
class LNBwd_DestinationOp<string mnemonic, list<Trait> traits = []>
    : LNBwd_Op<mnemonic, !listconcat(traits, [
        AttrSizedOperandSegments, DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])>;

/// What the normalisations and their gradients share.
class LNBwd_NormOp<string mnemonic, list<LNBwd_Operand> normInputs,
                   list<LNBwd_Operand> normOutputs>
    : LNBwd_DestinationOp<mnemonic, [NormOpInterface]> {
  /// For the tables: the operands in the order of the launch plan's arguments.
  list<LNBwd_Operand> inputs = normInputs;
  list<LNBwd_Operand> outputs = normOutputs;
  /// The name in C++.
  string enumerator = !subst("Op", "", !subst("LNBwd_", "", NAME));
  /// The forward operation that this one is the gradient of; empty: none.
  string gradientOf = "";
  /// The formula: the name of the function in lib/Reference, and of the one
  /// that writes the row program (LNBwdNormBodies.cpp).
  string reference = ?;

  dag options = (ins
    DefaultValuedAttr<F64Attr, "1e-5">:$epsilon,
    UnitAttr:$zero_centred_gamma
  );
  dag lastOptions = (ins DefaultValuedAttr<I64Attr, "1">:$row_rank);
  defvar operands = !listconcat(normInputs, normOutputs);
  let arguments = !con(
      !dag(ins, !foreach(operand, operands, operand.constraint),
           !foreach(operand, operands, operand.role.name)),
      options, lastOptions);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat =
      !interleave(!foreach(operand, normInputs, operand.format), "\n") #
      "\n`outs` " #
      !interleave(!foreach(operand, normOutputs, operand.format), "\n") #
      "\nattr-dict (`->` type($results)^)?";
  let hasVerifier = 1;
  code normDeclaration = [{
    static ::lnbwd::NamedOperation getNamedOperation() {
      return ::lnbwd::NamedOperation::}] # enumerator # [{;
    }
    ::mlir::MutableOperandRange getDpsInitsMutable();
    void buildBody(::lnbwd::RowBuilder &b, ::lnbwd::RowBody &body) {
      ::lnbwd::detail::bodies::}] # reference # [{(b, body);
    }
  }];
  let extraClassDeclaration = normDeclaration;
  let extraClassDefinition = [{
    ::mlir::MutableOperandRange $cppClass::getDpsInitsMutable() {
      return ::lnbwd::detail::getNormInits(*this);
    }
    ::llvm::LogicalResult $cppClass::verify() {
      return ::lnbwd::detail::verifyNorm(*this);
    }
    void $cppClass::getEffects(
        ::llvm::SmallVectorImpl<::mlir::SideEffects::EffectInstance<
            ::mlir::MemoryEffects::Effect>> &effects) {
      ::lnbwd::detail::addNormEffects(*this, effects);
    }
  }];
}

/// A forward pass.
class LNBwd_ForwardOp<string mnemonic, list<LNBwd_Operand> inputs,
                      list<LNBwd_Operand> outputs>
    : LNBwd_NormOp<mnemonic, inputs, outputs> {
  let extraClassDeclaration = normDeclaration # [{
    bool getAccumulate() { return false; }
  }];
}

/// The gradient of a forward pass.
class LNBwd_GradientOp<LNBwd_ForwardOp forward, list<LNBwd_Operand> inputs,
                       list<LNBwd_Operand> outputs>
    : LNBwd_NormOp<forward.opName # "_bwd", inputs, outputs> {
  let gradientOf = forward.opName;
  let lastOptions = (ins UnitAttr:$accumulate,
                         DefaultValuedAttr<I64Attr, "1">:$row_rank);
}

def LNBwd_LayerNormOp : LNBwd_ForwardOp<"layer_norm", [
    LNBwd_Given<LNBwd_X, "input">, LNBwd_Maybe<LNBwd_Residual>,
    LNBwd_Maybe<LNBwd_Gamma>, LNBwd_Maybe<LNBwd_Beta>
  ], [
    LNBwd_Maybe<LNBwd_Y>, LNBwd_Maybe<LNBwd_Sum>, LNBwd_Maybe<LNBwd_Mean>,
    LNBwd_Maybe<LNBwd_Rstd>
  ]> {
  let reference = "norm";
  let summary = "LayerNorm, with the statistics that its gradient wants";
  let description = [{
    With M rows (all leading dimensions together) of N elements (the last
    dimension, or the last `row_rank` together):

    ```
    sum[i,j] = x[i,j] + residual[i,j]                (residual absent: sum = x)
    mean[i]  = sum_j(sum) / N
    rstd[i]  = 1 / sqrt(sum_j((sum - mean)^2) / N + epsilon)
    y[i,j]   = gamma[j] * (sum[i,j] - mean[i]) * rstd[i] + beta[j]
    ```

    | operand | shape | element |
    |---|---|---|
    | `x`, `y` | `[..., N]`, N static | f16, bf16 or f32, the same for both |
    | `residual`, `sum` | `[..., N]` | f16, bf16 or f32 |
    | `gamma`, `beta` | `[N]` | that of `x`, or f32 |
    | `mean`, `rstd` | `[...]`, the leading dimensions | f32 |

    Absent, `gamma` is 1 and `beta` 0. With `zero_centred_gamma`, `1 + gamma`
    stands in the place of `gamma`. Each output is wanted only if it is given.
    All arithmetic is float32. The variance is taken of what is left when the
    mean is subtracted, and the mean's own rounding is corrected in the same
    pass, so that rows with a large mean lose nothing. `sum` is rounded where it
    is stored and not before: the statistics are those of the float32 sum. A row
    whose sum of squares is beyond float32 gives NaN.

    Example:

    ```mlir
    lnbwd.layer_norm x(%x : memref<?x768xbf16>) residual(%r : memref<?x768xbf16>)
        gamma(%gamma : memref<768xf32>) beta(%beta : memref<768xf32>)
        outs y(%y : memref<?x768xbf16>) sum(%sum : memref<?x768xbf16>)
             mean(%mean : memref<?xf32>) rstd(%rstd : memref<?xf32>)
        {epsilon = 1.0e-6 : f64}
    ```
  }];
}

def LNBwd_RmsNormOp : LNBwd_ForwardOp<"rms_norm", [
    LNBwd_Given<LNBwd_X, "input">, LNBwd_Maybe<LNBwd_Residual>,
    LNBwd_Maybe<LNBwd_Gamma>
  ], [
    LNBwd_Maybe<LNBwd_Y>, LNBwd_Maybe<LNBwd_Sum>,
    LNBwd_Maybe<LNBwd_Rstd, "reciprocal row norms">
  ]> {
  let reference = "norm";
  let summary = "RMSNorm, with the statistic that its gradient wants";
  let description = [{
    ```
    sum[i,j] = x[i,j] + residual[i,j]                (residual absent: sum = x)
    rstd[i]  = 1 / sqrt(sum_j(sum^2) / N + epsilon)
    y[i,j]   = gamma[j] * sum[i,j] * rstd[i]
    ```

    Operands, elements and options are those of `lnbwd.layer_norm`.

    Example:

    ```mlir
    lnbwd.rms_norm x(%x : memref<?x4096xbf16>) gamma(%gamma : memref<4096xbf16>)
        outs y(%y : memref<?x4096xbf16>) rstd(%rstd : memref<?xf32>)
    ```
  }];
}

def LNBwd_LayerNormBwdOp : LNBwd_GradientOp<LNBwd_LayerNormOp, [
    LNBwd_Given<LNBwd_Dy>, LNBwd_Maybe<LNBwd_X>,
    LNBwd_Maybe<LNBwd_Y, "output of the forward pass">,
    LNBwd_Maybe<LNBwd_Gamma>, LNBwd_Maybe<LNBwd_Beta>, LNBwd_Maybe<LNBwd_Mean>,
    LNBwd_Maybe<LNBwd_Rstd>, LNBwd_Maybe<LNBwd_Dsum>
  ], [
    LNBwd_Maybe<LNBwd_Dx>, LNBwd_Maybe<LNBwd_Dresidual>,
    LNBwd_Maybe<LNBwd_Dgamma>, LNBwd_Maybe<LNBwd_Dbeta>
  ]> {
  let reference = "normGradient";
  let summary = "Gradients of LayerNorm";
  let description = [{
    With M rows (all leading dimensions together) of N elements (the last
    dimension, or the last `row_rank` together), and
    `xhat = (x - mean) * rstd`:

    ```
    wdy       = gamma * dy                         (gamma absent: wdy = dy)
    dx[i,j]   = rstd[i] * (wdy[i,j] - xhat[i,j] * sum_j(wdy * xhat) / N - sum_j(wdy) / N)
                + dsum[i,j]                        (dsum absent: nothing is added)
    dgamma[j] = sum_i dy[i,j] * xhat[i,j]
    dbeta[j]  = sum_i dy[i,j]
    ```

    | operand | shape | element |
    |---|---|---|
    | `dy`, `x` or `y`, `dx` | `[..., N]`, N static | f16, bf16 or f32, the same for all three |
    | `dsum`, `dresidual` | `[..., N]` | f16, bf16 or f32 |
    | `gamma`, `beta`, `dgamma`, `dbeta` | `[N]` | that of `x`, or f32 |
    | `mean`, `rstd` | `[...]`, the leading dimensions | f32 |

    Three ways to xhat:

    - *Saved statistics*: `x`, `mean` and `rstd`, which is `1 / sqrt(var + eps)`
      of the forward pass, `var` being the biased variance.
    - *Recomputed statistics*: `x` alone; `mean` and `rstd` are computed again
      as `lnbwd.layer_norm` does, with `epsilon`.
    - *From the output*: `y`, `rstd`, and `beta` where the forward pass had it:
      `xhat = (y - beta) / gamma`. |xhat| is at most `sqrt(N)`, so it is clamped
      there, which bounds the rounding error of y divided by a small gamma.
      Where gamma is 0 (or subnormal), xhat is lost and 0 is taken: that
      column's dgamma is 0 and its dx lacks the term of its own xhat. A finite
      input never gives an infinity or NaN through the division.

    With a residual (`lnbwd.layer_norm`), `x` is the sum that was normalised,
    `dsum` the gradient that reaches that sum from elsewhere, and `dresidual` dx
    in a type of its own. `dx` may be the buffer of `dy`. With
    `zero_centred_gamma`, `1 + gamma` stands in the place of `gamma`. With
    `accumulate`, `dgamma` and `dbeta`, of f32, are added to what is there.

    All arithmetic, both row sums and both column sums are float32. Each
    gradient is wanted only if its output is given; at least one is.

    Operands are all tensors (each output gives a result) or all memrefs
    (outputs are written in place). Rows of memrefs may lie apart (see
    `lnbwd.rowwise`).

    Example:

    ```mlir
    %dx, %dgamma, %dbeta = lnbwd.layer_norm_bwd
        dy(%dy : tensor<?x4096xbf16>) x(%x : tensor<?x4096xbf16>)
        gamma(%gamma : tensor<4096xbf16>)
        mean(%mean : tensor<?xf32>) rstd(%rstd : tensor<?xf32>)
        outs dx(%0 : tensor<?x4096xbf16>) dgamma(%1 : tensor<4096xbf16>)
             dbeta(%2 : tensor<4096xbf16>)
        -> tensor<?x4096xbf16>, tensor<4096xbf16>, tensor<4096xbf16>

    lnbwd.layer_norm_bwd
        dy(%dy : memref<?x768xf32>) x(%x : memref<?x768xf32>)
        outs dx(%dx : memref<?x768xf32>) {epsilon = 1.0e-6 : f64}
    ```
  }];
}

def LNBwd_RmsNormBwdOp : LNBwd_GradientOp<LNBwd_RmsNormOp, [
    LNBwd_Given<LNBwd_Dy>, LNBwd_Maybe<LNBwd_X>,
    LNBwd_Maybe<LNBwd_Y, "output of the forward pass">,
    LNBwd_Maybe<LNBwd_Gamma>,
    LNBwd_Maybe<LNBwd_Rstd, "reciprocal row norms">, LNBwd_Maybe<LNBwd_Dsum>
  ], [
    LNBwd_Maybe<LNBwd_Dx>, LNBwd_Maybe<LNBwd_Dresidual>,
    LNBwd_Maybe<LNBwd_Dgamma>
  ]> {
  let reference = "normGradient";
  let summary = "Gradients of RMSNorm";
  let description = [{
    With `xhat = x * rstd`:

    ```
    wdy       = gamma * dy                         (gamma absent: wdy = dy)
    dx[i,j]   = rstd[i] * (wdy[i,j] - xhat[i,j] * sum_j(wdy * xhat) / N) + dsum[i,j]
    dgamma[j] = sum_i dy[i,j] * xhat[i,j]
    ```

    Operands, elements and options are those of `lnbwd.layer_norm_bwd`: `x` and
    `rstd`; `x` alone, where `rstd` is computed again with `epsilon`; or `y` and
    `rstd`, `xhat` being `y / gamma`.

    Example:

    ```mlir
    lnbwd.rms_norm_bwd
        dy(%dy : memref<?x4096xbf16>) x(%x : memref<?x4096xbf16>)
        gamma(%gamma : memref<4096xbf16>) rstd(%rstd : memref<?xf32>)
        outs dx(%dx : memref<?x4096xbf16>) dgamma(%dgamma : memref<4096xf32>)
    ```
  }];
}

#endif // LNBWD_DIALECT_LNBWD_IR_LNBWDNORMS_TD
