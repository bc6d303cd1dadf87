#include "grove/record/model.h"

#include <cmath>

#include <gtest/gtest.h>

namespace grove {
namespace {

Vector vector_of(std::initializer_list<double> values) {
  return Eigen::Map<const Vector>(values.begin(), static_cast<Index>(values.size()));
}

Model classifier() {
  return {.version = "1.2.3",
          .loss = LogisticLoss{},
          .coefficients = vector_of({1.0 / 3, 0, -0.1}),
          .intercept = 0.7,
          .labels = LabelNames{-1, 1},
          .l1 = 2e-6,
          .l2 = 1e-3,
          .objective = 0.1 + 0.2};
}

TEST(Model, ReadsBackExactly) {
  const Model model = classifier();
  const auto back = model_from_json(nlohmann::json::parse(to_json(model).dump()));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->coefficients, model.coefficients);
  EXPECT_EQ(back->intercept, 0.7);
  EXPECT_EQ(back->labels->negative, -1);
  EXPECT_EQ(back->labels->positive, 1);
  EXPECT_EQ(back->version, "1.2.3");
  EXPECT_EQ(back->l1, 2e-6);
  EXPECT_EQ(back->l2, 1e-3);
  EXPECT_EQ(back->objective, 0.1 + 0.2);
  EXPECT_TRUE(std::holds_alternative<LogisticLoss>(back->loss));
}

TEST(Model, KeepsTheLossAndWhatIsAbsent) {
  Model model{.version = "1", .loss = HuberLoss{0.3}, .coefficients = vector_of({2})};
  const auto huber = model_from_json(to_json(model));
  ASSERT_TRUE(huber) << huber.error().text();
  EXPECT_EQ(std::get<HuberLoss>(huber->loss).delta, 0.3);
  EXPECT_FALSE(huber->intercept);
  EXPECT_FALSE(huber->labels);
  model.loss = SquaredLoss{};
  EXPECT_TRUE(std::holds_alternative<SquaredLoss>(model_from_json(to_json(model))->loss));
}

TEST(Model, HasTheFieldsOfTheInterface) {
  const auto json = to_json(classifier());
  EXPECT_EQ(json["format"], "grove-model/1");
  EXPECT_EQ(json["features"], 3);
  EXPECT_EQ(json["loss"], "logistic");
  EXPECT_EQ(json["labels"]["positive"], 1);
  EXPECT_EQ(json["regularizer"]["l1"], 2e-6);
  for (const char* field : {"version", "intercept", "coefficients", "objective"})
    EXPECT_TRUE(json.contains(field)) << field;
}

TEST(Model, WhatIsNotAModelIsRefused) {
  EXPECT_FALSE(model_from_json(nlohmann::json::object()));
  EXPECT_FALSE(model_from_json({{"format", "grove-run/1"}}));
  auto json = to_json(classifier());
  json.erase("coefficients");
  EXPECT_FALSE(model_from_json(json));
  json = to_json(classifier());
  json["features"] = 4;
  EXPECT_FALSE(model_from_json(json));
  json = to_json(classifier());
  json["loss"] = "hinge";
  EXPECT_FALSE(model_from_json(json));
}

// w = (1/3, 0, -0.1), intercept 0.7: row (3, 9, 2) gives 1 - 0.2 + 0.7 = 1.5.
TEST(Margins, AreWorkedOutTheSameFromDenseAndSparseRows) {
  DenseRows rows(2, 3);
  rows << 3, 9, 2, 0, 0, 0;
  const Samples dense{rows, vector_of({1, 0})};
  const Samples sparse{SparseRows(rows.sparseView()), vector_of({1, 0})};
  for (const Samples& samples : {dense, sparse}) {
    const Vector found = margins(classifier(), samples);
    EXPECT_NEAR(found[0], 1.5, 1e-15);
    EXPECT_NEAR(found[1], 0.7, 1e-15);
  }
}

TEST(Margins, FeaturesThatTheDataLacksCountAsZero) {
  const Samples narrow{DenseRows::Constant(1, 1, 6), vector_of({0})};
  EXPECT_NEAR(margins(classifier(), narrow)[0], 2.7, 1e-15);
}

// Five margins. Predictions (m > 0): 0 1 1 0 1 against 0 1 0 1 1: three of five are right.
// Pairs of a positive (2, -0.5, 0.5) and a negative (-1, 0.5): (2,-1) (2,0.5) (-0.5,-1) (0.5,-1)
// in order, (0.5,0.5) a tie, (-0.5,0.5) wrong: 4.5 of 6.
// log(1 + e^m) - y m: log(1+e^-1) + log(1+e^-2) + 2 log(1+e^0.5) + log(1+e^-0.5) = 2.86242065...
TEST(Scores, OfAClassifierAreThoseWorkedByHand) {
  const Vector m = vector_of({-1, 2, 0.5, -0.5, 0.5}), y = vector_of({0, 1, 0, 1, 1});
  const Scores scores = score(classifier(), m, y);
  EXPECT_DOUBLE_EQ(*scores.accuracy, 0.6);
  EXPECT_DOUBLE_EQ(*scores.auc, 0.75);
  EXPECT_NEAR(
      *scores.log_loss,
      (0.3132616875182228 + 0.1269280110429726 + 2 * 0.9740769841801067 + 0.4740769841801067) / 5,
      1e-15);
  EXPECT_FALSE(scores.rmse || scores.mae || scores.r_squared);
}

TEST(Scores, AucIsOneHalfForConstantMarginsAndUnsetForOneClass) {
  const Vector flat = Vector::Zero(4);
  EXPECT_DOUBLE_EQ(*score(classifier(), flat, vector_of({0, 1, 0, 1})).auc, 0.5);
  EXPECT_FALSE(score(classifier(), flat, vector_of({1, 1, 1, 1})).auc);
  EXPECT_FALSE(score(classifier(), flat, vector_of({0, 0, 0, 0})).auc);
}

TEST(Scores, AucIsOneWhenTheClassesSeparateAndZeroWhenReversed) {
  const Vector y = vector_of({0, 0, 1, 1});
  EXPECT_DOUBLE_EQ(*score(classifier(), vector_of({-2, -1, 1, 2}), y).auc, 1);
  EXPECT_DOUBLE_EQ(*score(classifier(), vector_of({2, 1, -1, -2}), y).auc, 0);
}

// e^0 = 1 and e^log(3) = 3 against 1 and 2; a hinge has classes without probabilities.
TEST(Scores, AreOfWhatTheLossPredicts) {
  for (const Loss& loss : {Loss(PoissonLoss{}), Loss(GammaLoss{}), Loss(NegativeBinomialLoss{2})}) {
    const Model model{.version = "1", .loss = loss, .coefficients = vector_of({1})};
    const Vector m = vector_of({0, std::log(3.0)});
    EXPECT_NEAR(predicted_values(model, m)[1], 3, 1e-15);
    EXPECT_NEAR(*score(model, m, vector_of({1, 2})).mae, 0.5, 1e-15);
  }
  Model hinge = classifier();
  hinge.loss = SquaredHingeLoss{};
  const Scores scores = score(hinge, vector_of({-1, 2}), vector_of({0, 1}));
  EXPECT_EQ(*scores.accuracy, 1);
  EXPECT_FALSE(scores.log_loss);
}

// Residuals 0, -1, 2: squares 5, absolute values 3; the targets vary by 2 around their mean 2.
TEST(Scores, OfARegressionAreThoseWorkedByHand) {
  const Model model{.version = "1", .loss = SquaredLoss{}, .coefficients = vector_of({1})};
  const Scores scores = score(model, vector_of({1, 2, 4}), vector_of({1, 3, 2}));
  EXPECT_DOUBLE_EQ(*scores.rmse, std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(*scores.mae, 1);
  EXPECT_DOUBLE_EQ(*scores.r_squared, 1 - 5.0 / 2);
  EXPECT_FALSE(scores.accuracy || scores.auc || scores.log_loss);
  EXPECT_FALSE(score(model, vector_of({1, 2}), vector_of({3, 3})).r_squared);
}

}  // namespace
}  // namespace grove
