#pragma once
// Figures of an outcome by name.

#include "almond/base/types.hpp"
#include "scenes/scene.hpp"

namespace almond::scenes {

/// NaN where the scene gives no such figure.
[[nodiscard]] inline double metric_of(const Outcome& outcome, const std::string& name) {
  for (const Metric& metric : outcome.metrics)
    if (metric.name == name) return metric.value;
  return kNaN;
}

}  // namespace almond::scenes
