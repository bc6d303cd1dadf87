#pragma once

#include <optional>

#include "grove/agent/agent.h"
#include "grove/agent/answer_certificate.h"
#include "grove/sums/tree_sums.h"

namespace grove {

/// What the waves of tree-newton ask.
enum class NewtonWave : std::uint8_t {
  intro,    ///< each agent's own minimizer, as a quadratic model
  fresh,    ///< value, gradient and Hessian at an accepted point
  trial,    ///< the same at a point plus a step, and values at shorter steps
  certify,  ///< the same at what may be the answer, and with a step a bound on the gap
  done,     ///< the answer, with its certificate
  poll      ///< the agents' estimates, of a method with links
};

/// Lengths of a trial step at which values are summed: 1, 1/2, ..., 2^-12.
inline constexpr std::size_t trial_lengths = 13;
inline double trial_length(std::size_t k) { return 1.0 / static_cast<double>(std::size_t{1} << k); }

/// What travels in the place of larger numbers, and of those that are not finite: sums stay finite,
/// and peers refuse messages that are not. The second one is for Hessians in single precision.
inline constexpr double overflow = 1e100, single_overflow = 1e37;

/// A question, read.
struct NewtonQuestion {
  NewtonWave kind = NewtonWave::fresh;
  bool wants_hessian = false;
  bool double_hessian = false;                   ///< the Hessian travels in double precision
  bool majorizer = false;                        ///< where f has one: in the place of its Hessian
  Vector base;                                   ///< the accepted point
  Vector step;                                   ///< of a trial, or to what may be the answer
  std::optional<AnswerCertificate> certificate;  ///< with done only
  std::vector<std::uint32_t> support;            ///< coordinates of the Hessian; none: all
};

Question encode(const NewtonQuestion& question);
/// Nothing where the numbers are not those of a question in that dimension, or not finite.
std::optional<NewtonQuestion> decode(const Question& question, Index dimension);

/// A sum of answers, read.
struct NewtonTotals {
  Vector values;  ///< at the point, or at the lengths of a trial; then at a certified base
  double value_at_zero = 0;
  double rows = 0;
  Vector gradient;
  std::optional<Matrix> hessian;  ///< both triangles
  /// Of the step to what may be the answer: the sum of fenchel_gap(), and the slope it belongs to.
  double gap = 0;
  double gaps_known = 0;  ///< agents whose objective has a conjugate
  Vector slope;

  bool overflowed() const;  ///< gradient or Hessian
};

/// What the sums of a question, and the Newton step from its point, say of that point as an answer.
/// The bound on the gap comes from the step before: a bound of the gap at the base less the
/// decrease since.
AnswerCertificate certificate_at(const NewtonQuestion& question, const NewtonTotals& totals,
                                 const Vector& step, const Regularizer& total_regularizer,
                                 std::size_t members);
/// The point at which gradient and Hessian of a question are taken.
Vector point_of(const NewtonQuestion& question, const Regularizer& regularizer);

/// One agent's part: answers questions from its own samples.
class NewtonAnswers {
 public:
  NewtonAnswers(std::shared_ptr<const Objective> objective, Regularizer share);

  Answers answer(const NewtonQuestion& question, ObjectiveScratch& scratch, Cost& cost);
  /// Nothing where the numbers are not those of an answer to that question.
  std::optional<NewtonTotals> read(const Answers& total, const NewtonQuestion& question) const;
  const Regularizer& share() const { return share_; }

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  struct Sample {
    double value;
    Vector gradient;
    Matrix hessian;
  };
  enum class Curvature { none, hessian, majorizer };
  Sample sample(const Vector& point, Curvature curvature, ObjectiveScratch& scratch,
                Cost& cost) const;
  double value(const Vector& point, ObjectiveScratch& scratch, Cost& cost) const;
  void append_gap(const NewtonQuestion& question, ObjectiveScratch& scratch, Cost& cost,
                  std::vector<double>& numbers) const;
  Vector own_minimizer(const Vector& start, ObjectiveScratch& scratch, Cost& cost) const;
  void pack(const Matrix& hessian, const std::vector<std::uint32_t>& support,
            std::vector<double>& numbers) const;

  std::shared_ptr<const Objective> objective_;
  Regularizer share_;
  std::optional<double> value_at_zero_;
};

}  // namespace grove
