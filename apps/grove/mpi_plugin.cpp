// The plug-in with MPI.
#include "grove/runtime/cluster.h"
#include "grove/runtime/mpi/cluster.h"
#include "plugin.h"

namespace grove::app {
namespace {

class MpiSession final : public ClusterSession {
 public:
  Cluster& cluster() override { return session_.cluster(); }
  void abort(int exit_code) override { session_.abort(exit_code); }

 private:
  mpi::Session session_;
};

}  // namespace

ClusterSession* grove_plugin_session() { return new MpiSession; }

}  // namespace grove::app
