#pragma once

#include "grove/problem/loss.h"
#include "grove/setup/option.h"

namespace grove {

/// --loss, which is also how models name their loss.
Option loss_option(Loss& target, std::vector<LossEntry> losses = built_in_losses());

}  // namespace grove
