"""Reports as pages are one complete file with all that they should show."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers import made_reports
from helpers.golden_files import Adk
from helpers.made_reports import task, worker
from helpers.messages import raises

VOID = {"meta", "path", "line", "br"}


class Page(HTMLParser):
    """Reads a page and raises an error if it is malformed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element."""
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element without content."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Match an end tag with its start tag."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        if self.open and self.open[-1] not in ("style", "title"):
            self.words.append(data)

    @property
    def text(self) -> str:
        """Return the whole text."""
        return " ".join(self.words)

    def boxes(self, stage: str) -> list[tuple[float, float, float]]:
        """Return x, y and width of all boxes of a stage, of all figures."""
        found = []
        for tag, attributes in self.elements:
            if tag == "path" and attributes.get("class") == stage:
                boxes = re.findall(r"M([\d.e-]+) ([\d.e-]+)h([\d.e-]+)", attributes["d"] or "")
                found += [(float(x), float(y), float(wide)) for x, y, wide in boxes]
        return found


def stand_alone(text: str) -> None:
    """Assert that a page refers to no other file."""
    assert text.startswith("<!DOCTYPE html>")
    assert not re.search(r"(?i)https?:|//[a-z]|<script|<link|<img|<iframe|@import|url\(", text)


@pytest.mark.parametrize(
    "pool", [tj.LocalPool(threads=2, task_frames=20), tj.ProcessPool(workers=2)]
)
def test_page_has_advice_workers_inputs_and_versions(
    adk: Adk, tmp_path: Path, pool: tj.Pool
) -> None:
    """It has the time of every worker."""
    report = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA"), pool=pool).report
    path = tmp_path / "report.html"
    report.save(path)
    text = path.read_text(encoding="utf-8")
    stand_alone(text)
    page = Page(text)
    for sentence in report["advice"]:
        assert sentence in page.text
    for name in ("t_open", "t_decode", "t_comp", str(adk.xtc), "name CA", np.__version__):
        assert name in page.text
    with raises(ValueError):
        report.save(tmp_path / "report.pdf")


def test_page_shows_the_time_before_the_run_and_folds_the_papers_away(adk: Adk) -> None:
    """A command's time stands beside the run's; each entry is in the table."""
    report = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA")).report
    entries = dict(report) | {
        "t_import": 1.25,
        "t_command": 28.5,
        "heuristics": ["R_comp/IO is 2."],
    }
    text = tj.Report(entries).to_html()
    stand_alone(text)
    assert "<b>28.5 s</b><span>with imports and topology</span>" in text
    for name in ("t_import", "t_topology", "t_select", "t_command"):
        assert f"<td>{name}</td>" in text
    assert "<summary>What the papers say</summary><ul><li>R_comp/IO is 2.</li></ul>" in text


def test_names_are_escaped() -> None:
    """No file name or selection is taken for HTML."""
    report = made_reports.report([worker(0, t_comp=1.0, host="<script>alert(1)</script>")])
    text = report.to_html()
    stand_alone(text)
    page = Page(text)
    assert "/data/<adk> & co.xtc" in page.text
    assert "name CA & <b>" in page.text


def test_bars_are_as_long_as_stages() -> None:
    """1000 units are the longest time of the run and its workers."""
    ranks = [worker(k, rank=k, t_read=k + 1.0, t_comp=4.0, t_wait=5.0 - k) for k in range(5)]
    page = Page(made_reports.report(ranks, total=20.0).to_html())
    assert [wide for _, _, wide in page.boxes("t_read")] == pytest.approx([50, 100, 150, 200, 250])
    assert [wide for _, _, wide in page.boxes("t_comp")] == pytest.approx([200] * 5)
    assert [x for x, _, _ in page.boxes("t_comp")] == pytest.approx([50, 100, 150, 200, 250])
    assert page.boxes("t_comm") == []


def test_stream_shows_when_tasks_ran() -> None:
    """Each task lies in its worker's row at its time, with its stages."""
    tasks = [task(0, 0, 0.0, 4.0, t_read=1.0, t_comp=3.0), task(1, 1, 5.0, 10.0, t_comp=4.0)]
    ranks = [worker(0, t_merge=4.0), worker(1, t_merge=5.0)]
    page = Page(made_reports.report(ranks, tasks, total=10.0).to_html())
    assert page.boxes("t_read") == [(0, 0, 100)]
    assert page.boxes("t_comp") == [(100, 0, 300), (500, 26, 400)]
    assert page.boxes("t_overhead") == [(900, 26, 100)]


def test_stragglers_are_marked() -> None:
    """They are marked in both figures and in a table."""
    ranks = [worker(k, rank=k, t_read=2.0 + 30 * (k == 3)) for k in range(6)]
    tasks = [task(k, k, 0.0, 2.0 + 30 * (k == 3)) for k in range(6)]
    page = Page(made_reports.report(ranks, tasks).to_html())
    assert page.text.count("▲ rank 3") == 2
    assert "▲ rank 2" not in page.text
    assert "Stragglers" in page.text


def test_many_tasks_make_a_small_page() -> None:
    """10,000 tasks of 200 workers are a few elements; all of their time is drawn."""
    n = 50
    tasks = [
        task(k * n + i, k, 2.0 * i, 2.0 * i + 1.5, t_read=0.5, t_comp=1.0)
        for k in range(200)
        for i in range(n)
    ]
    ranks = [worker(k, rank=k, t_merge=75.0, t_wait=25.0) for k in range(200)]
    text = made_reports.report(ranks, tasks, total=100.0).to_html()
    page = Page(text)
    assert len(text) < 1_500_000
    assert len([tag for tag, _ in page.elements if tag not in ("td", "tr", "th")]) < 2000
    assert sum(wide for _, _, wide in page.boxes("t_read")) == pytest.approx(200 * n * 5.0)
    # 20,000 tasks of a worker, too many to be distinguished, are drawn together.
    tiny = [task(i, 0, 5e-3 * i, 5e-3 * (i + 1)) for i in range(20_000)]
    text = made_reports.report([worker(0, t_merge=100.0)], tiny, total=100.0).to_html()
    assert len(text) < 150_000
    drawn = Page(text).boxes("t_comp")
    assert len(drawn) < 1500
    assert sum(wide for _, _, wide in drawn) == pytest.approx(1000, rel=1e-3)


@pytest.mark.parametrize("total", [0.0, 1e-9, 3e7])
def test_run_may_have_any_length(total: float) -> None:
    """A run may last no time, or a year."""
    made: dict[str, Any] = {"tasks": [task(0, 0, 0.0, total)], "total": total}
    text = made_reports.report([worker(0, t_comp=total)], **made).to_html()
    assert "nan" not in Page(text).text
    assert Page(made_reports.report([worker(0)], total=total).to_html()).text


def test_histogram_counts_workers() -> None:
    """Three workers did two tasks, one did five: table 1 of the 2017 paper."""
    numbers = [0, 0, 1, 1, 2, 2, 3, 3, 3, 3, 3]
    tasks = [task(k, worker, k, k + 1.0) for k, worker in enumerate(numbers)]
    text = made_reports.report([worker(k, t_comp=9.0) for k in range(4)], tasks).to_html()
    columns = re.findall(r"<div>(\d*)(?:<i [^>]*></i>)?<span>(\d+)</span></div>", text)
    assert columns == [("3", "2"), ("", "3"), ("", "4"), ("1", "5")]
