"""Networks of peers on this machine."""
import json
import os
import signal
import threading

import grove
import numpy as np
import pytest

DATA = "synthetic:gaussian,samples=300,features=4"


@pytest.fixture
def network(tmp_path):
    try:
        made = grove.Network.init(tmp_path / "sites", agents=3, data=DATA, l2=0.1, loss="squared",
                                  weighting="sample")
    except grove.Error as error:
        if "this build has no peers" in str(error) or str(error).startswith("program:"):
            pytest.skip(str(error))
        raise
    with made:
        yield made


def test_peers_start_converge_and_have_one_model(network):
    assert list(network.status()["phase"]) == ["silent"] * 3
    network.start()
    assert network.running
    with pytest.raises(grove.Error, match="is running already"):
        network.start()
    network.wait(timeout=60, progress=False)
    assert not network.running
    status = network.status()
    assert list(status.index) == ["peer-0", "peer-1", "peer-2"]
    assert list(status["phase"]) == ["converged"] * 3 and (status["activations"] > 0).all()
    answer = grove.run(DATA, agents=1, l2=0.1, loss="squared", weighting="sample").solution
    assert list(network.models) == list(status.index)
    for model in network.models.values():
        np.testing.assert_allclose(model["coefficients"], answer, atol=1e-5)


def test_peers_are_stopped_and_go_on(network):
    for peer in network.folder.glob("peer-*/peer.toml"):  # a tolerance that is never reached
        text = peer.read_text()
        assert "tolerance = " in text
        peer.write_text("\n".join("tolerance = 0.0" if line.startswith("tolerance = ") else line
                                  for line in text.splitlines()))
    network.start()
    with pytest.raises(TimeoutError, match="peers run after 1 seconds"):
        network.wait(timeout=1, progress=False)
    assert network.running
    network.stop()
    assert not network.running
    first = network.status()
    assert list(first["phase"]) == ["stopped"] * 3
    network.start()
    timer = threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        network.wait(progress=False)
    timer.join()
    assert not network.running
    assert (network.status()["activations"] > first["activations"]).all()


def test_errors_have_the_text_of_the_command_line(tmp_path):
    with pytest.raises(grove.Error, match="^program: expected the program grove at /no/such"):
        grove.Network(tmp_path, program="/no/such")
    try:
        network = grove.Network(tmp_path / "nothing")
    except grove.Error as error:
        pytest.skip(str(error))
    with pytest.raises(grove.Error, match="nothing.*network.json") as caught:
        network.status()
    assert not str(caught.value).startswith("grove: ")
    with pytest.raises(grove.Error, match="^--l2: "):
        grove.Network.init(tmp_path / "sites", agents=3, data=DATA, l2=-1)
    with pytest.raises(grove.Error, match="is not running; expected start"):
        network.wait()
    with pytest.raises(grove.Error, match="^--graph: peers are processes of their own"):
        grove.Network.init(tmp_path / "sites", graph=[(0, 1)])
