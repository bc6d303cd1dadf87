#include "experiments/reproduce.h"

#include "grove/base/file.h"
#include "grove/base/text.h"

namespace grove::experiments {
namespace {

/// All cells of the job in the order in which they run. The factors of searched contenders are only
/// known later; any one of them makes the same effort.
std::vector<Cell> planned_cells(const ReproduceOptions& options) {
  std::vector<Cell> all;
  const auto add = [&all](std::vector<Cell> cells) {
    all.insert(all.end(), std::make_move_iterator(cells.begin()),
               std::make_move_iterator(cells.end()));
  };
  for (const Setting& setting : settings(options.scale)) {
    if (options.figures.contains(1))
      for (const Contender& contender : contenders()) {
        if (contender.searched) add(search_cells(options.scale, setting, contender));
        for (const LocalModelKind model : local_models())
          add(contender_cells(options.scale, setting, model, contender, {}));
      }
    for (const LocalModelKind model : local_models()) {
      if (options.figures.contains(2))
        for (const WorkLoad& load : figure2_loads())
          add(participation_cells(options.scale, setting, model, load));
      if (options.figures.contains(3))
        for (const WorkLoad& load : figure3_loads())
          add(participation_cells(options.scale, setting, model, load));
    }
  }
  return all;
}

std::string csv_of(const Figure& figure) {
  std::string text = "curve,x,median,lower_quartile,upper_quartile\n";
  for (const Curve& curve : figure.curves)
    for (std::size_t k = 0; k < curve.x.size(); ++k)
      text += fmt::format("\"{}\",{},{},{},{}\n", curve.name, exact(curve.x[k]), exact(curve.y[k]),
                          exact(curve.low[k]), exact(curve.high[k]));
  return text;
}

Status write_figure(const Figure& figure, const std::filesystem::path& stem) {
  if (const Status status = write_file_atomically(stem.string() + ".csv", csv_of(figure)); !status)
    return status;
  for (const char* ending : {".svg", ".png"})
    if (const Status status = draw(figure, stem.string() + ending); !status) return status;
  return success();
}

/// The whole job, figure after figure. Every step is empty when interrupted.
class Job {
 public:
  Job(const ReproduceOptions& options, CellRunner& runner) : options_(options), runner_(runner) {
    findings_.scale = options.scale;
  }

  Result<bool> figure1(const Setting& setting) {
    std::map<std::string, double> factors;
    for (const Contender& contender : contenders()) {
      if (!contender.searched) continue;
      const auto results = runner_.run(search_cells(options_.scale, setting, contender));
      if (!results) return results.error();
      if (!*results) return false;
      Search search = judge(contender, **results, options_.scale.seeds);
      factors[contender.name] = search.best;
      search.contender += is_druid(contender.method) ? ", " + setting.name : "";
      if (is_druid(contender.method) || &setting == first_) findings_.searches.push_back(search);
    }
    for (const LocalModelKind model : local_models()) {
      Figure1 figure{.setting = setting.name,
                     .title = setting.title,
                     .model = model,
                     .last_round = static_cast<double>(setting.rounds),
                     .lines = {}};
      for (const Contender& contender : contenders()) {
        std::optional<double> factor;
        if (contender.searched) factor = factors[contender.name];
        const auto results =
            runner_.run(contender_cells(options_.scale, setting, model, contender, factor));
        if (!results) return results.error();
        if (!*results) return false;
        figure.lines.emplace_back(contender.name, **results);
      }
      findings_.figure1.push_back(std::move(figure));
    }
    return true;
  }

  Result<bool> participation(const Setting& setting, LocalModelKind model, int number) {
    CostFigure figure{.number = number,
                      .setting = setting.name,
                      .title = setting.title,
                      .model = model,
                      .lines = {}};
    for (const WorkLoad& load : number == 2 ? figure2_loads() : figure3_loads()) {
      const auto results = runner_.run(participation_cells(options_.scale, setting, model, load));
      if (!results) return results.error();
      if (!*results) return false;
      figure.lines.push_back(cost_line(load, options_.scale, **results));
    }
    (number == 2 ? findings_.figure2 : findings_.figure3).push_back(std::move(figure));
    return true;
  }

  Result<bool> all() {
    const std::vector<Setting> chosen = settings(options_.scale);
    first_ = chosen.data();
    for (const Setting& setting : chosen) {
      if (options_.figures.contains(1))
        if (const auto done = figure1(setting); !done || !*done) return done;
      for (const int number : {2, 3})
        for (const LocalModelKind model : local_models())
          if (options_.figures.contains(number))
            if (const auto done = participation(setting, model, number); !done || !*done)
              return done;
    }
    return true;
  }

  Findings& findings() { return findings_; }

 private:
  const ReproduceOptions& options_;
  CellRunner& runner_;
  Findings findings_;
  const Setting* first_ = nullptr;
};

Status write_all(const Findings& findings, const std::filesystem::path& out) {
  for (const Figure1& figure : findings.figure1) {
    if (const Status status = write_figure(figure.over_rounds(), out / stem_of(figure, 'a'));
        !status)
      return status;
    if (const Status status = write_figure(figure.over_time(), out / stem_of(figure, 'b')); !status)
      return status;
  }
  for (const auto* figures : {&findings.figure2, &findings.figure3})
    for (const CostFigure& figure : *figures)
      if (figure.anything_reached())
        if (const Status status = write_figure(figure.draw(), out / stem_of(figure)); !status)
          return status;
  return write_report(findings, out);
}

}  // namespace

std::string stem_of(const Figure1& figure, char part) {
  return fmt::format("figure1{}-{}-{}", part, figure.setting, name_of(figure.model));
}

std::string stem_of(const CostFigure& figure) {
  return fmt::format("figure{}-{}-{}", figure.number, figure.setting, name_of(figure.model));
}

Result<std::optional<Findings>> reproduce(const ReproduceOptions& options) {
  auto store = CellStore::open(options.out);
  if (!store) return store.error();
  const std::vector<Cell> planned = planned_cells(options);
  double effort = 0;
  for (const Cell& cell : planned) effort += effort_of(cell);
  CellRunner runner(std::move(*store), options.hooks, planned.size(), effort);
  Job job(options, runner);
  const auto done = job.all();
  if (!done) return done.error();
  if (!*done) return std::optional<Findings>{};
  if (const Status status = write_all(job.findings(), options.out); !status) return status.error();
  return std::optional{std::move(job.findings())};
}

}  // namespace grove::experiments
