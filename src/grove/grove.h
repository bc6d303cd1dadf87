#pragma once

// All that programs use of Grove, but for clusters (grove/mpi.h) and peers (grove/peer.h).
#include "grove/problem/smooth_objective.h"
#include "grove/record/comparison.h"
#include "grove/record/model.h"
#include "grove/record/summary.h"
#include "grove/train/fit_options.h"
#include "grove/train/problem.h"
