//===- Observer.cpp - Who looks at a launch -------------------------------===//
//
// Part of the lnbwd project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The classes' one place.
//
//===----------------------------------------------------------------------===//

#include "Core/Observer.h"

using namespace lnbwd::sim;

WaveObserver::~WaveObserver() = default;
const Region *WaveObserver::argumentOf(const Inst *) const { return nullptr; }
WorkgroupObserver::~WorkgroupObserver() = default;
LaunchObserver::~LaunchObserver() = default;
