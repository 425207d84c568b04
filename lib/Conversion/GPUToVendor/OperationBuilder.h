//===- OperationBuilder.h - Expansions as operations ------------*- C++ -*-===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The builder of expansions (MathExpansions.h) that makes operations, and the
// functions that the chips compute in one instruction.
//
//===----------------------------------------------------------------------===//

#ifndef LNBWD_LIB_CONVERSION_GPUTOVENDOR_OPERATIONBUILDER_H
#define LNBWD_LIB_CONVERSION_GPUTOVENDOR_OPERATIONBUILDER_H

#include "lnbwd/Target/ChipInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <tuple>

namespace lnbwd {

namespace arith = mlir::arith;

/// The intrinsics of LLVM for functions of one float32 that every chip computes
/// in one instruction, nearly. Each is that instruction and nothing else:
/// subnormal numbers are 0 to it.
struct HardwareFunctions {
  llvm::StringLiteral exp2;
  llvm::StringLiteral log2;
  llvm::StringLiteral reciprocal;
  llvm::StringLiteral reciprocalRoot;
  llvm::StringLiteral root;
  /// A division of any numbers that is off by two units in the last place;
  /// empty where IEEE's is the cheapest.
  llvm::StringLiteral division;
  /// Whether log2 is off by some units in the last place of its result near 1
  /// as well, where that is near 0.
  bool isLog2RelativelyAccurate;
};

inline constexpr HardwareFunctions amdFunctions = {"llvm.amdgcn.exp2",
                                                   "llvm.amdgcn.log",
                                                   "llvm.amdgcn.rcp",
                                                   "llvm.amdgcn.rsq",
                                                   "llvm.amdgcn.sqrt",
                                                   "",
                                                   true};

/// From 1/2 to 2 the error of log2 is an absolute one, 2^-22.
inline constexpr HardwareFunctions nvidiaFunctions = {
    "llvm.nvvm.ex2.approx.ftz",
    "llvm.nvvm.lg2.approx.ftz.f",
    "llvm.nvvm.rcp.approx.ftz.f",
    "llvm.nvvm.rsqrt.approx.ftz.f",
    "llvm.nvvm.sqrt.approx.ftz.f",
    "llvm.nvvm.div.full",
    false};

inline const HardwareFunctions &getHardwareFunctions(Backend backend) {
  return backend == Backend::AMDGPU ? amdFunctions : nvidiaFunctions;
}

inline llvm::SmallVector<mlir::Value> getElements(mlir::ImplicitLocOpBuilder &b,
                                                  mlir::Value value) {
  if (!llvm::isa<mlir::VectorType>(value.getType()))
    return {value};
  return llvm::to_vector(mlir::ValueRange(
      mlir::vector::ToElementsOp::create(b, value).getResults()));
}

/// A scalar or vector type of other elements.
inline mlir::Type cloneType(mlir::Type type, mlir::Type element) {
  auto vector = llvm::dyn_cast<mlir::VectorType>(type);
  return vector ? vector.clone(element) : element;
}

/// Builds the expansions' arithmetic, elementwise, of operations. None of them
/// may be fused or reordered: an expansion says itself where it rounds.
class OperationBuilder {
public:
  using Value = mlir::Value;
  using Condition = mlir::Value;
  using Bits = mlir::Value;

  OperationBuilder(mlir::Operation *op, const HardwareFunctions &functions)
      : OperationBuilder(op, functions, op->getResult(0).getType()) {}
  OperationBuilder(mlir::Operation *op, const HardwareFunctions &functions,
                   mlir::Type type)
      : b(op->getLoc(), op), functions(functions), type(type) {}

  Value constant(double value) {
    return constant(b.getF32FloatAttr(float(value)), type);
  }
  Value add(Value x, Value y) { return make<arith::AddFOp>(x, y); }
  Value sub(Value x, Value y) { return make<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return make<arith::MulFOp>(x, y); }
  Value div(Value x, Value y) { return make<arith::DivFOp>(x, y); }
  Value fma(Value x, Value y, Value z) {
    return make<mlir::math::FmaOp>(x, y, z);
  }
  Value neg(Value x) { return make<arith::NegFOp>(x); }
  Value abs(Value x) { return callWhole("llvm.fabs", x); }
  Value copySign(Value magnitude, Value sign) {
    return callWhole("llvm.copysign", {magnitude, sign});
  }
  Value less(Value x, Value y) {
    return make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, y);
  }
  Value lessOrNaN(Value x, Value y) {
    return make<arith::CmpFOp>(arith::CmpFPredicate::ULT, x, y);
  }
  Value isNaN(Value x) {
    return make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
  }
  Value roundedSqrt(Value x) { return callWhole("llvm.sqrt", x); }
  Value select(Value condition, Value ifTrue, Value ifFalse) {
    return make<arith::SelectOp>(condition, ifTrue, ifFalse);
  }
  Value clamp(Value x, double low, double high) {
    Value most = constant(high);
    return minNum(callWhole("llvm.maxnum", {x, constant(low)}), most);
  }
  Value min(Value lhs, Value rhs) {
    return callWhole("llvm.minnum", {lhs, rhs},
                     mlir::LLVM::FastmathFlags::nnan);
  }
  Value minNum(Value lhs, Value rhs) {
    return callWhole("llvm.minnum", {lhs, rhs});
  }

  Value toBits(Value x) { return make<arith::BitcastOp>(getBitsType(), x); }
  Value fromBits(Value x) { return make<arith::BitcastOp>(type, x); }
  Value bitsConstant(uint32_t value) {
    return constant(b.getI32IntegerAttr(int32_t(value)), getBitsType());
  }
  Value addBits(Value x, Value y) { return make<arith::AddIOp>(x, y); }
  Value subBits(Value x, Value y) { return make<arith::SubIOp>(x, y); }
  Value subBits(Value x, uint32_t y) { return subBits(x, bitsConstant(y)); }
  Value andBits(Value x, uint32_t y) {
    return make<arith::AndIOp>(x, bitsConstant(y));
  }
  Value orBits(Value x, uint32_t y) {
    return make<arith::OrIOp>(x, bitsConstant(y));
  }
  Value xorBits(Value x, Value y) { return make<arith::XOrIOp>(x, y); }
  Value shiftLeft(Value x, uint32_t count) {
    return make<arith::ShLIOp>(x, bitsConstant(count));
  }
  Value shiftRight(Value x, uint32_t count) {
    return make<arith::ShRUIOp>(x, bitsConstant(count));
  }
  Value mulBits(Value x, Value y) { return make<arith::MulIOp>(x, y); }
  Value mulHighBits(Value lhs, Value rhs) {
    return arith::MulUIExtendedOp::create(b, lhs, rhs).getHigh();
  }
  /// The 32 bits of a scalar of 64 from `first`, for all elements.
  Value half(Value x, int64_t first) {
    Value shift = arith::ConstantOp::create(b, b.getI64IntegerAttr(first));
    Value low = arith::TruncIOp::create(b, b.getI32Type(),
                                        arith::ShRUIOp::create(b, x, shift));
    return llvm::isa<mlir::VectorType>(type)
               ? mlir::vector::BroadcastOp::create(b, type, low).getResult()
               : low;
  }
  Value funnelShift(Value high, Value low, Value count) {
    return make<mlir::LLVM::FshrOp>(high, low, count);
  }
  Value selectBits(Value condition, Value ifTrue, Value ifFalse) {
    return make<arith::SelectOp>(condition, ifTrue, ifFalse);
  }
  Value toNumber(Value x) { return make<arith::SIToFPOp>(type, x); }
  Value lessBits(Value x, Value y) {
    return make<arith::CmpIOp>(arith::CmpIPredicate::ult, x, y);
  }
  Value lessBits(Value x, uint32_t y) { return lessBits(x, bitsConstant(y)); }
  /// A branch that a lane takes if the condition holds for any of its elements.
  /// In it each of those has a branch of its own, so that no registers hold
  /// what several of them need.
  std::pair<Value, Value>
  whereRare(Value condition, Value x,
            llvm::function_ref<std::pair<Value, Value>(Value)> compute,
            Value value, Value bits) {
    llvm::SmallVector<Value> conditions = getElements(b, condition);
    Value any = conditions.front();
    for (Value one : llvm::ArrayRef(conditions).drop_front())
      any = arith::OrIOp::create(b, any, one);
    return branchRarely(any, value, bits, [&]() -> std::pair<Value, Value> {
      auto vector = llvm::dyn_cast<mlir::VectorType>(type);
      if (!vector)
        return compute(x);
      type = vector.getElementType();
      llvm::SmallVector<Value> values = getElements(b, value);
      llvm::SmallVector<Value> allBits = getElements(b, bits);
      llvm::SmallVector<Value> each = getElements(b, x);
      for (size_t i = 0; i < each.size(); ++i)
        std::tie(values[i], allBits[i]) =
            branchRarely(conditions[i], values[i], allBits[i],
                         [&] { return compute(each[i]); });
      type = vector;
      return {mlir::vector::FromElementsOp::create(b, vector, values),
              mlir::vector::FromElementsOp::create(
                  b, llvm::cast<mlir::VectorType>(getBitsType()), allBits)};
    });
  }

  bool isLog2RelativelyAccurate() { return functions.isLog2RelativelyAccurate; }
  Value exp2(Value x) { return call(functions.exp2, x); }
  Value log2(Value x) { return call(functions.log2, x); }
  Value rcp(Value x) { return call(functions.reciprocal, x); }
  Value rsqrt(Value x) { return call(functions.reciprocalRoot, x); }
  Value sqrt(Value x) { return call(functions.root, x); }

  /// Bytes as `Bits`, and the other way round.
  Value fromBytes(Value bytes) {
    return make<arith::ExtUIOp>(getBitsType(), bytes);
  }
  Value toBytes(Value bits) {
    return arith::TruncIOp::create(b, cloneType(bits.getType(), b.getI8Type()),
                                   bits);
  }

  /// Calls an intrinsic that LLVM has for vectors as well. Upstream's
  /// conversion for NVIDIA would turn the operation of the same name, be it
  /// arith's, math's or LLVM's, into a call of the library.
  Value
  callWhole(llvm::StringRef intrinsic, mlir::ValueRange operands,
            mlir::LLVM::FastmathFlags flags = mlir::LLVM::FastmathFlags::none) {
    auto attribute = mlir::LLVM::FastmathFlagsAttr::get(b.getContext(), flags);
    return mlir::LLVM::CallIntrinsicOp::create(b, mlir::TypeRange(type),
                                               b.getStringAttr(intrinsic),
                                               operands, attribute)
        .getResult(0);
  }

  /// Calls the chip's function for each element.
  Value call(llvm::StringRef function, mlir::ValueRange operands) {
    mlir::StringAttr intrinsic = b.getStringAttr(function);
    auto one = [&](mlir::ValueRange elements) -> Value {
      return mlir::LLVM::CallIntrinsicOp::create(b, b.getF32Type(), intrinsic,
                                                 elements)
          .getResult(0);
    };
    auto vector = llvm::dyn_cast<mlir::VectorType>(type);
    if (!vector)
      return one(operands);
    llvm::SmallVector<Value> elements;
    for (int64_t i = 0; i < vector.getNumElements(); ++i)
      elements.push_back(
          one(llvm::map_to_vector(operands, [&](Value operand) -> Value {
            return mlir::vector::ExtractOp::create(b, operand, i);
          })));
    return mlir::vector::FromElementsOp::create(b, vector, elements);
  }

private:
  template <typename Op, typename... Args> Value make(Args... args) {
    return Op::create(b, args...);
  }
  /// What `compute` gives if the condition holds, else what there is.
  std::pair<Value, Value>
  branchRarely(Value condition, Value value, Value bits,
               llvm::function_ref<std::pair<Value, Value>()> compute) {
    condition = mlir::LLVM::ExpectOp::create(
        b, condition, arith::ConstantIntOp::create(b, 0, /*width=*/1));
    auto branch = mlir::scf::IfOp::create(
        b, mlir::TypeRange{value.getType(), bits.getType()}, condition,
        /*withElseRegion=*/true);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    auto [rareValue, rareBits] = compute();
    mlir::scf::YieldOp::create(b, mlir::ValueRange{rareValue, rareBits});
    b.setInsertionPointToStart(branch.elseBlock());
    mlir::scf::YieldOp::create(b, mlir::ValueRange{value, bits});
    return {branch.getResult(0), branch.getResult(1)};
  }
  Value constant(mlir::TypedAttr value, mlir::Type type) {
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
      return arith::ConstantOp::create(
          b, mlir::DenseElementsAttr::get(vector, value));
    return arith::ConstantOp::create(b, value);
  }
  mlir::Type getBitsType() { return cloneType(type, b.getI32Type()); }

  mlir::ImplicitLocOpBuilder b;
  const HardwareFunctions &functions;
  mlir::Type type;
};

} // namespace lnbwd

#endif // LNBWD_LIB_CONVERSION_GPUTOVENDOR_OPERATIONBUILDER_H
