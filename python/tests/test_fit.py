"""grove.fit against R's answers on public tables, and against statsmodels."""
import os
import pathlib
import signal
import threading

import grove
import numpy as np
import pandas as pd
import pytest

DATA = pathlib.Path(os.environ.get("GROVE_DATA_DIR", "")) / "sites"
RANK = ["C(rank)[T.2]", "C(rank)[T.3]", "C(rank)[T.4]"]


def sites(name):
    files = [DATA / f"{name}-{site}.csv" for site in "abc"]
    if not all(file.exists() for file in files):
        pytest.skip(f"the tables {name}-*.csv are not there (GROVE_DATA_DIR)")
    return [pd.read_csv(file, skipinitialspace=True) for file in files]


def simulated(rows=300, seed=5):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(100, 15, rows), "z": rng.normal(size=rows),
                          "p": rng.choice(["u", "v", "w"], rows),
                          "days": rng.integers(1, 30, rows)})
    eta = 0.02 * (frame.x - 100) - 0.5 * frame.z + 0.4 * (frame.p == "v")
    frame["y"] = eta + rng.normal(size=rows)
    frame["label"] = np.where(rng.uniform(size=rows) < 1 / (1 + np.exp(-eta)), "yes", "no")
    frame["count"] = rng.poisson(np.exp(eta) * frame.days)
    frame["size"] = rng.gamma(3, np.exp(eta) / 3)
    return frame


def thirds(frame):
    return [frame.iloc[:60], frame.iloc[60:200], frame.iloc[200:]]


def test_admissions_are_those_of_r():
    # summary(glm(admit ~ gre + gpa + factor(rank), family = binomial)) of R 4.2 on the pooled rows
    result = grove.fit("admit ~ gre + gpa + C(rank)", sites("binomial"), family="binomial")
    assert list(result.params.index) == ["Intercept", "gre", "gpa", *RANK]
    np.testing.assert_allclose(
        result.params,
        [-3.98997907, 0.00226442579, 0.804037549, -0.675442928, -1.34020392, -1.55146368],
        rtol=1e-6)
    np.testing.assert_allclose(
        result.bse,
        [1.13995094, 0.00109399764, 0.331819298, 0.316489661, 0.345306418, 0.417831633], rtol=1e-6)
    assert result.deviance == pytest.approx(458.517493, rel=1e-8)
    assert result.null_deviance == pytest.approx(499.976518, rel=1e-8)
    assert result.aic == pytest.approx(470.517493, rel=1e-8)
    assert (result.nobs, result.df_resid, result.df_model) == (400, 394, 5)
    robust = grove.fit("admit ~ gre + gpa + C(rank)", sites("binomial"), "binomial", robust=True)
    np.testing.assert_allclose(
        robust.bse,
        [1.13666542, 0.00110130851, 0.344704168, 0.314075265, 0.344094809, 0.415533975], rtol=1e-6)


def test_trees_and_awards_are_those_of_r():
    trees = grove.fit("Volume ~ Girth + Height", sites("gaussian"))
    np.testing.assert_allclose(trees.params, [-57.9876589, 4.7081605, 0.339251234], rtol=1e-6)
    np.testing.assert_allclose(trees.bse, [5.9508303, 0.182050559, 0.0896604929], rtol=1e-6)
    assert trees.scale == pytest.approx(14.302419, rel=1e-6) and trees.use_t
    awards = grove.fit("num_awards ~ C(prog, ref=General) + math", sites("poisson"), "poisson")
    assert awards.params.iloc[-1] == pytest.approx(0.0701523975, rel=1e-6)
    assert awards.deviance == pytest.approx(189.449620, rel=1e-8)


@pytest.mark.parametrize("formula, family", [
    ("y ~ x + z*p", "gaussian"), ("label ~ x + z + p", "binomial"), ("count ~ x + p", "poisson"),
    ("size ~ x + z", "gamma")])
def test_tables_are_those_of_statsmodels(formula, family):
    smf = pytest.importorskip("statsmodels.formula.api", reason="python3-statsmodels is absent")
    import statsmodels.api as sm

    frame = simulated()
    kinds = {"gaussian": sm.families.Gaussian(), "binomial": sm.families.Binomial(),
             "poisson": sm.families.Poisson(),
             "gamma": sm.families.Gamma(sm.families.links.log())}
    pooled = frame.assign(label=(frame.label == "yes").astype(int))
    other = smf.glm(formula, pooled, family=kinds[family]).fit(tol=1e-13, maxiter=200)
    own = grove.fit(formula, thirds(frame), family)
    names = own.params.index  # statsmodels has factors first
    assert sorted(names) == sorted(other.params.index)
    np.testing.assert_allclose(own.params, other.params[names], rtol=1e-6)
    np.testing.assert_allclose(own.bse, other.bse[names], rtol=1e-6)
    np.testing.assert_allclose(own.tvalues, other.tvalues[names], rtol=1e-6)
    assert own.deviance == pytest.approx(other.deviance, rel=1e-8)
    assert own.nobs == other.nobs and own.df_resid == other.df_resid
    assert own.df_model == other.df_model and own.scale == pytest.approx(other.scale, rel=1e-6)
    fresh = simulated(50, seed=6)
    np.testing.assert_allclose(own.predict(fresh), other.predict(fresh), rtol=1e-6)
    if own.use_t:  # statsmodels takes z; R takes t where dispersion is estimated
        return
    np.testing.assert_allclose(own.pvalues, other.pvalues[names], rtol=1e-6, atol=1e-12)
    for alpha in (0.05, 0.2):
        interval = own.conf_int(alpha)
        np.testing.assert_allclose(interval, other.conf_int(alpha).loc[names], rtol=1e-6, atol=1e-9)
        assert list(interval.columns) == [0, 1] and list(interval.index) == list(names)


def test_multinomial_has_a_column_per_class():
    # glm of the nnet package of R: multinom(prog ~ math + num_awards) with reference General
    result = grove.fit("C(prog, ref=General) ~ math + num_awards", sites("poisson"), "multinomial")
    assert list(result.params.columns) == ["Academic", "Vocational"]
    np.testing.assert_allclose(result.params["Academic"],
                               [-2.78163708, 0.0595403618, 1.00747684], rtol=1e-6)
    np.testing.assert_allclose(result.params["Vocational"],
                               [3.55029119, -0.0736137498, 0.454399654], rtol=1e-6)
    assert result.bse.shape == (3, 2) and (result.bse > 0).all().all()
    assert result.conf_int().loc[("Vocational", "math")].is_monotonic_increasing
    probabilities = result.predict(sites("poisson")[0])
    assert list(probabilities.columns) == ["General", "Academic", "Vocational"]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)


def test_columns_of_frames_are_what_pandas_says_they_are():
    frame = simulated()
    texts = grove.fit("y ~ p + x", thirds(frame)).params
    category = frame.assign(p=frame.p.astype("category"))
    assert grove.fit("y ~ p + x", thirds(category)).params.equals(texts)
    truth = grove.fit("y ~ flag + x", thirds(frame.assign(flag=frame.p == "v"))).params
    assert list(truth.index) == ["Intercept", "flag[T.True]", "x"]
    days = grove.fit("y ~ C(days)", [frame]).params
    as_category = grove.fit("y ~ days", [frame.assign(days=frame.days.astype(float)
                                                      .astype("category"))]).params
    np.testing.assert_allclose(as_category, days, rtol=1e-9)
    assert as_category.index[1] == "days[T.2]"
    nullable = frame.assign(days=frame.days.astype("Int64"))
    nullable.loc[[3, 5], "days"] = pd.NA
    missing = frame.assign(days=frame.days.astype(float))
    missing.loc[[3, 5], "days"] = np.nan
    own = grove.fit("y ~ days", thirds(nullable))
    assert own.nobs == 298 and own.params.equals(grove.fit("y ~ days", thirds(missing)).params)
    objects = frame.assign(days=frame.days.astype(object))
    assert len(grove.fit("y ~ days", thirds(objects)).params) == 2
    dates = frame.assign(day=pd.Timestamp("2020-01-01") + pd.to_timedelta(frame.days, "D"))
    np.testing.assert_allclose(grove.fit("y ~ date(day)", thirds(dates)).params.iloc[1],
                               grove.fit("y ~ days", thirds(frame)).params.iloc[1], rtol=1e-7)


def test_missing_rows_are_nan_in_predictions():
    frame = simulated()
    result = grove.fit("y ~ x + p", thirds(frame))
    gaps = frame.iloc[:4].copy()
    gaps.loc[1, "x"] = np.nan
    predicted = result.predict(gaps)
    assert list(predicted.isna()) == [False, True, False, False]
    assert predicted.index.equals(gaps.index)
    np.testing.assert_allclose(result.predict(gaps, which="linear"), predicted)


def test_penalized_fits_have_no_errors_and_say_why():
    result = grove.fit("y ~ x + z", thirds(simulated()), l1=0.1, standardize=True)
    assert result.bse.isna().all() and result.conf_int().isna().all().all()
    assert "--l1" in str(result.summary()) and "--l1" in result._repr_html_()


def test_summaries_are_text_and_html():
    hospitals = dict(zip(["a <b>", "b", "c"], thirds(simulated())))
    result = grove.fit("label ~ x + z", hospitals, family="binomial")
    text = str(result.summary())
    assert "z value" in text and "a <b>: 60 used" in text and repr(result) == text
    page = result._repr_html_()
    assert page == result.summary()._repr_html_()
    assert page.count("<tr>") == 4 and "a &lt;b&gt;: 60 used" in page and "<b>" not in page
    assert f"{result.bse['x']:.5g}" in page
    assert result.record.status == "converged" and len(result.record.trace) > 1


def test_models_are_saved_for_the_command_line(tmp_path):
    result = grove.fit("label ~ x", thirds(simulated()), "binomial")
    result.save(tmp_path / "model.json")
    assert (tmp_path / "model.json").read_text().startswith("{")
    assert result.model["format"] == "grove-model/2"


def test_errors_name_the_site_and_the_row():
    frame = simulated()
    with pytest.raises(grove.Error, match=r"^frames\[1\]: has no column .*x"):
        grove.fit("y ~ x", [frame, frame.drop(columns="x")])
    with pytest.raises(grove.Error, match=r"^ward, row 2: response of family poisson"):
        negative = frame.assign(count=frame["count"].where(frame.index != 2, -1))
        grove.fit("count ~ x", {"ward": negative}, "poisson")
    with pytest.raises(grove.Error, match="expected a finite number, found inf"):
        grove.fit("y ~ x", [frame.assign(x=np.inf)])
    with pytest.raises(grove.Error, match=r"^frames\[0\]: expected a pandas DataFrame"):
        grove.fit("y ~ x", [frame.to_numpy()])
    with pytest.raises(grove.Error, match="^sites: expected at least one table"):
        grove.fit("y ~ x", [])
    with pytest.raises(grove.Error, match="^--family: "):
        grove.fit("y ~ x", [frame], family="cauchy")
    with pytest.raises(grove.Error, match="^--loss: is unknown; see grove fit --help"):
        grove.fit("y ~ x", [frame], loss="huber")
    with pytest.raises(grove.Error, match=r"separated"):
        grove.fit("label ~ x", [frame.assign(label=frame.x > 100)], family="binomial")


def test_an_interrupt_ends_a_fit():
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        grove.fit("y ~ x + z", thirds(simulated()), rounds=10**9, tolerance=0, measure_every=10**8)
    timer.join()
    assert isinstance(caught.value.record, grove.Record)
