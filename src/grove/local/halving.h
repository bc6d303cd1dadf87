#pragma once

namespace grove {

/// A step that was halved this often has become too short to change a double: give up instead.
inline constexpr int max_halvings = 40;

}  // namespace grove
