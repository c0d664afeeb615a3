#include "almond/sim/option_fields.hpp"

namespace almond {

std::map<std::string, StepField> step_fields(StepOptions& options) {
  return {{"dt", &options.dt},
          {"theta", &options.theta},
          {"erp", &options.erp},
          {"closure_erp", &options.closure_erp},
          {"max_correction", &options.max_correction},
          {"restitution_threshold", &options.restitution_threshold},
          {"margin", &options.collision.margin},
          {"max_points_per_pair", &options.collision.max_points_per_pair},
          {"max_points_per_sdf_pair", &options.collision.max_points_per_sdf_pair}};
}

}  // namespace almond
