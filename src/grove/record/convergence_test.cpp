#include "grove/record/convergence.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "grove/record/comparison.h"
#include "grove/record/gnuplot_script.h"

namespace grove {
namespace {

/// A run with these relative errors in rounds 0, 1, ...; a round sends `bytes`, computes 100
/// gradients and takes 2 s.
RunRecord run_with(const std::vector<double>& errors, RunStatus status = RunStatus::converged,
                   std::uint64_t bytes = 1000) {
  RunRecord record{.outcome = {.status = status, .rounds = errors.size() - 1},
                   .reference = ReferenceSummary{}};
  for (std::size_t k = 0; k < errors.size(); ++k)
    record.trace.push_back({.round = k,
                            .relative_error = errors[k],
                            .stationarity = 10 * errors[k],
                            .cost = {.bytes_sent = k * bytes, .gradient_samples = 100 * k},
                            .seconds = 2.0 * static_cast<double>(k)});
  return record;
}

using Values = std::vector<double>;

TEST(Convergence, IsDrawnOverWhatIsAskedFor) {
  const std::vector<RunSeries> series = {{"a", {run_with({1, 0.1, 0.01})}}};
  const auto x_of = [&](PlotAxis axis) { return convergence_figure(series, axis).curves[0].x; };
  EXPECT_EQ(x_of(PlotAxis::automatic), (Values{0, 1, 2}));
  EXPECT_EQ(x_of(PlotAxis::rounds), (Values{0, 1, 2}));
  EXPECT_EQ(x_of(PlotAxis::bytes), (Values{0, 1000, 2000}));
  EXPECT_EQ(x_of(PlotAxis::gradients), (Values{0, 100, 200}));
  EXPECT_EQ(x_of(PlotAxis::seconds), (Values{0, 2, 4}));
  EXPECT_EQ(convergence_figure(series, PlotAxis::rounds).curves[0].y, (Values{1, 0.1, 0.01}));
}

TEST(Convergence, AxesNameTheirUnits) {
  const std::vector<RunSeries> series = {{"a", {run_with({1, 0.1, 0.01})}}};
  const Figure bytes = convergence_figure(series, PlotAxis::bytes);
  EXPECT_NE(bytes.x_label.find("(kB)"), std::string::npos) << bytes.x_label;
  EXPECT_EQ(bytes.x_divisor, 1000);
  const Figure seconds = convergence_figure(series, PlotAxis::seconds);
  EXPECT_NE(seconds.x_label.find("(s)"), std::string::npos) << seconds.x_label;
}

TEST(Convergence, MethodsOfUnequalCostGetALogarithmicAxis) {
  const RunSeries cheap{"cheap", {run_with({1, 0.1}, RunStatus::converged, 10)}};
  const RunSeries dear{"dear", {run_with({1, 0.1}, RunStatus::converged, 1000)}};
  EXPECT_TRUE(convergence_figure({cheap, dear}, PlotAxis::bytes).log_x);
  EXPECT_FALSE(convergence_figure({cheap, cheap}, PlotAxis::bytes).log_x);
  EXPECT_FALSE(convergence_figure({cheap, dear}, PlotAxis::rounds).log_x);
}

// By hand: in round 2 the seeds have 0.1, 0.2, 0.3 (the second has converged and keeps its last
// error), whose quartiles are 0.15, 0.2, 0.25.
TEST(Convergence, SeveralSeedsAreAMedianBetweenQuartiles) {
  const RunSeries series{"a",
                         {run_with({1, 0.5, 0.1}), run_with({1, 0.2}), run_with({1, 0.6, 0.3})}};
  const Figure figure = convergence_figure({series}, PlotAxis::rounds);
  const Curve& curve = figure.curves[0];
  ASSERT_EQ(curve.x, (Values{0, 1, 2}));
  EXPECT_DOUBLE_EQ(curve.low[2], 0.15);
  EXPECT_DOUBLE_EQ(curve.y[2], 0.2);
  EXPECT_DOUBLE_EQ(curve.high[2], 0.25);
  EXPECT_TRUE(curve.marks.empty());
  EXPECT_NE(figure.y_label.find("median and quartiles of 3 seeds"), std::string::npos);
}

// A run that was stopped at its limit has no later errors: the median of the others is not shown.
TEST(Convergence, SeveralSeedsEndWithTheFirstThatWasStopped) {
  const RunSeries series{
      "a", {run_with({1, 0.5, 0.1, 0.05}), run_with({1, 0.6, 0.2}, RunStatus::round_limit)}};
  const Curve curve = convergence_figure({series}, PlotAxis::rounds).curves[0];
  EXPECT_EQ(curve.x, (Values{0, 1, 2}));
}

TEST(Convergence, DivergedRunsEndInAnOpenMarkerWithTheirNumber) {
  const RunRecord diverged = run_with({1, 30, 5e3, 1e200}, RunStatus::diverged);
  const Figure alone = convergence_figure({{"a", {diverged}}}, PlotAxis::rounds);
  EXPECT_EQ(alone.curves[0].x, (Values{0, 1})) << "5e3 and 1e200 would stretch the axis";
  ASSERT_EQ(alone.curves[0].marks.size(), 1u);
  EXPECT_EQ(alone.curves[0].marks[0].text, "diverged");
  EXPECT_EQ(alone.curves[0].marks[0].x, 1);

  const RunRecord good = run_with({1, 0.5, 0.25, 0.125});
  const Curve most =
      convergence_figure({{"a", {diverged, good, diverged}}}, PlotAxis::rounds).curves[0];
  EXPECT_EQ(most.x, (Values{0, 1})) << "from round 2 on the median is infinite";
  EXPECT_EQ(most.marks.at(0).text, "2 of 3");
  const Curve few = convergence_figure({{"a", {good, good, diverged}}}, PlotAxis::rounds).curves[0];
  EXPECT_EQ(few.x, (Values{0, 1, 2, 3}));
  EXPECT_EQ(few.marks.at(0).text, "1 of 3");
}

TEST(Convergence, SimulatedSecondsAreUsedWhereAllRunsHaveThem) {
  RunRecord first = run_with({1, 0.1}), second = run_with({1, 0.2});
  first.trace[0].simulated_seconds = 0;
  first.trace[1].simulated_seconds = 0.25;
  EXPECT_EQ(convergence_figure({{"a", {first}}, {"b", {second}}}, PlotAxis::automatic).x_label,
            "round");
  second.trace[0].simulated_seconds = 0;
  second.trace[1].simulated_seconds = 3;
  const std::vector<RunSeries> both = {{"a", {first}}, {"b", {second}}};
  const Figure figure = convergence_figure(both, PlotAxis::automatic);
  EXPECT_EQ(figure.x_label, "simulated time (s)");
  EXPECT_EQ(figure.curves[0].x, (Values{0, 0.25}));
  const std::string text = comparison_table(both);
  for (const char* part : {"simulated\n", "250 ms\n", "3 s\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in\n" << text;
}

TEST(Convergence, WithoutAReferenceStationarityIsDrawn) {
  RunRecord run = run_with({1, 0.1});
  run.reference.reset();
  EXPECT_EQ(convergence_figure({{"a", {run}}}, PlotAxis::rounds).curves[0].y, (Values{10, 1}));
}

TEST(TraceCsv, HasOneRowForEveryMeasuredRound) {
  RunRecord run = run_with({1, 0.5});
  run.config = {{"seed", 7}};
  const std::string text = trace_csv({{"with, comma", {run, run}}});
  EXPECT_EQ(std::ranges::count(text, '\n'), 1 + 2 * 2);
  EXPECT_NE(text.find("\n\"with, comma\",7,1,0,,0.5,0,5,0,0,0,1000,100,0,0,2,\n"),
            std::string::npos)
      << text;
}

TEST(LogTicks, ArePowersOfTenAndFewEnoughToRead) {
  EXPECT_EQ(log_ticks(2e-4, 3), (Values{1e-4, 1e-3, 1e-2, 1e-1, 1, 10}));
  const Values many = log_ticks(1e-30, 1);
  EXPECT_LE(many.size(), 9u);
  EXPECT_EQ(many.back(), 1);
  // Over few decades powers of ten alone would leave one tick or none.
  const auto within = [](double low, double high) {
    const Values ticks = log_ticks(low, high);
    return std::ranges::count_if(ticks, [=](double x) { return low <= x && x <= high; });
  };
  EXPECT_EQ(within(0.3, 0.8), 6);
  EXPECT_EQ(within(0.3, 8), 4);  // 0.5, 1, 2, 5
}

TEST(GnuplotScript, DrawsOpenMarkersWithTheirTextAndNoLineForEmptyCurves) {
  Figure figure{.title = "t", .mark_meaning = "open: lost"};
  figure.curves = {{.name = "gone", .marks = {{1, 1, "2 of 3"}}}};
  const std::string script = gnuplot_script(figure, "svg", "out.svg");
  for (const char* part :
       {"NaN with lines", "title 'gone'", "\"2 of 3\"", "with points pt 6", "title 'open: lost'"})
    EXPECT_NE(script.find(part), std::string::npos) << part << " is missing in\n" << script;
}

TEST(GnuplotScript, ShowsUtf8AndMakesControlCharactersHarmless) {
  const Figure figure{.title = "Größe\033[31m 'x'",
                      .curves = {{.name = "温度", .x = {0, 1}, .y = {1, 2}}}};
  const std::string script = gnuplot_script(figure, "svg", "out.svg");
  EXPECT_NE(script.find("set title 'Größe?[31m ''x''' noenhanced"), std::string::npos) << script;
  EXPECT_NE(script.find("title '温度'"), std::string::npos) << script;
  EXPECT_NE(script.find("set encoding utf8"), std::string::npos);
}

TEST(Comparison, SeveralSeedsAreShownByMediansAndQuartiles) {
  const RunSeries series{"a",
                         {run_with({1, 0.5, 0.001}), run_with({1, 0.001}),
                          run_with({1, 0.6, 0.3, 0.001}, RunStatus::round_limit)}};
  const std::string text = comparison_table({series});
  EXPECT_NE(text.find("2/3 converged"), std::string::npos) << text;
  EXPECT_NE(text.find("2 (1.5 to 2.5)"), std::string::npos) << text;
  EXPECT_NE(text.find("medians over 3 seeds"), std::string::npos) << text;
}

TEST(Comparison, NamesWhatTheSearchChose) {
  RunSeries series{"nids", {run_with({1, 0.5})}, "step 12.5"};
  const std::string text = comparison_table({series});
  EXPECT_NE(text.find("  tuned\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  step 12.5\n"), std::string::npos) << text;
  series.tuned.clear();
  EXPECT_EQ(comparison_table({series}).find("tuned"), std::string::npos);
}

}  // namespace
}  // namespace grove
