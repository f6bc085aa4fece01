import pytest

from vfpilco.model.threads import side_by_side


def test_results_are_in_the_order_of_the_items():
    assert side_by_side(lambda i: i * i, range(20)) == [i * i for i in range(20)]


def test_an_error_is_raised_where_the_results_are_wanted():
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda i: 1 // i, [1, 0])
