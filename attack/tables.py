"""Tables in every container and of every type of value, each with what must be read from it.

`VARIABLES` are tables for X, `CONTEXTS` for Z. What cannot be read must be refused with an error of the library; what can
must give these values and no others.
"""

import datetime
import decimal
import fractions
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import torch
from scipy import sparse

Column = Sequence[float] | Sequence[str]

NUMBERS = (3, 0, 1, 7, 2, 5, 1, 0, 4, 6, 2, 3)  # whole, and small enough for every type
OTHERS = (1, 2, 0, 0, 5, 1, 6, 3, 2, 2, 7, 4)
FLAGS = (True, False, False, True, True, False, True, False, True, True, False, False)
WORDS = ("u", "v", "v", "w", "u", "u", "v", "w", "w", "u", "v", "u")
N = len(NUMBERS)
HOLES = (1, 4)  # rows that are missing where some are
NAN = float("nan")


@dataclass(frozen=True)
class Case:
    """A table, and its columns as they must be read; `columns` is None where it must be refused.

    Missing values are NaN. Categories are text.
    """

    name: str
    make: Callable[[], Any]
    columns: tuple[Column, ...] | None


def with_holes(values: Sequence[Any], hole: Any) -> list[Any]:
    """The values with a hole in some rows."""
    return [hole if row in HOLES else value for row, value in enumerate(values)]


NUMBERS_WITH_HOLES = tuple(map(float, with_holes(NUMBERS, NAN)))
FLAGS_AS_NUMBERS = tuple(map(float, FLAGS))
FLAGS_AS_WORDS = tuple(map(str, FLAGS))
FLAGS_WITH_HOLES = tuple(map(float, with_holes(FLAGS, NAN)))
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=day) for day in range(N)]
TIMES = [datetime.datetime(2024, 1, 1, hour) for hour in range(N)]
SPANS = [datetime.timedelta(hours=hour) for hour in range(N)]
BOTH = np.array([NUMBERS, OTHERS], dtype=float).T


def _arrays() -> Iterator[Case]:
    """Arrays of NumPy of every type."""
    both = (NUMBERS, OTHERS)
    for dtype in [*INTEGERS, "float16", "float32", "float64", "longdouble", ">f8", "<f4", ">i4", ">u2", "object"]:
        yield Case(f"array of {dtype}", partial(BOTH.astype, dtype), both)
    yield Case("array in columns", lambda: np.asfortranarray(BOTH), both)
    yield Case("array with gaps", lambda: np.repeat(BOTH, 3, axis=1)[:, ::3], both)
    yield Case("array backwards", lambda: BOTH[::-1][::-1], both)
    yield Case("array read only", _read_only, both)
    yield Case("array broadcast", lambda: np.broadcast_to(BOTH[:, :1], (N, 2)), (NUMBERS, NUMBERS))
    yield Case("matrix", _matrix, both)
    yield Case("array of complex", lambda: BOTH.astype(complex), None)
    yield Case("array of dates", lambda: np.array([DAYS, DAYS], dtype="M8[D]").T, None)
    yield Case("array of spans", lambda: np.array([SPANS, SPANS], dtype="m8[s]").T, None)
    yield Case("array of bytes of any kind", lambda: np.full((N, 2), b"ab").view("V2"), None)
    yield Case("array without rows", lambda: np.zeros((0, 2)), ((), ()))
    yield Case("array without columns", lambda: np.zeros((N, 0)), None)
    yield Case("array of no dimension", lambda: np.array(3.0), None)
    yield Case("array of three dimensions", lambda: np.zeros((N, 2, 2)), None)
    yield Case("array of records", lambda: pd.DataFrame(BOTH, columns=["a", "b"]).to_records(index=False), None)
    yield Case("array of records without rows", lambda: pd.DataFrame(BOTH)[:0].to_records(index=False), None)
    yield Case("array with infinity", lambda: np.where(BOTH == 7, np.inf, BOTH), None)
    holes = np.zeros((N, 2), dtype=bool)
    holes[list(HOLES), 0] = True
    missing = (NUMBERS_WITH_HOLES, OTHERS)
    for dtype in ("float64", "float32", "int64", "uint8", "object"):
        yield Case(f"masked array of {dtype}", partial(_masked, dtype, holes), missing)
    yield Case("masked array with nothing masked", lambda: np.ma.masked_array(BOTH), both)
    yield Case("masked array with a hard mask", lambda: np.ma.masked_array(BOTH, holes, hard_mask=True), missing)
    yield Case("masked array with a fill value", lambda: np.ma.masked_array(BOTH, holes, fill_value=-999.0), missing)
    yield Case("array of NaN in places", lambda: np.where(holes, np.nan, BOTH), missing)


def _masked(dtype: str, holes: Any) -> Any:
    return np.ma.masked_array(BOTH.astype(dtype), holes)


def _matrix() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it will be removed some day
        return np.matrix(BOTH)


def _read_only() -> Any:
    array = BOTH.copy()
    array.flags.writeable = False
    return array


def _sequences() -> Iterator[Case]:
    """Lists, tensors, and what is no table."""
    both = (NUMBERS, OTHERS)
    yield Case("list of lists", lambda: BOTH.tolist(), both)
    yield Case("list of tuples", lambda: [tuple(row) for row in BOTH.tolist()], both)
    yield Case("tuple of arrays", lambda: tuple(BOTH), both)
    yield Case("list with None", lambda: [[a, b] for a, b in zip(with_holes(NUMBERS, None), OTHERS, strict=True)],
               (NUMBERS_WITH_HOLES, OTHERS))  # fmt: skip
    yield Case("list of fractions", lambda: [[fractions.Fraction(a), b] for a, b in BOTH.tolist()], both)
    yield Case("list of decimals", lambda: [[decimal.Decimal(int(a)), b] for a, b in BOTH.tolist()], both)
    yield Case("ragged list", lambda: [[1.0, 2.0], [3.0]] * 6, None)
    yield Case("list of a very large integer", lambda: [[10**400, 1.0], [2.0, 3.0]] * 6, None)
    yield Case("list of complex numbers", lambda: [[1j, 1.0], [2.0, 3.0]] * 6, None)
    yield Case("list of objects", lambda: [[object(), 1.0], [2.0, 3.0]] * 6, None)
    yield Case("list of lists of lists", lambda: [[[1.0], [2.0]]] * N, None)
    yield Case("list of empty lists", lambda: [[]] * N, None)
    yield Case("generator", lambda: (row for row in BOTH.tolist()), None)
    yield Case("set", lambda: {1.0, 2.0}, None)
    yield Case("dict of columns", lambda: {"a": NUMBERS, "b": OTHERS}, None)
    yield Case("text", lambda: "1,2", None)
    yield Case("None", lambda: None, None)
    yield Case("number", lambda: 3.0, None)
    yield Case("memory", lambda: np.ascontiguousarray(BOTH).data, both)
    for kind in ("csr_array", "csc_array", "coo_array", "csr_matrix"):
        yield Case(f"sparse, {kind}", partial(getattr(sparse, kind), BOTH), None)
    for dtype in (torch.float16, torch.float32, torch.float64, torch.int8, torch.int64, torch.uint8):
        yield Case(f"tensor of {dtype}", partial(torch.tensor(BOTH).to, dtype), both)
    yield Case("tensor of torch.bfloat16", lambda: torch.tensor(BOTH).to(torch.bfloat16), both)
    yield Case("tensor with a gradient", lambda: torch.tensor(BOTH, requires_grad=True), both)
    yield Case("tensor without rows", lambda: torch.zeros(0, 2), ((), ()))
    yield Case("tensor that is sparse", lambda: torch.tensor(BOTH).to_sparse(), None)
    yield Case("tensor of complex numbers", lambda: torch.tensor(BOTH).to(torch.complex64), None)
    yield Case("tensor without data", lambda: torch.zeros(N, 2, device="meta"), None)


def _pandas(column: Any) -> Callable[[], Any]:
    return lambda: pd.DataFrame({"a": column(), "b": np.array(OTHERS, dtype=float)})


def _frames() -> Iterator[Case]:
    """Data frames of pandas, polars and Arrow, with numbers of every type."""
    both, missing = (NUMBERS, OTHERS), (NUMBERS_WITH_HOLES, OTHERS)
    of_pandas = [*INTEGERS, "float16", "float32", "float64", "object", "Int8", "UInt16", "Int64", "Float32", "Float64"]
    of_pandas += ["int32[pyarrow]", "uint8[pyarrow]", "float[pyarrow]", "double[pyarrow]", "Sparse[float]", "Sparse[int]"]
    for dtype in of_pandas:
        yield Case(f"pandas {dtype}", _pandas(partial(pd.Series(NUMBERS).astype, dtype)), both)
    for dtype in ("Int8", "UInt16", "Int64", "Float32", "Float64", "int32[pyarrow]", "double[pyarrow]"):
        made = partial(pd.array, with_holes(NUMBERS, pd.NA), dtype=dtype)
        yield Case(f"pandas {dtype} with holes", _pandas(made), missing)
    for name, hole in (
        ("None", None),
        ("NaN", NAN),
        ("NA", pd.NA),
        ("NaT", pd.NaT),
        ("decimal NaN", decimal.Decimal("nan")),
    ):
        made = partial(pd.Series, with_holes(NUMBERS, hole), dtype=object)
        yield Case(f"pandas objects with {name}", _pandas(made), missing)
    yield Case("pandas decimals", _pandas(lambda: pd.Series(list(map(decimal.Decimal, NUMBERS)), dtype=object)), both)
    yield Case("pandas fractions", _pandas(lambda: pd.Series(list(map(fractions.Fraction, NUMBERS)), dtype=object)), both)
    yield Case("pandas scalars", _pandas(lambda: pd.Series(list(map(np.float32, NUMBERS)), dtype=object)), both)
    yield Case("pandas with other labels", lambda: pd.DataFrame(BOTH, index=range(50, 50 + N)), both)
    yield Case("pandas with whole names", lambda: pd.DataFrame(BOTH, columns=[1, 0]), both)
    levels = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    yield Case("pandas with levels of names", lambda: pd.DataFrame(BOTH, columns=levels), both)
    yield Case("pandas with names that become the same", lambda: pd.DataFrame(BOTH, columns=[1, "1"]), None)
    yield Case("pandas with the same name twice", lambda: pd.DataFrame(BOTH, columns=["a", "a"]), None)
    yield Case("pandas without rows", lambda: pd.DataFrame(BOTH, columns=["a", "b"])[:0], ((), ()))
    yield Case("pandas without columns", lambda: pd.DataFrame(index=range(N)), None)
    yield Case("pandas objects with infinity", _pandas(lambda: pd.Series(with_holes(NUMBERS, np.inf), dtype=object)), None)
    yield Case("pandas objects of 400 digits", _pandas(lambda: pd.Series(with_holes(NUMBERS, 10**400), dtype=object)), None)
    whole: list[Any] = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128, pl.UInt8, pl.UInt64]
    for kind in [*whole, pl.Float32, pl.Float64, pl.Decimal(10, 2)]:
        yield Case(f"polars {kind}", partial(_polars, NUMBERS, kind), both)
        yield Case(f"polars {kind} with holes", partial(_polars, with_holes(NUMBERS, None), kind), missing)
    yield Case("polars without rows", lambda: _polars(NUMBERS, pl.Float64)[:0], ((), ()))
    yield Case("polars without columns", pl.DataFrame, None)
    yield Case("polars that is lazy", lambda: _polars(NUMBERS, pl.Float64).lazy(), None)
    for kind in (pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(25, 2)):
        yield Case(f"arrow {kind}", partial(_arrow, NUMBERS, kind), both)
        yield Case(f"arrow {kind} with holes", partial(_arrow, with_holes(NUMBERS, None), kind), missing)
        yield Case(f"arrow batch of {kind}", partial(_first_batch, partial(_arrow, NUMBERS, kind)), both)
    yield Case(
        "arrow in pieces", lambda: pa.concat_tables([_arrow(NUMBERS, pa.int64()).slice(k, 3) for k in (0, 3, 6, 9)]), both
    )
    nothing = ((NAN,) * N, OTHERS)
    yield Case("pandas nothing but NA", _pandas(lambda: pd.array([pd.NA] * N, dtype="Int64")), nothing)
    yield Case("polars nothing", lambda: _polars([None] * N, pl.Null), nothing)
    yield Case("arrow nothing", lambda: _arrow([None] * N, pa.null()), nothing)
    yield Case("pandas nothing but None", _pandas(lambda: pd.Series([None] * N, dtype=object)), nothing)
    yield Case("arrow without rows", lambda: _arrow(NUMBERS, pa.int64())[:0], ((), ()))
    yield Case("arrow with the same name twice", lambda: pa.table([NUMBERS, OTHERS], names=["a", "a"]), None)


def _polars(values: Any, dtype: Any) -> Any:
    return pl.DataFrame({"a": pl.Series(values).cast(dtype), "b": pl.Series(OTHERS).cast(pl.Float64)})


def _arrow(values: Any, dtype: Any) -> Any:
    return pa.table({"a": pa.array(values).cast(dtype), "b": pa.array(OTHERS, type=pa.float64())})


def _first_batch(make: Callable[[], Any]) -> Any:
    return make().to_batches()[0]


def _columns_of_no_meaning() -> Iterator[Case]:
    """Columns of frames that are neither numbers, nor flags, nor categories."""
    made: dict[str, Callable[[], Any]] = {
        "pandas complex": lambda: pd.Series(NUMBERS).astype(complex),
        "pandas datetimes": lambda: pd.to_datetime(TIMES),
        "pandas datetimes with a zone": lambda: pd.to_datetime(TIMES).tz_localize("Europe/London"),
        "pandas datetimes with NaT": lambda: pd.to_datetime(with_holes(TIMES, pd.NaT)),
        "pandas timedeltas": lambda: pd.to_timedelta(SPANS),
        "pandas timedeltas with NaT": lambda: pd.to_timedelta(with_holes(SPANS, pd.NaT)),
        "pandas nothing but NaT": lambda: pd.to_datetime([pd.NaT] * N),
        "pandas periods": lambda: pd.period_range("2024-01", periods=N, freq="M"),
        "pandas periods with NaT": lambda: pd.PeriodIndex(
            with_holes(pd.period_range("2024-01", periods=N, freq="M"), pd.NaT)
        ),
        "pandas intervals": lambda: pd.interval_range(0, N, periods=N),
        "pandas objects of dates": lambda: pd.Series(DAYS, dtype=object),
        "pandas objects of dates with None": lambda: pd.Series(with_holes(DAYS, None), dtype=object),
        "pandas objects of times of day": lambda: pd.Series([time.time() for time in TIMES], dtype=object),
        "pandas objects of spans": lambda: pd.Series(SPANS, dtype=object),
        "pandas arrow timestamps": lambda: pd.array(TIMES, dtype="timestamp[us][pyarrow]"),
        "pandas arrow spans": lambda: pd.array(SPANS, dtype="duration[us][pyarrow]"),
        "pandas objects that are lists": lambda: pd.Series([[1, 2]] * N, dtype=object),
        "pandas objects that are arrays": lambda: pd.Series([np.zeros(2)] * N, dtype=object),
        "pandas objects that are dicts": lambda: pd.Series([{"a": 1}] * N, dtype=object),
        "pandas objects that are complex": lambda: pd.Series([1j] * N, dtype=object),
        "pandas objects that are bytes": lambda: pd.Series([b"u", b"v"] * (N // 2), dtype=object),
        "pandas objects of many kinds": lambda: pd.Series(with_holes(NUMBERS, object()), dtype=object),
        "pandas numbers as text": lambda: pd.Series([f"{number / 7:.6f}" for number in range(N)]),
        "pandas numbers as objects of text": lambda: pd.Series([f"{number / 7:.6f}" for number in range(N)], dtype=object),
        "pandas all different text": lambda: pd.Series([f"person {number}" for number in range(N)]),
        "pandas dates as text": lambda: pd.Series([day.isoformat() for day in DAYS]),
        "pandas text with a lone surrogate": lambda: pd.Series(["\ud800", "b"] * (N // 2), dtype=object),
    }
    for name, column in made.items():
        yield Case(name, _pandas(column), None)
    of_polars = {
        "dates": pl.Series(DAYS),
        "datetimes": pl.Series(TIMES),
        "datetimes with a zone": pl.Series(TIMES).dt.replace_time_zone("Europe/London"),
        "durations": pl.Series(SPANS),
        "durations with holes": pl.Series(with_holes(SPANS, None)),
        "times of day": pl.Series([time.time() for time in TIMES]),
        "lists": pl.Series([[1, 2]] * N),
        "arrays": pl.Series([[1, 2]] * N).cast(pl.Array(pl.Int64, 2)),
        "structs": pl.Series([{"x": 1}] * N),
        "bytes": pl.Series([b"u", b"v"] * (N // 2)),
        "objects": pl.Series([object()] * N, dtype=pl.Object),
        "all different text": pl.Series([f"person {number}" for number in range(N)]),
    }
    for name, series in of_polars.items():
        yield Case(f"polars {name}", partial(pl.DataFrame, {"a": series, "b": pl.Series(OTHERS)}), None)
    of_arrow = {
        "dates": pa.array(DAYS),
        "timestamps": pa.array(TIMES),
        "timestamps with a zone": pa.array(TIMES, pa.timestamp("s", "Europe/London")),
        "durations": pa.array(SPANS),
        "durations with holes": pa.array(with_holes(SPANS, None), pa.duration("s")),
        "times of day": pa.array([time.time() for time in TIMES]),
        "lists": pa.array([[1, 2]] * N),
        "structs": pa.array([{"x": 1}] * N),
        "bytes": pa.array([b"u", b"v"] * (N // 2)),
        "all different text": pa.array([f"person {number}" for number in range(N)]),
    }
    for name, array in of_arrow.items():
        yield Case(f"arrow {name}", partial(pa.table, {"a": array, "b": pa.array(OTHERS)}), None)


def _flags() -> Iterator[tuple[str, Callable[[], Any], bool]]:
    """Columns of flags, and whether they have holes."""
    yield "array of bool", lambda: np.array([FLAGS, FLAGS]).T, False
    yield "array of objects of bool", lambda: np.array([FLAGS, FLAGS], dtype=object).T, False
    yield "tensor of bool", lambda: torch.tensor([FLAGS, FLAGS]).T, False
    yield "list of bool", lambda: [[flag, flag] for flag in FLAGS], False
    for dtype in ("bool", "boolean", "bool[pyarrow]", "object"):
        yield f"pandas {dtype}", partial(_twice, pd.Series(FLAGS).astype(dtype)), False
    yield "pandas numpy flags", lambda: _twice(pd.Series(list(map(np.bool_, FLAGS)), dtype=object)), False
    yield "polars flags", lambda: pl.DataFrame({"a": FLAGS, "b": FLAGS}), False
    yield "arrow flags", lambda: pa.table({"a": FLAGS, "b": FLAGS}), False
    for dtype in ("boolean", "bool[pyarrow]"):
        yield f"pandas {dtype} with holes", partial(_twice, pd.array(with_holes(FLAGS, pd.NA), dtype=dtype)), True
    yield "pandas object flags with None", lambda: _twice(pd.Series(with_holes(FLAGS, None), dtype=object)), True
    yield "polars flags with holes", lambda: pl.DataFrame({"a": with_holes(FLAGS, None), "b": with_holes(FLAGS, None)}), True
    yield "arrow flags with holes", lambda: pa.table({"a": with_holes(FLAGS, None), "b": with_holes(FLAGS, None)}), True


def _twice(column: Any) -> Any:
    return pd.DataFrame({"a": column, "b": column})


def _words() -> Iterator[tuple[str, Callable[[], Any], tuple[str, ...] | None]]:
    """Columns of categories, which only contexts can have, and the categories that must be read; None if refused."""
    yield "array of text", lambda: np.array([WORDS, WORDS]).T, WORDS
    yield "array of objects of text", lambda: np.array([WORDS, WORDS], dtype=object).T, WORDS
    yield "list of text", lambda: [[word, word] for word in WORDS], WORDS
    if hasattr(np.dtypes, "StringDType"):  # NumPy 2
        yield "array of wide text", lambda: np.array([WORDS, WORDS], dtype=np.dtypes.StringDType()).T, WORDS
    for dtype in ("str", "object", "string", "string[pyarrow]", "string[python]", "category"):
        yield f"pandas {dtype}", partial(_twice, pd.Series(WORDS).astype(dtype)), WORDS
    yield (
        "pandas category of codes",
        lambda: _twice(pd.Series(NUMBERS).mod(3).astype("category")),
        _text(n % 3 for n in NUMBERS),
    )
    yield (
        "pandas codes as text",
        lambda: _twice(pd.Series(f"0{n % 3}" for n in NUMBERS)),
        _text(f"0{n % 3}" for n in NUMBERS),
    )
    yield "pandas category of flags", lambda: _twice(pd.Series(FLAGS).astype("category")), FLAGS_AS_WORDS
    numbers_and_words = [n % 3 if n else "none" for n in NUMBERS]
    yield (
        "pandas objects of numbers and text",
        lambda: _twice(pd.Series(numbers_and_words, dtype=object)),
        _text(numbers_and_words),
    )
    same = [1, 1.0, "x"] * (N // 3)
    yield "pandas objects of equal numbers", lambda: _twice(pd.Series(same, dtype=object)), _text([1, 1, "x"] * (N // 3))
    yield "pandas text with None", lambda: _twice(pd.Series(with_holes(WORDS, None), dtype=object)), None
    yield "pandas category with holes", lambda: _twice(pd.Series(with_holes(WORDS, None)).astype("category")), None
    yield "pandas string with NA", lambda: _twice(pd.array(with_holes(WORDS, pd.NA), dtype="string")), None
    for kind in (pl.String, pl.Categorical, pl.Enum(["u", "v", "w"])):
        yield f"polars {kind}", partial(_polars_twice, WORDS, kind), WORDS
        yield f"polars {kind} with holes", partial(_polars_twice, with_holes(WORDS, None), kind), None
    views = [] if int(pa.__version__.split(".")[0]) < 18 else [pa.string_view()]  # older versions cannot make them
    for arrow in (pa.string(), pa.large_string(), *views, pa.dictionary(pa.int8(), pa.string())):
        yield f"arrow {arrow}", partial(_arrow_twice, WORDS, arrow), WORDS
        yield f"arrow {arrow} with holes", partial(_arrow_twice, with_holes(WORDS, None), arrow), None
    yield "arrow batch of text", partial(_first_batch, partial(_arrow_twice, WORDS, pa.string())), WORDS


def _text(values: Any) -> tuple[str, ...]:
    return tuple(map(str, values))


def _polars_twice(values: Any, dtype: Any) -> Any:
    return pl.DataFrame({"a": pl.Series(values).cast(dtype), "b": pl.Series(values).cast(dtype)})


def _arrow_twice(values: Any, dtype: Any) -> Any:
    array = pa.array(values, pa.string())
    array = array.dictionary_encode() if pa.types.is_dictionary(dtype) else array.cast(dtype)
    return pa.table({"a": array, "b": array})


def _numeric() -> Iterator[Case]:
    for cases in (_arrays, _sequences, _frames, _columns_of_no_meaning):
        yield from cases()


def _variables() -> Iterator[Case]:
    yield from _numeric()
    for name, make, holes in _flags():
        yield Case(name, make, ((FLAGS_WITH_HOLES if holes else FLAGS_AS_NUMBERS),) * 2)
    yield Case("empty list", list, None)
    yield Case("series of pandas", lambda: pd.Series(NUMBERS, name="a"), None)
    for name, make, words in _words():
        columns: tuple[Column, ...] | None = None
        if name == "pandas category of codes" and words:
            columns = (tuple(map(float, words)),) * 2
        elif name == "pandas category of flags":
            columns = (FLAGS_AS_NUMBERS,) * 2
        yield Case(name, make, columns)


BY_DAY, BY_HOUR = tuple(map(float, range(N))), tuple(hour / 24 for hour in range(N))
READ_AS_DAYS: dict[str, Column] = {
    "array of dates": BY_DAY,
    "pandas datetimes": BY_HOUR,
    "pandas datetimes with a zone": BY_HOUR,
    "pandas periods": tuple(float((datetime.date(2024, month, 1) - DAYS[0]).days) for month in range(1, N + 1)),
    "pandas objects of dates": BY_DAY,
    "pandas arrow timestamps": BY_HOUR,
    "polars dates": BY_DAY,
    "polars datetimes": BY_HOUR,
    "polars datetimes with a zone": BY_HOUR,
    "arrow dates": BY_DAY,
    "arrow timestamps": BY_HOUR,
    "arrow timestamps with a zone": BY_HOUR,
}


def _contexts() -> Iterator[Case]:
    yield Case("list of numbers", lambda: list(NUMBERS), (NUMBERS,))
    yield Case("series of pandas", lambda: pd.Series(NUMBERS, name="a"), (NUMBERS,))
    yield Case("series of polars", lambda: pl.Series("a", NUMBERS), (NUMBERS,))
    yield Case("array of Arrow", lambda: pa.chunked_array([NUMBERS]), (NUMBERS,))
    yield Case("list of text and numbers", lambda: [[*row] for row in zip(WORDS, NUMBERS, strict=True)], (WORDS, NUMBERS))
    for case in _numeric():
        if case.name in READ_AS_DAYS:
            both = "array" in case.name
            days = READ_AS_DAYS[case.name]
            yield Case(case.name, case.make, (days, days if both else OTHERS))
            continue
        has_holes = case.columns is not None and any(value != value for column in case.columns for value in column)
        yield Case(case.name, case.make, None if has_holes else case.columns)
    for name, make, holes in _flags():
        yield Case(name, make, None if holes else (FLAGS_AS_WORDS,) * 2)
    for name, make, words in _words():
        yield Case(name, make, None if words is None else (words,) * 2)


VARIABLES = tuple(_variables())
CONTEXTS = tuple(_contexts())
