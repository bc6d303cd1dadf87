#pragma once

// One agent of a network of sites.
#include "grove/peer/peer.h"
