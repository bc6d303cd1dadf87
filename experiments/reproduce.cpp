#include "experiments/reproduce.h"

#include <algorithm>

#include "grove/base/file.h"
#include "grove/base/text.h"

namespace grove::experiments {
namespace {

/// All trials of the job in the order in which they run. The factors of searched contenders are
/// only known later; any one of them makes the same effort.
std::vector<Trial> planned_trials(const ReproduceOptions& options) {
  std::vector<Trial> all;
  const auto add = [&all](std::vector<Trial> trials) {
    all.insert(all.end(), std::make_move_iterator(trials.begin()),
               std::make_move_iterator(trials.end()));
  };
  for (const Setting& setting : settings(options.scale)) {
    if (options.figures.contains(1))
      for (const Contender& contender : contenders()) {
        if (contender.searched) add(search_trials(options.scale, setting, contender));
        for (const LocalModelKind model : local_models())
          for (int part = 0; part < (contender.searched ? 2 : 1); ++part)
            add(contender_trials(options.scale, setting, model, contender, {}));
      }
    for (const LocalModelKind model : local_models()) {
      if (options.figures.contains(2))
        for (const WorkLoad& load : figure2_loads())
          add(participation_trials(options.scale, setting, model, load));
      if (options.figures.contains(3))
        for (const WorkLoad& load : figure3_loads())
          add(participation_trials(options.scale, setting, model, load));
    }
  }
  if (options.figures.contains(work_figure))
    for (const WorkMethod method : {WorkMethod::paper, WorkMethod::automatic})
      for (const WorkRule& rule : work_rules()) add(work_trials(options.scale, method, rule));
  return all;
}

Status write_figure(const Figure& figure, const std::string& csv,
                    const std::filesystem::path& stem) {
  if (Status status = write_file_atomically(stem.string() + ".csv", csv); !status) return status;
  for (const char* ending : {".svg", ".png"})
    if (Status status = draw(figure, stem.string() + ending); !status) return status;
  return success();
}

/// The whole job, figure after figure. Every step is empty when interrupted.
class Job {
 public:
  Job(const ReproduceOptions& options, TrialRunner& runner) : options_(options), runner_(runner) {
    findings_.scale = options.scale;
    findings_.date = options.date;
  }

  Result<bool> figure1(const Setting& setting) {
    std::map<std::string, Factors> factors;
    for (const Contender& contender : contenders()) {
      if (!contender.searched) continue;
      std::vector<TrialResult> results;
      auto done = run_into(results, search_trials(options_.scale, setting, contender));
      if (!done || !*done) return done;
      factors[contender.name] = {
          best_factor(setting, contender, results, setting.rounds),
          best_factor(setting, contender, results, searched_rounds(options_.scale))};
    }
    for (const LocalModelKind model : local_models()) {
      Figure1 figure{.setting = setting.name,
                     .title = setting.title,
                     .model = model,
                     .last_round = static_cast<double>(setting.rounds),
                     .lines = {}};
      for (const Contender& contender : contenders()) {
        Line line{.name = contender.name, .over_rounds = {}, .over_time = {}};
        const Factors chosen = factors[contender.name];
        const auto fill = [&](std::optional<double> factor, std::vector<TrialResult>& results) {
          return run_into(results,
                          contender_trials(options_.scale, setting, model, contender, factor));
        };
        if (auto done = fill(chosen.over_time, line.over_time); !done || !*done) return done;
        line.over_rounds = line.over_time;
        if (contender.searched)
          if (auto done = fill(chosen.over_rounds, line.over_rounds); !done || !*done) return done;
        figure.lines.push_back(std::move(line));
      }
      findings_.figure1.push_back(std::move(figure));
    }
    return true;
  }

  Result<bool> participation(const Setting& setting, LocalModelKind model, int number) {
    CostFigure figure{.number = number,
                      .setting = setting,
                      .model = model,
                      .seeds = options_.scale.seeds,
                      .lines = {}};
    for (const WorkLoad& load : number == 2 ? figure2_loads() : figure3_loads()) {
      std::vector<TrialResult> results;
      if (auto done = run_into(results, participation_trials(options_.scale, setting, model, load));
          !done || !*done)
        return done;
      figure.lines.push_back(cost_line(load, options_.scale, results));
    }
    (number == 2 ? findings_.figure2 : findings_.figure3).push_back(std::move(figure));
    return true;
  }

  Result<bool> unequal_machines(WorkMethod method) {
    WorkFigure figure{.method = method, .lines = {}};
    for (const WorkRule& rule : work_rules()) {
      std::vector<TrialResult> results;
      if (auto done = run_into(results, work_trials(options_.scale, method, rule)); !done || !*done)
        return done;
      figure.lines.emplace_back(rule, std::move(results));
    }
    findings_.work.push_back(std::move(figure));
    return true;
  }

  Result<bool> all() {
    for (const Setting& setting : settings(options_.scale)) {
      if (options_.figures.contains(1))
        if (auto done = figure1(setting); !done || !*done) return done;
      for (const int number : {2, 3})
        for (const LocalModelKind model : local_models())
          if (options_.figures.contains(number))
            if (auto done = participation(setting, model, number); !done || !*done) return done;
    }
    if (options_.figures.contains(work_figure))
      for (const WorkMethod method : {WorkMethod::paper, WorkMethod::automatic})
        if (auto done = unequal_machines(method); !done || !*done) return done;
    return true;
  }

  Findings& findings() { return findings_; }

 private:
  Result<bool> run_into(std::vector<TrialResult>& results, const std::vector<Trial>& trials) {
    auto run = runner_.run(trials);
    if (!run) return run.error();
    if (!*run) return false;
    results = std::move(**run);
    return true;
  }

  /// Of a searched contender: its best in either part of figure 1.
  struct Factors {
    std::optional<double> over_rounds, over_time;
  };

  /// Gossip methods do not depend on the setting: their search is reported once.
  double best_factor(const Setting& setting, const Contender& contender,
                     std::span<const TrialResult> results, std::uint64_t rounds) {
    Search search = pick_best(contender, results, options_.scale.seeds, rounds);
    const double best = search.best;
    if (is_druid(contender.method)) search.contender += ", " + setting.name;
    const auto same = [&search](const Search& other) {
      return other.contender == search.contender && other.rounds == search.rounds;
    };
    if (std::ranges::none_of(findings_.searches, same))
      findings_.searches.push_back(std::move(search));
    return best;
  }

  const ReproduceOptions& options_;
  TrialRunner& runner_;
  Findings findings_;
};

Status write_all(const Findings& findings, const std::filesystem::path& out) {
  for (const Figure1& figure : findings.figure1) {
    for (const auto& [part, drawn] :
         {std::pair('a', figure.over_rounds()), std::pair('b', figure.over_time())})
      if (Status status = write_figure(drawn, csv_of(drawn), out / stem_of(figure, part)); !status)
        return status;
  }
  for (const auto* figures : {&findings.figure2, &findings.figure3})
    for (const CostFigure& figure : *figures)
      if (Status status = write_figure(figure.draw(), figure.csv(), out / stem_of(figure)); !status)
        return status;
  for (const WorkFigure& figure : findings.work) {
    const Figure drawn = figure.draw();
    if (Status status = write_figure(drawn, csv_of(drawn), out / stem_of(figure)); !status)
      return status;
  }
  return write_report(findings, out);
}

}  // namespace

std::string stem_of(const Figure1& figure, char part) {
  return fmt::format("figure1{}-{}-{}", part, figure.setting, name_of(figure.model));
}

std::string stem_of(const CostFigure& figure) {
  return fmt::format("figure{}-{}-{}", figure.number, figure.setting.name, name_of(figure.model));
}

std::string stem_of(const WorkFigure& figure) { return "work-" + name_of(figure.method); }

Result<std::optional<Findings>> reproduce(const ReproduceOptions& options) {
  if (Status status = can_draw("figure.svg"); !status) return status.error();
  auto store = TrialStore::open(options.out);
  if (!store) return store.error();
  const std::vector<Trial> planned = planned_trials(options);
  double effort = 0;
  for (const Trial& trial : planned) effort += effort_of(trial);
  TrialRunner runner(std::move(*store), options.hooks, planned.size(), effort);
  Job job(options, runner);
  auto done = job.all();
  if (!done) return done.error();
  if (!*done) return std::optional<Findings>{};
  if (Status status = write_all(job.findings(), options.out); !status) return status.error();
  return std::optional{std::move(job.findings())};
}

}  // namespace grove::experiments
