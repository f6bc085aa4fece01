from __future__ import annotations

from vfpilco.common import compiled


def test_compiled_code_is_kept_until_there_is_much_of_it(monkeypatch):
    monkeypatch.setattr(compiled, "_functions", [])
    monkeypatch.setattr(compiled, "MOST", 3)
    scaled = compiled.compiled(static_argnames="by")(lambda x, by: by * x)
    for by in range(1, 5):
        assert scaled(2.0, by=by) == 2 * by
        compiled.release()
        assert scaled._cache_size() == by % 4
    assert scaled(2.0, by=1) == 2
