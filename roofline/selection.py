"""The larger, the smaller, one or the other: numpy's element-wise selections, for plain numbers without the cost of an
array call.

A prediction makes some two hundred selections. On arrays each is numpy's own; on numbers of shape () numpy takes about
a microsecond for what a comparison settles. Results are the same to the bit, nan included.
"""

from typing import Any

import numpy as np

Column = Any  # a number or an array; all columns of a call broadcast
_NUMBERS = frozenset((int, float, np.int8, np.int64, np.float32, np.float64))
_PLAIN = _NUMBERS | {bool, np.bool_}  # a truth is no number: numpy would make it one


def maximum(first: Column, second: Column) -> Column:
    """The larger of two columns, element by element; nan where either is nan.

    >>> maximum(2.0, 3.0), maximum(np.array([1.0, 5.0]), 3.0).tolist()
    (3.0, [3.0, 5.0])
    """
    if type(first) in _NUMBERS and type(second) in _NUMBERS:
        return first if first >= second or first != first else second
    return np.maximum(first, second)


def minimum(first: Column, second: Column) -> Column:
    """The smaller of two columns, element by element; nan where either is nan.

    >>> minimum(2.0, 3.0), minimum(np.array([1.0, 5.0]), 3.0).tolist()
    (2.0, [1.0, 3.0])
    """
    if type(first) in _NUMBERS and type(second) in _NUMBERS:
        return first if first <= second or first != first else second
    return np.minimum(first, second)


def pick(condition: Column, yes: Column, no: Column) -> Column:
    """`yes` where the condition holds, else `no`. A condition of shape () picks one of the columns as it is.

    >>> pick(True, 2.0, 3.0), pick(np.array([True, False]), 2.0, 3.0).tolist()
    (2.0, [2.0, 3.0])
    """
    if type(condition) in _PLAIN:
        return yes if condition else no
    return np.where(condition, yes, no)


def indicator(condition: Column) -> Column:
    """1.0 where the condition holds, else 0.0: a factor.

    >>> indicator(True), indicator(np.array([True, False])).tolist()
    (1.0, [1.0, 0.0])
    """
    if type(condition) in _PLAIN:
        return 1.0 if condition else 0.0
    return condition.astype(float)


def some(condition: Column) -> bool:
    """Whether a condition holds anywhere.

    >>> some(False), some(np.array([True, False]))
    (False, True)
    """
    return bool(condition if type(condition) in _PLAIN else condition.any())


def every(condition: Column) -> bool:
    """Whether a condition holds everywhere.

    >>> every(True), every(np.array([True, False]))
    (True, False)
    """
    return bool(condition if type(condition) in _PLAIN else condition.all())


def missing(column: Column) -> Column:
    """True where a number is not known: nan.

    >>> missing(np.nan), missing(np.array([np.nan, 1.0])).tolist()
    (True, [True, False])
    """
    return column != column
