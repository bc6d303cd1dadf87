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
  certify,  ///< the same as fresh, at what may be the answer
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
  Vector base;                                   ///< the accepted point
  Vector step;                                   ///< of a trial; empty elsewhere
  std::optional<AnswerCertificate> certificate;  ///< with done only
  std::vector<std::uint32_t> support;            ///< coordinates of the Hessian; none: all
};

Question encode(const NewtonQuestion& question);
/// Nothing where the numbers are not those of a question in that dimension, or not finite.
std::optional<NewtonQuestion> decode(const Question& question, Index dimension);

/// A sum of answers, read.
struct NewtonTotals {
  Vector values;  ///< at the point, or at the lengths of a trial
  double value_at_zero = 0;
  double rows = 0;
  Vector gradient;
  std::optional<Matrix> hessian;  ///< both triangles

  bool overflowed() const;  ///< gradient or Hessian
};

/// What the sums at a point, and the Newton step from there, say of it as an answer. A bound on the
/// gap (Fenchel duality) takes one more number of every agent, at the point and the step: this is
/// where its sum belongs.
AnswerCertificate certificate_at(const Vector& point, const NewtonTotals& totals,
                                 const Vector& step, const Regularizer& total_regularizer,
                                 std::size_t members);

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
  Sample sample(const Vector& point, bool hessian, ObjectiveScratch& scratch, Cost& cost) const;
  double value(const Vector& point, ObjectiveScratch& scratch, Cost& cost) const;
  Vector own_minimizer(const Vector& start, ObjectiveScratch& scratch, Cost& cost) const;
  void pack(const Matrix& hessian, const std::vector<std::uint32_t>& support,
            std::vector<double>& numbers) const;

  std::shared_ptr<const Objective> objective_;
  Regularizer share_;
  std::optional<double> value_at_zero_;
};

}  // namespace grove
