//===- ExpandForChip.cpp - Functions without a library --------------------===//
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

#include "Numbers.h"
#include "SubgroupReductions.h"

#include "lnbwd/Conversion/Passes.h"
#include "lnbwd/Dialect/LNBwd/IR/LNBwdDialect.h"
#include "lnbwd/Target/PassOptions.h"

#include "mlir/Conversion/ArithToAMDGPU/ArithToAMDGPU.h"
#include "mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

namespace lnbwd {
#define GEN_PASS_DEF_EXPANDFORCHIPPASS
#include "lnbwd/Conversion/Passes.h.inc"
} // namespace lnbwd

using namespace mlir;
using namespace lnbwd;

using expansions::ValueBits;
using expansions::ValueReal;

namespace {
struct ExpandForChip : lnbwd::impl::ExpandForChipPassBase<ExpandForChip> {
  void runOnOperation() override;
  Value expand(Operation *op, const HardwareFunctions &hardware);
  Value expandAngle(Operation *op, expansions::Context &context);

  /// Whether the same bits are wanted of every chip.
  bool isPortable = false;
  /// The reduced angles of arguments of sin and cos, for the other of the two.
  DenseMap<Value, std::pair<Value, Value>> angles;
};
} // namespace

static bool isFloat32(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return getElementTypeOrSelf(type).isF32() &&
         (!vector || vector.getRank() == 1);
}

/// Whether a reciprocal that is off by a unit in the last place may stand in
/// for the division: where `afn` says so, and in the sigmoid and what is made
/// of it, whose divisor 1 + exp(...) is no number for which it would be far
/// off.
static bool isByReciprocal(arith::DivFOp op) {
  if (bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::afn))
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

/// The least and the largest magnitude of a float32 that is neither 0, infinite
/// nor NaN, as far as the operation says it that gives it.
static std::pair<double, double> getRange(Value value) {
  APFloat number(0.0f);
  if (matchPattern(value, m_ConstantFloat(&number))) {
    double magnitude = std::fabs(number.convertToDouble());
    return {magnitude, magnitude};
  }
  std::pair<double, double> range = {0, std::numeric_limits<float>::max()};
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp>(op) &&
      matchPattern(op->getOperand(1), m_ConstantFloat(&number))) {
    range.first = std::fmax(0, number.convertToDouble());
  } else if (auto div = dyn_cast_if_present<arith::DivFOp>(op)) {
    auto [least, most] = getRange(div.getLhs());
    auto [first, last] = getRange(div.getRhs());
    range = {least / last, std::fmin(range.second, most / first)};
  } else if (auto widened = dyn_cast_if_present<arith::ExtFOp>(op)) {
    const llvm::fltSemantics &semantics =
        cast<FloatType>(getElementTypeOrSelf(widened.getIn()))
            .getFloatSemantics();
    range = {APFloat::getSmallest(semantics).convertToDouble(),
             APFloat::getLargest(semantics).convertToDouble()};
  }
  return range;
}

/// A division without a branch, if its operands are known to be no numbers that
/// want one; null else.
static Value divideInRange(arith::DivFOp op, expansions::Context &context) {
  auto [least, most] = getRange(op.getLhs());
  auto [first, last] = getRange(op.getRhs());
  double scale = last > 0x1p126 ? 0.25 : 1;
  bool isInRange = first * scale >= 0x1p-126 && least * scale >= 0x1p-60 &&
                   least / last >= 0x1p-126 && most / first <= 0x1p127;
  if (!isInRange)
    return {};
  ValueReal x{&context, op.getLhs()}, y{&context, op.getRhs()};
  if (scale != 1) {
    ValueReal factor = x.like(scale);
    x = x * factor;
    y = y * factor;
  }
  return roundedQuotient(x, y);
}

static bool isSplat(Operation *op) {
  DenseElementsAttr elements;
  return op && matchPattern(op, m_Constant(&elements)) && elements.isSplat();
}

/// Whether all elements of a vector are one number, as far as the operations
/// say it that give it.
static bool isUniform(Value value) {
  SetVector<Value> values;
  values.insert(value);
  for (size_t i = 0; i < values.size(); ++i) {
    Operation *op = values[i].getDefiningOp();
    if (!isa<VectorType>(values[i].getType()) || isSplat(op))
      continue;
    auto broadcast = dyn_cast_if_present<vector::BroadcastOp>(op);
    if (broadcast && !isa<VectorType>(broadcast.getSourceType()))
      continue;
    if (!op || !OpTrait::hasElementwiseMappableTraits(op))
      return false;
    values.insert_range(op->getOperands());
  }
  return true;
}

/// The sine or cosine that `op` is. Branches would hide from later passes that
/// both reduce the same number, or a vector of one number.
Value ExpandForChip::expandAngle(Operation *op, expansions::Context &context) {
  Value operand = op->getOperand(0);
  Type type = operand.getType();
  auto &[radians, quarters] = angles[operand];
  bool isOne = isa<VectorType>(type) && isUniform(operand);
  if (isOne)
    operand = vector::ExtractOp::create(context, operand, 0);
  ValueReal x{&context, operand};
  if (!radians || radians.getDefiningOp()->getBlock() != op->getBlock())
    std::tie(radians, quarters) = reduceAngle(x);
  expansions::Angle<ValueReal> angle{{&context, radians}, {&context, quarters}};
  Value result =
      isa<math::SinOp>(op) ? sin(x, angle) : expansions::cos<ValueReal>(angle);
  return isOne ? vector::BroadcastOp::create(context, type, result).getResult()
               : result;
}

/// `x` to a constant power; null for any other.
static Value expandPower(ValueReal x, Value power) {
  APFloat exponent(0.0f);
  APInt integer;
  if (matchPattern(power, m_ConstantInt(&integer)))
    return powi(x, integer.getSExtValue());
  if (!matchPattern(power, m_ConstantFloat(&exponent)) || !exponent.isFinite())
    return {};
  return pow(x, exponent.convertToFloat());
}

/// The bits of one row and column that only its number and a seed determine.
static Value expandPhilox(PhiloxOp op, expansions::Context &context) {
  ValueBits counter{&context, op.getCounter()};
  auto takeHalf = [&](int64_t first) -> ValueBits {
    Value shift = arith::ConstantIntOp::create(context, first, 64);
    Value shifted = arith::ShRUIOp::create(context, op.getSeed(), shift);
    return {&context,
            arith::TruncIOp::create(context, context.getI32Type(), shifted)};
  };
  ValueBits zero = counter.like(0), low = takeHalf(0), high = takeHalf(32);
  return expansions::philox<ValueBits>({counter, zero, zero, zero},
                                       {low, high});
}

/// The value of `op` in operations that the chip has; null if it stays.
Value ExpandForChip::expand(Operation *op, const HardwareFunctions &hardware) {
  if (op->getNumResults() != 1 ||
      (!isFloat32(op->getResult(0).getType()) && !isa<PhiloxOp>(op)))
    return {};
  auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
  bool isApproximate =
      flags && bitEnumContainsAny(flags.getFastMathFlagsAttr().getValue(),
                                  arith::FastMathFlags::afn);
  expansions::Context context(op, hardware, isApproximate, isPortable);
  // A row has one scalar, for which correct rounding costs little.
  bool isExact = isPortable || (!isApproximate &&
                                !isa<VectorType>(op->getResult(0).getType()));
  auto operand = [&](unsigned index) -> ValueReal {
    return {&context, op->getOperand(index)};
  };
  ValueReal x{&context, op->getNumOperands() ? op->getOperand(0) : Value()};
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](PhiloxOp philox) { return expandPhilox(philox, context); })
      .Case([&](arith::DivFOp div) -> Value {
        if (!isPortable && isByReciprocal(div))
          return quotient(x, operand(1));
        if (hardware.division.empty())
          return {};
        return bitEnumContainsAny(div.getFastmath(), arith::FastMathFlags::arcp)
                   ? callForEach(hardware.division, x, operand(1))
                   : divideInRange(div, context);
      })
      .Case([&](math::ExpOp) { return exp(x); })
      .Case([&](math::Exp2Op) { return exp2(x); })
      .Case([&](math::ExpM1Op) { return expm1(x); })
      .Case([&](math::LogOp) { return log(x); })
      .Case([&](math::Log2Op) { return log2(x); })
      .Case([&](math::Log1pOp) { return log1p(x); })
      .Case([&](math::TanhOp) { return tanh(x); })
      .Case([&](math::ErfOp) { return erf(x); })
      .Case<math::SinOp, math::CosOp>(
          [&](auto) { return expandAngle(op, context); })
      .Case([&](math::SqrtOp) { return isExact ? roundedSqrt(x) : sqrt(x); })
      .Case([&](math::RsqrtOp) {
        return isExact ? 1 / roundedSqrt(x) : rsqrt(x);
      })
      .Case<math::PowFOp, math::FPowIOp>(
          [&](auto pow) { return expandPower(x, pow.getRhs()); })
      .Case([&](math::CopySignOp) { return copySign(x, operand(1)); })
      .Case([&](arith::MaxNumFOp) { return maxNum(x, operand(1)); })
      .Case([&](arith::MinNumFOp) { return minNum(x, operand(1)); })
      .Case([&](math::AbsFOp) { return abs(x); })
      .Case([&](math::FloorOp) { return call("llvm.floor", x); })
      .Case([&](math::CeilOp) { return call("llvm.ceil", x); })
      .Case([&](math::TruncOp) { return call("llvm.trunc", x); })
      .Case([&](math::RoundEvenOp) { return call("llvm.roundeven", x); })
      .Default(Value());
}

static bool isFloat8(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type)) &&
         getElementTypeOrSelf(type).getIntOrFloatBitWidth() == 8;
}

/// What NVIDIA's instructions call a format.
static std::string getPairName(Type type) {
  return isa<Float8E4M3FNType>(getElementTypeOrSelf(type)) ? "e4m3x2"
                                                           : "e5m2x2";
}

/// Pairs of bytes as halves of a vector of an even number, for a value of any
/// number of elements.
static VectorType getPairType(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  int64_t count = vector ? vector.getNumElements() : 1;
  return VectorType::get({(count + 1) / 2},
                         IntegerType::get(type.getContext(), 16));
}

/// Of `from`, bytes in pairs, those that a value of `type` has.
static Value takeBytes(ImplicitLocOpBuilder &b, Value pairs, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  int64_t even = 2 * cast<VectorType>(pairs.getType()).getNumElements();
  Value bytes = vector::BitCastOp::create(
      b, VectorType::get({even}, b.getI8Type()), pairs);
  if (!vector)
    return vector::ExtractOp::create(b, bytes, 0);
  if (vector.getNumElements() == even)
    return bytes;
  return vector::ExtractStridedSliceOp::create(
      b, bytes, /*offsets=*/0, vector.getNumElements(), /*strides=*/1);
}

/// NVIDIA's instructions convert two elements, and saturate.
static Value convertInPairs(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Value x = op->getOperand(0);
  Type type = op->getResult(0).getType();
  auto call = [&](const std::string &name, Type result, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(
               b, result, b.getStringAttr("llvm.nvvm." + name), operands)
        .getResult(0);
  };
  if (isa<arith::TruncFOp>(op)) {
    SmallVector<Value> elements = getElements(b, x), pairs;
    if (elements.size() % 2)
      elements.push_back(elements.back());
    for (size_t i = 0; i < elements.size(); i += 2)
      pairs.push_back(call("ff.to." + getPairName(type) + ".rn", b.getI16Type(),
                           {elements[i + 1], elements[i]}));
    Value all = vector::FromElementsOp::create(b, getPairType(type), pairs);
    return arith::BitcastOp::create(b, type, takeBytes(b, all, type));
  }
  auto half = VectorType::get({2}, b.getF16Type());
  auto wide = VectorType::get({2}, b.getF32Type());
  SmallVector<Value> bytes = getElements(
      b, arith::BitcastOp::create(b, cloneType(x.getType(), b.getI8Type()), x));
  if (bytes.size() % 2)
    bytes.push_back(bytes.back());
  auto even = VectorType::get({int64_t(bytes.size())}, b.getI8Type());
  Value pairs = vector::BitCastOp::create(
      b, getPairType(type), vector::FromElementsOp::create(b, even, bytes));
  SmallVector<Value> elements;
  for (Value pair : getElements(b, pairs)) {
    Value halves = call(getPairName(x.getType()) + ".to.f16x2.rn", half, pair);
    llvm::append_range(elements,
                       getElements(b, arith::ExtFOp::create(b, wide, halves)));
  }
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return elements.front();
  elements.resize(size_t(vector.getNumElements()));
  return vector::FromElementsOp::create(b, vector, elements);
}

/// A conversion between float8 and float32: by the chip's instructions where it
/// has them for the format, or else in integers, with the same bits. What is
/// beyond the largest number becomes that. Null if it stays.
static Value convertFloat8(Operation *op, const HardwareFunctions &hardware,
                           const ChipInfo &chip) {
  Value x = op->getOperand(0);
  Type type = op->getResult(0).getType();
  bool isNarrowing = isa<arith::TruncFOp>(op);
  Type narrow = isNarrowing ? type : x.getType();
  auto format = cast<FloatType>(getElementTypeOrSelf(narrow));
  bool isOCP = isa<Float8E4M3FNType, Float8E5M2Type>(format);
  bool isFNUZ = isa<Float8E4M3FNUZType, Float8E5M2FNUZType>(format);
  bool isExponent = isa<Float8E8M0FNUType>(format);
  bool hasInstructions = (isOCP && chip.float8Unit == Float8Unit::OCP) ||
                         (isFNUZ && chip.float8Unit == Float8Unit::FNUZ);
  if (hasInstructions && chip.backend == Backend::NVPTX)
    return convertInPairs(op);
  expansions::Context context(op, hardware);
  ImplicitLocOpBuilder &b = context;
  ValueReal real{&context, x};
  const llvm::fltSemantics &semantics = format.getFloatSemantics();
  APFloat largest = APFloat::getLargest(semantics);
  if (hasInstructions) {
    // Upstream has the instructions, which make NaN of what is too large.
    if (isNarrowing) {
      ValueReal most = real.like(largest.convertToDouble());
      Value isLarge = most < abs(real);
      op->setOperand(0, select(isLarge, copySign(most, real), real));
    }
    return {};
  }
  expansions::Float8 facts{
      llvm::APFloatBase::semanticsPrecision(semantics) - 1,
      uint32_t(1 - llvm::APFloatBase::semanticsMinExponent(semantics)),
      uint32_t(largest.bitcastToAPInt().getZExtValue())};
  auto inBytes = [&](Type like) { return cloneType(like, b.getI8Type()); };
  if (isNarrowing) {
    Value bits = isExponent ? toExponent(real) : toFloat8(real, facts);
    Value bytes = arith::TruncIOp::create(b, inBytes(type), bits);
    return arith::BitcastOp::create(b, type, bytes);
  }
  // What was just rounded needs no bytes: those would be taken apart, where the
  // elements of a block are one.
  auto cast = x.getDefiningOp<arith::BitcastOp>();
  auto rounded =
      cast ? cast.getIn().getDefiningOp<arith::TruncIOp>() : arith::TruncIOp();
  bool isRounded =
      rounded && getElementTypeOrSelf(rounded.getIn().getType()).isInteger(32);
  ValueBits bits{&context, {}};
  if (isRounded) {
    bits.value = rounded.getIn();
    bits = bits & 0xff;
  } else {
    Value bytes = arith::BitcastOp::create(b, inBytes(narrow), x);
    bits.value =
        arith::ExtUIOp::create(b, cloneType(narrow, b.getI32Type()), bytes);
  }
  return isExponent ? fromExponent(bits) : fromFloat8(bits, facts);
}

/// A conversion between float8 and another narrow type goes through float32.
static Operation *widenFloat8(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Value x = op->getOperand(0);
  Type type = op->getResult(0).getType();
  Type wide = cloneType(type, b.getF32Type());
  if (isa<arith::TruncFOp>(op)) {
    if (x.getType() != wide)
      op->setOperand(0, arith::ExtFOp::create(b, wide, x));
    return op;
  }
  if (type == wide)
    return op;
  auto widened = arith::ExtFOp::create(b, wide, x);
  op->replaceAllUsesWith(
      ValueRange(arith::TruncFOp::create(b, type, widened).getResult()));
  op->erase();
  return widened;
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

/// Replaces `conversions` between floats of 8 bits and others.
static void expandConversions(ArrayRef<Operation *> conversions,
                              const HardwareFunctions &hardware,
                              const ChipInfo &chip, MLIRContext *context) {
  SmallVector<Operation *> left;
  for (Operation *op : llvm::map_range(conversions, widenFloat8))
    if (Value converted = convertFloat8(op, hardware, chip)) {
      op->replaceAllUsesWith(ValueRange(converted));
      op->erase();
    } else {
      left.push_back(op);
    }
  RewritePatternSet patterns(context);
  FailureOr<amdgpu::Chipset> chipset = amdgpu::Chipset::parse(chip.name);
  if (!left.empty() && succeeded(chipset)) {
    arith::populateArithToAMDGPUConversionPatterns(
        patterns, /*convertFP8Arithmetic=*/true, /*saturateFP8Truncf=*/false,
        /*allowPackedF16Rtz=*/false, /*supportsScaledExtTrunc=*/false,
        *chipset);
    (void)applyOpPatternsGreedily(left, std::move(patterns));
  }
}

/// Whether each function of `root` has an instruction. Names one that has none.
static bool hasInstructions(Operation *root) {
  WalkResult result = root->walk([](Operation *op) {
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
  return !result.wasInterrupted();
}

void ExpandForChip::runOnOperation() {
  FailureOr<const ChipInfo *> info = getChip(getOperation());
  if (failed(info))
    return signalPassFailure();
  FailureOr<int64_t> lowered = lowerSubgroupReductions(getOperation(), **info);
  if (failed(lowered))
    return signalPassFailure();
  numReductions += *lowered;
  const HardwareFunctions &hardware =
      (*info)->backend == Backend::AMDGPU ? amdFunctions : nvidiaFunctions;
  // The kernels of a module are those of one function.
  isPortable = false;
  getOperation()->walk([&](FunctionOpInterface function) {
    auto kernel = function->getAttrOfType<KernelInfoAttr>(kernelInfoAttr);
    isPortable |= kernel && kernel.getCanonical();
  });
  angles.clear();
  // Multiply-adds are written out by now, and no other operation is one.
  if (isPortable)
    dropFastMath(getOperation());

  // Divisions first, the last before those of their operands, while their
  // operands can still be told.
  SmallVector<Operation *> divisions, functions, conversions;
  getOperation()->walk([&](Operation *op) {
    auto philox = dyn_cast<PhiloxOp>(op);
    if (isa<arith::DivFOp>(op))
      divisions.push_back(op);
    else if (isa<arith::TruncFOp, arith::ExtFOp>(op) &&
             (isFloat8(op->getOperand(0).getType()) ||
              isFloat8(op->getResult(0).getType())))
      conversions.push_back(op);
    else if (philox && isa<VectorType>(philox.getType()))
      unroll(philox, functions);
    else if (isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
             isa<arith::MaxNumFOp, arith::MinNumFOp, PhiloxOp>(op))
      functions.push_back(op);
  });
  numFunctions += functions.size();
  std::reverse(divisions.begin(), divisions.end());
  divisions.append(functions);
  for (Operation *op : divisions)
    if (Value expanded = expand(op, hardware)) {
      op->replaceAllUsesWith(ValueRange(expanded));
      op->erase();
    }

  expandConversions(conversions, hardware, **info, &getContext());
  if (!hasInstructions(getOperation()))
    signalPassFailure();
}
