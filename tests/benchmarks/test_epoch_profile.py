import sys

import pytest
import torch

from benchmarks import epoch_profile

pytestmark = pytest.mark.slow


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_profile_says_so(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["epoch_profile"])
    with pytest.raises(SystemExit, match="2"):
        epoch_profile.main()
    assert "no CUDA device" in capsys.readouterr().err


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_the_profile_writes_its_page(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["epoch_profile", "--n", "100", "--p", "5", "--out", str(tmp_path)])
    epoch_profile.main()
    (page,) = tmp_path.glob("epoch-*.md")
    assert "## n = 100, p = 5" in page.read_text()
    assert "| kernel | launches | microseconds |" in page.read_text()
