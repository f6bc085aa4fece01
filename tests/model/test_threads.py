import threading
import time

import pytest

from vfpilco.common import interrupts
from vfpilco.model.threads import side_by_side


def test_results_are_in_the_order_of_the_items():
    assert side_by_side(lambda i: i * i, range(20)) == [i * i for i in range(20)]


def test_an_error_is_raised_where_the_results_are_wanted():
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda i: 1 // i, [1, 0])


def until_interrupted(_: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        interrupts.check()
        time.sleep(0.01)


def test_after_an_error_the_others_end_where_they_check_for_interrupts():
    begun = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda i: until_interrupted(i) if i else 1 // i, [0, 1])
    assert time.monotonic() - begun < 10


def test_an_interrupt_ends_all_of_them_and_is_announced(monkeypatch):
    announced, both = [], threading.Barrier(3)

    def work(i: int) -> None:
        both.wait(20)
        until_interrupted(i)

    def interrupted(results):  # as by Ctrl-C while the main thread waits
        both.wait(20)
        raise KeyboardInterrupt

    monkeypatch.setattr("vfpilco.model.threads.os.cpu_count", lambda: 2)
    monkeypatch.setattr("vfpilco.model.threads.list", interrupted, raising=False)
    begun = time.monotonic()
    with interrupts.announced(lambda: announced.append(1)), pytest.raises(KeyboardInterrupt):
        side_by_side(work, [0, 1])
    assert time.monotonic() - begun < 10
    assert announced == [1]
    interrupts.check()  # The program itself goes on.
