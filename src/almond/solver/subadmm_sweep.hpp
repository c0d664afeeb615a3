#pragma once
// One SubADMM iteration after the other, without any strategy: layout, factor, work sharing, the ring of states.
//
// The states y lie in a ring of columns. Iterations go from column to column; when the ring is full of states in a row
// it can be extrapolated into column 0.

#include "almond/solver/subadmm.hpp"

namespace almond {

class SubAdmmSweep {
 public:
  SubAdmmSweep(const Island& island, const SubAdmmOptions& options, SubAdmmWorkspace& workspace)
      : island_(island), options_(options), ws_(workspace) {}

  /// Sizes everything; factor() and start_from() must follow.
  void lay_out();
  /// For the penalty ws.c; false if a factorisation failed.
  bool factor();
  /// y = Ĵ v - λ with v = b + Jᵀλ, in column 0.
  void start_from(const double* lambda);

  /// s from y, y_next from both.
  void iterate();
  /// The next state becomes the current one.
  void advance() { at_ = at_ + 1 < columns_ ? at_ + 1 : 0; }
  /// The current state is what was put into column 0.
  void go_to_first() { at_ = 0; }
  /// Whether all columns hold states in a row and Anderson acceleration is on.
  [[nodiscard]] bool is_full() const { return window_ >= 2 && at_ + 1 == columns_; }
  [[nodiscard]] bool is_first() const { return at_ == 0; }
  /// Puts the extrapolated state into column 0 and keeps the plain one in ws.saved. False: nothing done.
  bool extrapolate();

  [[nodiscard]] int size() const { return size_; }
  double* first() { return ws_.history.data(); }
  double* y() { return column(at_); }
  double* y_next() { return column(at_ + 1 < columns_ ? at_ + 1 : 0); }
  /// ‖y_next - y‖ and ‖y - y before‖, block by block: the same bits for any number of workers.
  double step() { return distance(y_next(), y()); }
  double step_before() { return distance(y(), column(at_ - 1)); }
  void export_lambda(double* lambda) { almond::export_lambda(island_, ws_.slacks, ws_.sqrt_beta, y(), lambda); }

 private:
  double* column(int k) { return ws_.history.data() + static_cast<std::ptrdiff_t>(k) * stride_; }
  void split_work();
  void update_nodes(int begin, int end);
  double distance(const double* x, const double* y);
  /// f(begin, end) on blocks of kAndersonBlock rows, each worker about where its nodes are.
  template <class F>
  void for_blocks(F&& f);

  const Island& island_;
  const SubAdmmOptions& options_;
  SubAdmmWorkspace& ws_;
  WorkerPool* pool_ = nullptr;
  int size_ = 0, stride_ = 0, num_blocks_ = 0, columns_ = 2, window_ = 0;
  int at_ = 0;  // column of the current state
};

}  // namespace almond
