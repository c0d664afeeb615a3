#include "almond/solver/setting_fields.hpp"

#include "almond/base/check.hpp"

namespace almond {

const std::map<std::string, SettingField>& setting_fields() {
  static const std::map<std::string, SettingField> fields = {
      {"solver", &Settings::solver},
      {"tol", &Settings::tol},
      {"max_iterations", &Settings::max_iterations},
      {"max_work", &Settings::max_work},
      {"crowd_tol", &Settings::crowd_tol},
      {"budget_ms", &Settings::budget_ms},
      {"warm_start", &Settings::warm_start},
      {"threads", &Settings::threads},
      {"trace", &Settings::trace},
      {"prefer_stick", &Settings::prefer_stick},
      {"fixed_iterations", &Settings::fixed_iterations},
      {"canal_c0", &Settings::canal_c0},
      {"canal_kappa", &Settings::canal_kappa},
      {"canal_zeta", &Settings::canal_zeta},
      {"canal_c_max", &Settings::canal_c_max},
      {"canal_inner_tol", &Settings::canal_inner_tol},
      {"canal_polish", &Settings::canal_polish},
      {"canal_inner", &Settings::canal_inner},
      {"admm_c0", &Settings::admm_c0},
      {"admm_gamma", &Settings::admm_gamma},
      {"admm_relax", &Settings::admm_relax},
      {"admm_anderson", &Settings::admm_anderson},
      {"admm_dense", &Settings::admm_dense},
      {"admm_aba", &Settings::admm_aba},
      {"admm_split_bodies", &Settings::admm_split_bodies},
      {"admm_pseudo_density", &Settings::admm_pseudo_density},
      {"pgs_omega", &Settings::pgs_omega},
      {"pgs_anderson", &Settings::pgs_anderson},
  };
  return fields;
}

InnerSolver inner_from_string(const std::string& text, const std::string& place) {
  if (text == "newton") return InnerSolver::kNewton;
  if (text == "cg") return InnerSolver::kConjugateGradient;
  if (text == "apg") return InnerSolver::kAcceleratedGradient;
  throw Error(place + ": expected newton, cg or apg");
}

}  // namespace almond
