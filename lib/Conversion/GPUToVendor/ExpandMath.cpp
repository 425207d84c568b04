//===- ExpandMath.cpp - Functions without a library -----------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Neither vendor's device library is linked. What the machine has no
// instruction for is written out here; how, is in MathExpansions.h.
//
//===----------------------------------------------------------------------===//

#include "MathExpansions.h"

#include "lnbwd/Conversion/Passes.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/PassOptions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

namespace lnbwd {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "lnbwd/Conversion/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

namespace {
/// The intrinsics of LLVM for functions of one float32 that every chip computes
/// in one instruction, nearly. Each is that instruction and nothing else:
/// subnormal numbers are 0 to it.
struct HardwareFunctions {
  StringLiteral exp2;
  StringLiteral log2;
  StringLiteral reciprocal;
  StringLiteral reciprocalRoot;
  StringLiteral root;
  /// Whether log2 is off by some units in the last place of its result near 1
  /// as well, where that is near 0.
  bool isLog2RelativelyAccurate;
};

constexpr HardwareFunctions amdFunctions = {
    "llvm.amdgcn.exp2", "llvm.amdgcn.log",  "llvm.amdgcn.rcp",
    "llvm.amdgcn.rsq",  "llvm.amdgcn.sqrt", true};

/// From 1/2 to 2 the error of log2 is an absolute one, 2^-22.
constexpr HardwareFunctions nvidiaFunctions = {
    "llvm.nvvm.ex2.approx.ftz",    "llvm.nvvm.lg2.approx.ftz.f",
    "llvm.nvvm.rcp.approx.ftz.f",  "llvm.nvvm.rsqrt.approx.ftz.f",
    "llvm.nvvm.sqrt.approx.ftz.f", false};
} // namespace

static const HardwareFunctions &getHardwareFunctions(Backend backend) {
  switch (backend) {
  case Backend::AMDGPU:
    return amdFunctions;
  case Backend::NVPTX:
    return nvidiaFunctions;
  }
  llvm_unreachable("all backends are listed");
}

namespace {
/// Builds the expansions' arithmetic, elementwise, of operations. None of them
/// may be fused or reordered: an expansion says itself where it rounds.
class OperationBuilder {
public:
  using Value = mlir::Value;
  using Condition = mlir::Value;
  using Bits = mlir::Value;

  OperationBuilder(Operation *op, const HardwareFunctions &functions)
      : b(op->getLoc(), op), functions(functions),
        type(op->getResult(0).getType()) {}

  Value constant(double value) {
    return constant(b.getF32FloatAttr(float(value)), type);
  }
  Value add(Value lhs, Value rhs) { return arith::AddFOp::create(b, lhs, rhs); }
  Value sub(Value lhs, Value rhs) { return arith::SubFOp::create(b, lhs, rhs); }
  Value mul(Value lhs, Value rhs) { return arith::MulFOp::create(b, lhs, rhs); }
  Value div(Value lhs, Value rhs) { return arith::DivFOp::create(b, lhs, rhs); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, x, y, z);
  }
  Value neg(Value x) { return arith::NegFOp::create(b, x); }
  Value abs(Value x) { return callWhole("llvm.fabs", x); }
  Value copySign(Value magnitude, Value sign) {
    return callWhole("llvm.copysign", {magnitude, sign});
  }
  Value less(Value lhs, Value rhs) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, lhs, rhs);
  }
  Value lessOrNaN(Value lhs, Value rhs) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::ULT, lhs, rhs);
  }
  Value isNaN(Value x) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
  }
  Value roundedSqrt(Value x) { return callWhole("llvm.sqrt", x); }
  Value select(Value condition, Value ifTrue, Value ifFalse) {
    return arith::SelectOp::create(b, condition, ifTrue, ifFalse);
  }
  Value clamp(Value x, double low, double high) {
    Value most = constant(high);
    return minNum(callWhole("llvm.maxnum", {x, constant(low)}), most);
  }
  Value min(Value lhs, Value rhs) {
    return callWhole("llvm.minnum", {lhs, rhs}, LLVM::FastmathFlags::nnan);
  }
  Value minNum(Value lhs, Value rhs) {
    return callWhole("llvm.minnum", {lhs, rhs});
  }

  Value toBits(Value x) {
    return arith::BitcastOp::create(b, getBitsType(), x);
  }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, type, x); }
  Value bitsConstant(uint32_t value) {
    return constant(b.getI32IntegerAttr(int32_t(value)), getBitsType());
  }
  Value addBits(Value lhs, Value rhs) {
    return arith::AddIOp::create(b, lhs, rhs);
  }
  Value subBits(Value lhs, Value rhs) {
    return arith::SubIOp::create(b, lhs, rhs);
  }
  Value subBits(Value lhs, uint32_t rhs) {
    return subBits(lhs, bitsConstant(rhs));
  }
  Value andBits(Value lhs, uint32_t rhs) {
    return arith::AndIOp::create(b, lhs, bitsConstant(rhs));
  }
  Value orBits(Value lhs, uint32_t rhs) {
    return arith::OrIOp::create(b, lhs, bitsConstant(rhs));
  }
  Value xorBits(Value lhs, Value rhs) {
    return arith::XOrIOp::create(b, lhs, rhs);
  }
  Value shiftLeft(Value x, uint32_t count) {
    return arith::ShLIOp::create(b, x, bitsConstant(count));
  }
  Value shiftRight(Value x, uint32_t count) {
    return arith::ShRUIOp::create(b, x, bitsConstant(count));
  }
  Value mulBits(Value lhs, Value rhs) {
    return arith::MulIOp::create(b, lhs, rhs);
  }
  Value mulHighBits(Value lhs, Value rhs) {
    return arith::MulUIExtendedOp::create(b, lhs, rhs).getHigh();
  }
  /// The 32 bits of a scalar of 64 from `first`, for all elements.
  Value half(Value x, int64_t first) {
    Value shift = arith::ConstantOp::create(b, b.getI64IntegerAttr(first));
    Value low = arith::TruncIOp::create(b, b.getI32Type(),
                                        arith::ShRUIOp::create(b, x, shift));
    return isa<VectorType>(type)
               ? vector::BroadcastOp::create(b, type, low).getResult()
               : low;
  }
  Value funnelShift(Value high, Value low, Value count) {
    return LLVM::FshrOp::create(b, high, low, count);
  }
  Value selectBits(Value condition, Value ifTrue, Value ifFalse) {
    return arith::SelectOp::create(b, condition, ifTrue, ifFalse);
  }
  Value toNumber(Value x) { return arith::SIToFPOp::create(b, type, x); }
  Value lessBits(Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, lhs, rhs);
  }
  Value lessBits(Value lhs, uint32_t rhs) {
    return lessBits(lhs, bitsConstant(rhs));
  }

  bool isLog2RelativelyAccurate() { return functions.isLog2RelativelyAccurate; }
  Value exp2(Value x) { return call(functions.exp2, x); }
  Value log2(Value x) { return call(functions.log2, x); }
  Value rcp(Value x) { return call(functions.reciprocal, x); }
  Value rsqrt(Value x) { return call(functions.reciprocalRoot, x); }
  Value sqrt(Value x) { return call(functions.root, x); }

  /// Calls an intrinsic that LLVM has for vectors as well. Upstream's
  /// conversion for NVIDIA would turn the operation of the same name, be it
  /// arith's, math's or LLVM's, into a call of the library.
  Value callWhole(StringRef intrinsic, ValueRange operands,
                  LLVM::FastmathFlags flags = LLVM::FastmathFlags::none) {
    auto attribute = LLVM::FastmathFlagsAttr::get(b.getContext(), flags);
    return LLVM::CallIntrinsicOp::create(b, TypeRange(type),
                                         b.getStringAttr(intrinsic), operands,
                                         attribute)
        .getResult(0);
  }

private:
  /// Calls the chip's function for each element.
  Value call(StringRef function, Value x) {
    StringAttr intrinsic = b.getStringAttr(function);
    auto one = [&](Value element) -> Value {
      return LLVM::CallIntrinsicOp::create(b, b.getF32Type(), intrinsic,
                                           element)
          .getResult(0);
    };
    auto vector = dyn_cast<VectorType>(type);
    if (!vector)
      return one(x);
    SmallVector<Value> elements;
    for (int64_t i = 0; i < vector.getNumElements(); ++i)
      elements.push_back(one(vector::ExtractOp::create(b, x, i)));
    return vector::FromElementsOp::create(b, vector, elements);
  }
  Value constant(TypedAttr value, Type type) {
    if (auto vector = dyn_cast<VectorType>(type))
      return arith::ConstantOp::create(b,
                                       DenseElementsAttr::get(vector, value));
    return arith::ConstantOp::create(b, value);
  }
  Type getBitsType() {
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.clone(b.getI32Type());
    return b.getI32Type();
  }

  ImplicitLocOpBuilder b;
  const HardwareFunctions &functions;
  Type type;
};

class ExpandMath : public lnbwd::impl::ExpandMathPassBase<ExpandMath> {
public:
  using ExpandMathPassBase::ExpandMathPassBase;
  void runOnOperation() override;

private:
  template <typename Builder>
  Value expand(Operation *op, const HardwareFunctions &hardware);

  /// Whether the same bits are wanted of every chip.
  bool isPortable = false;
};
} // namespace

static bool isFloat32(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return getElementTypeOrSelf(type).isF32() &&
         (!vector || vector.getRank() == 1);
}

/// Whether a reciprocal that is off by a unit in the last place may stand in
/// for the division: where a flag says so, and in the sigmoid and what is made
/// of it, whose divisor 1 + exp(...) is no number for which it would be far
/// off.
static bool isByReciprocal(arith::DivFOp op) {
  if (bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::arcp |
                                               arith::FastMathFlags::afn))
    return true;
  auto sum = op.getRhs().getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  auto isOne = [](Value value) { return matchPattern(value, m_OneFloat()); };
  auto isPower = [](Value value) {
    return isa_and_nonnull<math::ExpOp, math::Exp2Op>(value.getDefiningOp());
  };
  return (isOne(sum.getLhs()) && isPower(sum.getRhs())) ||
         (isOne(sum.getRhs()) && isPower(sum.getLhs()));
}

/// What `op` computes, in operations that the chip has; null if it stays.
template <typename Builder>
Value ExpandMath::expand(Operation *op, const HardwareFunctions &hardware) {
  if (op->getNumResults() != 1 ||
      (!isFloat32(op->getResult(0).getType()) && !isa<PhiloxOp>(op)))
    return {};
  Builder builder(op, hardware);
  auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
  bool isApproximate =
      flags && bitEnumContainsAny(flags.getFastMathFlagsAttr().getValue(),
                                  arith::FastMathFlags::afn);
  MathExpansions<Builder> expansions(builder, isApproximate);
  // A row has one scalar, for which correct rounding costs little.
  bool isExact = isPortable || (!isApproximate &&
                                !isa<VectorType>(op->getResult(0).getType()));
  Value x = op->getNumOperands() ? op->getOperand(0) : Value();
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](PhiloxOp philox) {
        return expansions.philox({philox.getCounter(), builder.bitsConstant(0),
                                  builder.bitsConstant(0),
                                  builder.bitsConstant(0)},
                                 {builder.half(x, 0), builder.half(x, 32)});
      })
      .Case([&](arith::DivFOp div) {
        return !isPortable && isByReciprocal(div)
                   ? expansions.quotient(x, div.getRhs())
                   : Value();
      })
      .Case([&](math::ExpOp) { return expansions.exp(x); })
      .Case([&](math::Exp2Op) { return expansions.exp2(x); })
      .Case([&](math::ExpM1Op) { return expansions.expm1(x); })
      .Case([&](math::LogOp) { return expansions.log(x); })
      .Case([&](math::Log2Op) { return expansions.log2(x); })
      .Case([&](math::Log1pOp) { return expansions.log1p(x); })
      .Case([&](math::TanhOp) { return expansions.tanh(x); })
      .Case([&](math::ErfOp) { return expansions.erf(x); })
      .Case([&](math::SinOp) { return expansions.sin(x); })
      .Case([&](math::CosOp) { return expansions.cos(x); })
      .Case([&](math::SqrtOp) {
        return isExact ? builder.roundedSqrt(x) : expansions.sqrt(x);
      })
      .Case([&](math::RsqrtOp) {
        if (!isExact)
          return expansions.rsqrt(x);
        Value root = builder.roundedSqrt(x);
        return builder.div(builder.constant(1), root);
      })
      .Case([&](math::PowFOp pow) {
        FloatAttr exponent;
        SplatElementsAttr splat;
        if (matchPattern(pow.getRhs(), m_Constant(&splat)))
          exponent = splat.getSplatValue<FloatAttr>();
        else if (!matchPattern(pow.getRhs(), m_Constant(&exponent)))
          return Value();
        if (!exponent.getValue().isFinite())
          return Value();
        return expansions.pow(x, float(exponent.getValueAsDouble()));
      })
      .Case([&](math::FPowIOp pow) {
        IntegerAttr exponent;
        SplatElementsAttr splat;
        if (matchPattern(pow.getRhs(), m_Constant(&splat)))
          exponent = splat.getSplatValue<IntegerAttr>();
        else if (!matchPattern(pow.getRhs(), m_Constant(&exponent)))
          return Value();
        return expansions.powi(x, exponent.getValue().getSExtValue());
      })
      .Case([&](math::CopySignOp) {
        return builder.copySign(x, op->getOperand(1));
      })
      .Case([&](arith::MaxNumFOp) {
        return builder.callWhole("llvm.maxnum", op->getOperands());
      })
      .Case([&](arith::MinNumFOp) {
        return builder.callWhole("llvm.minnum", op->getOperands());
      })
      .Case([&](math::AbsFOp) { return builder.callWhole("llvm.fabs", x); })
      .Case([&](math::FloorOp) { return builder.callWhole("llvm.floor", x); })
      .Case([&](math::CeilOp) { return builder.callWhole("llvm.ceil", x); })
      .Case([&](math::TruncOp) { return builder.callWhole("llvm.trunc", x); })
      .Case([&](math::RoundEvenOp) {
        return builder.callWhole("llvm.roundeven", x);
      })
      .Default([](Operation *) { return Value(); });
}

/// Replaces `op` on a vector by one on each element. The keys of its rounds,
/// the same for all elements, are scalars then; as vectors, LLVM would keep
/// each in as many scalar registers as there are elements.
static void unroll(PhiloxOp op, SmallVectorImpl<Operation *> &elements) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto counters = vector::ToElementsOp::create(b, op.getCounter());
  SmallVector<Value> drawn;
  for (Value counter : counters.getResults()) {
    drawn.push_back(
        PhiloxOp::create(b, counter.getType(), op.getSeed(), counter));
    elements.push_back(drawn.back().getDefiningOp());
  }
  op.replaceAllUsesWith(
      vector::FromElementsOp::create(b, op.getType(), drawn).getResult());
  op.erase();
}

void ExpandMath::runOnOperation() {
  FailureOr<const ChipInfo *> info = getChipOption(getOperation(), chip);
  if (failed(info))
    return signalPassFailure();
  const HardwareFunctions &hardware = getHardwareFunctions((*info)->backend);
  isPortable = isCanonical(getOperation());
  // Multiply-adds are written out by now, and no other operation is one.
  if (isPortable)
    dropFastMath(getOperation());

  // Divisions first, while their divisors can still be told.
  SmallVector<Operation *> divisions, functions;
  getOperation()->walk([&](Operation *op) {
    auto philox = dyn_cast<PhiloxOp>(op);
    if (isa<arith::DivFOp>(op))
      divisions.push_back(op);
    else if (philox && isa<VectorType>(philox.getType()))
      unroll(philox, functions);
    else if (isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
             isa<arith::MaxNumFOp, arith::MinNumFOp, PhiloxOp>(op))
      functions.push_back(op);
  });
  numFunctions += functions.size();
  divisions.append(functions);
  for (Operation *op : divisions)
    if (Value expanded =
            isPortable ? expand<PortableBuilder<OperationBuilder>>(op, hardware)
                       : expand<OperationBuilder>(op, hardware)) {
      op->replaceAllUsesWith(ValueRange(expanded));
      op->erase();
    }

  WalkResult result = getOperation()->walk([](Operation *op) {
    // What is left of this has an instruction everywhere.
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
        isa<math::FmaOp>(op))
      return WalkResult::advance();
    if (isa<math::PowFOp, math::FPowIOp>(op) &&
        isFloat32(op->getResult(0).getType()))
      op->emitOpError(
          "expected an exponent that is a finite constant, the same "
          "for all elements; write x^y as exp(y log x)");
    else
      op->emitOpError("has no instruction, and no device library is linked: "
                      "expected exp, exp2, expm1, log, log1p, log2, tanh, erf, "
                      "sin, cos, sqrt, rsqrt, powf, fpowi, absf, floor, ceil, "
                      "trunc, roundeven, fma or copysign of float32");
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    signalPassFailure();
}
