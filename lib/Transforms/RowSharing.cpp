//===- RowSharing.cpp - What is computed once -----------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each choice is a substitution in all forms at once; a list of candidates that
// the program itself gives is gone through once, so that there is an end.
//
//===----------------------------------------------------------------------===//

#include "RowSharing.h"

#include "NeededForms.h"
#include "RowSubstitutions.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

using namespace mlir;
using namespace lnbwd;

namespace {
class Sharing {
public:
  Sharing(RowForms &forms, SmallVectorImpl<const Form *> &outputs,
          ArrayRef<const Form *> values, ArrayRef<const Form *> summedRows)
      : forms(forms), outputs(outputs), values(values), rows(summedRows) {}

  void run() {
    // What is applied replaces elements of the lists, and adds none.
    for (const Form *row : rows)
      shareRowSum(row);
    shareScalars();
    llvm::DenseSet<const Form *> tried;
    for (const Form *value : values)
      if (tried.insert(value).second)
        shareScaledRow(value);
    shareSums();
    NeededForms before(outputs);
    MergeRowSums merge(forms, before);
    apply(merge);
  }

private:
  SmallVector<const Form *> map(Substitution &substitution) {
    SmallVector<const Form *> result;
    for (const Form *form : outputs)
      result.push_back(substitution.map(form));
    return result;
  }
  /// What the outputs need as they are now.
  const NeededForms &getNeeded() {
    if (!needed)
      needed.emplace(outputs);
    return *needed;
  }
  void apply(Substitution &substitution) {
    needed.reset();
    for (const Form *&form : outputs)
      form = substitution.map(form);
    for (auto *list : {&values, &rows})
      for (const Form *&form : *list)
        form = substitution.map(form);
  }

  /// Keeps the sum of a row that is a sum itself whole, if that takes fewer.
  void shareRowSum(const Form *row) {
    if (row->terms.size() < 2 || row->getLength() == 1)
      return;
    UseRowSum use(forms, row);
    if (!use.isUseful(getNeeded()))
      return;
    if (NeededForms(map(use)).countRowSums() < getNeeded().countRowSums())
      apply(use);
  }

  /// An output c * a is computed in any case: what needs a takes it from there.
  /// So a mean that is put out is what the rows' deviations are from.
  void shareScalars() {
    for (const Form *form : outputs) {
      if (!form->isEven() || form->getScalar().size() != 1)
        continue;
      Monomial scale = form->getScalar().front();
      if (scale.factors.size() != 1 || scale.factors.front().second != 1 ||
          std::abs(scale.coefficient) == 1)
        continue;
      const Atom *scalar = scale.factors.front().first;
      scale.factors.clear();
      forms.position = scalar->position;
      UseScaledScalar use(forms, scalar, scale);
      apply(use);
    }
  }

  /// Takes a row with a scale as one thing, if that costs less; or as much, but
  /// exponents get smaller or it has to be computed in any case.
  void shareScaledRow(const Form *form) {
    if (form->isEven())
      return;
    forms.position = form->position;
    auto [scale, row] = forms.split(form);
    if (scale.size() != 1 || scale.front().factors.empty())
      return;
    UseScaledRow use(forms, row, scale.front());
    const NeededForms &before = getNeeded();
    bool isThere = before.contains(form);
    if (!use.isUseful(before, isThere))
      return;
    SmallVector<const Form *> changed = map(use);
    if (ArrayRef(changed) == ArrayRef<const Form *>(outputs))
      return;
    NeededForms after(changed);
    unsigned cost = before.countRowOperations(),
             changedCost = after.countRowOperations();
    bool isBetter = changedCost < cost ||
                    after.countPowers() < before.countPowers() || isThere;
    if (after.countRowSums() <= before.countRowSums() &&
        after.countPowers() <= before.countPowers() && changedCost <= cost &&
        isBetter)
      apply(use);
  }

  /// Takes a sum as one thing, if it is a part of others and that is cheaper;
  /// longer ones first.
  void shareSums() {
    llvm::SetVector<const Form *> sums;
    for (const Form *form : values)
      if (!form->isEven() && form->terms.size() > 1)
        sums.insert(form);
    SmallVector<const Form *> sorted(sums.begin(), sums.end());
    llvm::stable_sort(sorted, [](const Form *lhs, const Form *rhs) {
      return lhs->terms.size() > rhs->terms.size();
    });
    for (const Form *sum : sorted) {
      forms.position = 0;
      for (const Term &term : sum->terms)
        if (term.row)
          forms.position = std::max(forms.position, term.row->position);
      UseSum use(forms, sum);
      if (!use.isUseful(getNeeded()))
        continue;
      SmallVector<const Form *> changed = map(use);
      if (NeededForms(changed).countRowOperations() <
          getNeeded().countRowOperations()) {
        outputs.assign(changed.begin(), changed.end());
        needed.reset();
      }
    }
  }

  RowForms &forms;
  SmallVectorImpl<const Form *> &outputs;
  SmallVector<const Form *> values, rows;
  std::optional<NeededForms> needed;
};

} // namespace

void lnbwd::shareForms(RowForms &forms, SmallVectorImpl<const Form *> &outputs,
                       ArrayRef<const Form *> values,
                       ArrayRef<const Form *> summedRows) {
  Sharing(forms, outputs, values, summedRows).run();
}
