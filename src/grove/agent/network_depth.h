#pragma once

namespace grove {

/// How deep the network is, as seen from agent 0 and learnt from neighbours: the number of links
/// from agent 0 to the agent farthest from it. Each message carries the sender's own distance from
/// agent 0 and the largest distance it knows of. Distances only shrink and the depth only grows,
/// so lost, late and repeated messages do no harm.
class NetworkDepth {
 public:
  NetworkDepth(bool is_root, double network_size)
      : hops_(is_root ? 0 : unknown), largest_(static_cast<float>(network_size)) {}

  void set_network_size(double size) { largest_ = static_cast<float>(size); }
  void become_root() { hops_ = 0; }  ///< for good: the depth is a rough measure

  double word() const;  ///< both numbers, in single precision
  void hear(double word);
  double depth() const { return depth_; }  ///< so far; 0 before agent 0 has been heard of

 private:
  static constexpr float unknown = -1;

  float hops_;  ///< of this agent from agent 0
  float depth_ = 0;
  float largest_;  ///< no distance can be longer: what says otherwise is not believed
};

}  // namespace grove
