#include "apps/run_statistics.hpp"

#include <algorithm>
#include <cmath>

#include "almond/solver/certificate.hpp"

namespace almond::app {

Spread make_spread(std::vector<double> values) {
  if (values.empty()) return {};
  for (double& value : values) value = std::isfinite(value) ? value : kInfinity;
  std::sort(values.begin(), values.end());
  const std::size_t count = values.size(), middle = count / 2;
  Spread spread;
  spread.median = count % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
  spread.p95 = values[(95 * count + 99) / 100 - 1];  // nearest rank: at least 95 % of the values are no larger
  spread.max = values.back();
  return spread;
}

void RunStatistics::add(const StepReport& report) {
  step_ms.push_back(report.step_ms);
  solve_ms.push_back(report.solve_ms);
  collide_ms.push_back(report.collide_ms);
  residual.push_back(report.residual);
  penetration_mm.push_back(1e3 * report.penetration);
  opening.push_back(report.opening);
  contacts.push_back(report.contacts);
  for (std::size_t i = 0; i < kStatuses.size(); ++i) status_counts[i] += report.status == kStatuses[i] ? 1 : 0;
  dropped_contacts += report.dropped_contacts;
  reduced_contacts += report.reduced_contacts;
  suspicious_depths += report.suspicious_depths;
  jammed += report.jammed ? 1 : 0;
  passed += report.passed > 0 ? 1 : 0;
  divided += report.parts > 1 ? 1 : 0;
  overdone += report.impulse_ratio > kMostImpulseRatio ? 1 : 0;
  held_contacts = std::max(held_contacts, report.held_contacts);
  if (report.energy_limited == 0) return;
  energy_dt = energy_limited == 0 ? report.energy_dt : std::min(energy_dt, report.energy_dt);
  ++energy_limited;
}

}  // namespace almond::app
