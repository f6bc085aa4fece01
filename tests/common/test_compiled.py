from __future__ import annotations

from vfpilco.common import compiled


def test_compiled_code_is_kept_until_there_is_much_of_it(monkeypatch):
    monkeypatch.setattr(compiled, "_functions", [])
    monkeypatch.setattr(compiled, "MOST", 3)
    scaled = compiled.compiled(static_argnames="by")(lambda x, by: by * x)
    for by in range(1, 5):
        assert scaled(2.0, by=by) == 2 * by
        compiled.release()
        assert compiled._functions[0]._cache_size() == by % 4
    assert scaled(2.0, by=1) == 2


def test_compiling_is_announced_once_and_only_when_it_happens(monkeypatch):
    monkeypatch.setattr(compiled, "_functions", [])
    inner = compiled.compiled()(lambda x: x + 1)
    outer = compiled.compiled()(lambda x: 2 * inner(x))
    heard: list[bool] = []
    with compiled.announced(heard.append):
        assert outer(1.0) == 4
        assert heard == [True, True, False]
        outer(2.0)
        assert len(heard) == 3
    inner(1)
    assert len(heard) == 3
