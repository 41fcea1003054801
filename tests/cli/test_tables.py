"""Tables from files: what is read, and the sentence for everything that is wrong."""

import importlib.util
import io

import numpy as np
import pandas as pd
import pytest
import typer

from contextualdag.cli import tables
from contextualdag.cli.options import read_periods, split_names
from contextualdag.cli.tables import (
    categories,
    complete_rows,
    days,
    has_name,
    holds_days,
    holds_flags,
    is_mostly_numeric,
    numbers,
    read_table,
    require_columns,
    table_bytes,
)
from contextualdag.errors import ContextualDAGError


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Write a file into the working folder."""
    monkeypatch.chdir(tmp_path)

    def write(content, name="data.csv"):
        path = tables.Path(name)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_a_plain_table(file):
    frame = read_table(file("a,b,site\n1,2.5,x\n3,,y\n"))
    assert list(frame.columns) == ["a", "b", "site"]
    assert frame["a"].tolist() == [1, 3]
    assert frame["b"].isna().tolist() == [False, True]
    assert frame["site"].tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("content", "name", "options"),
    [
        (b'\xef\xbb\xbf"a","b, c"\r\n1,2\r\n', "bom.csv", {}),
        ('a;"b, c"\n1;2\n', "semicolon.csv", {"delimiter": ";"}),
        ("a\tb, c\n1\t2\n", "tab.tsv", {}),
        ("a\tb, c\n1\t2\n", "tab.csv", {"delimiter": "tab"}),
        ('\n\n a , "b, c"\n\n1 , 2\n\n', "spaces.csv", {}),
        ('a;"b, c"\n1,0;2,0\n', "european.csv", {"delimiter": ";", "decimal": ","}),
    ],
)
def test_delimiters_quotes_and_byte_order_marks(content, name, options, file):
    frame = read_table(file(content, name), **options)
    assert list(frame.columns) == ["a", "b, c"]
    assert frame.to_numpy(dtype=float).tolist() == [[1, 2]]


def test_text_stays_as_it_is_written(file):
    frame = read_table(file("a,code,flag\n1,01,TRUE\n2,02,FALSE\n"), text=["code", "not there"])
    assert frame["code"].tolist() == ["01", "02"]
    assert frame["flag"].tolist() == ["TRUE", "FALSE"]


def test_row_numbers_have_no_name(file):
    frame = read_table(file(",a,b\n0,1,2\n"))
    assert list(frame.columns) == ["unnamed column 1", "a", "b"]
    assert [has_name(name) for name in frame] == [False, True, True]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a;b;c\n1;2;3\n", "Only one column was found in data.csv: its header is 'a;b;c'. Try --delimiter ';'."),
        ("a;b,c\n1,5;2\n", None),  # two columns by the comma, so that nothing can be said yet
        ("a\tb\n1\t2\n", "Try --delimiter tab."),
        ("", "data.csv is empty."),
        (" \n\n", "data.csv is empty."),
        ("a,b\n", "data.csv has a header and no rows."),
        ("a,b,a\n1,2,3\n", "data.csv has more than one column named 'a'; rename or remove all but one."),
        ("a,b\n1,2\n1,2,3\n", "line 3 has 3 fields and the header 2; quote fields that contain the delimiter."),
        ("a,b\n1,2,3\n1,2,3\n", "data.csv has 2 names in its header and more fields in its rows"),
        ('a,b\n1,"2\n', "data.csv cannot be read as a CSV: EOF inside string"),
        (b"a,b\n\xe9,2\n", "data.csv is not UTF-8 text (line 2); save it as CSV in UTF-8."),
        (b"PK\x03\x04", "is a spreadsheet or an archive"),
        (b"PAR1", "give it a name that ends in .parquet"),
        (b"a,b\n\0,1\n", "is not text but binary data"),
    ],
)
def test_bad_tables(content, sentence, file):
    path = file(content)
    if sentence is None:
        assert read_table(path).shape == (1, 2)
        return
    with pytest.raises(ContextualDAGError) as caught:
        read_table(path)
    assert sentence in str(caught.value)


def test_files_that_are_not_there(file, tmp_path):
    file("a\n1\n", "people.csv")
    with pytest.raises(ContextualDAGError, match=r"^There is no file poeple.csv. Did you mean 'people.csv'\?$"):
        read_table(tables.Path("poeple.csv"))
    with pytest.raises(ContextualDAGError, match=r"^There is no file nowhere/x.csv.$"):
        read_table(tables.Path("nowhere/x.csv"))
    with pytest.raises(ContextualDAGError, match="is a folder where a CSV or Parquet file was expected"):
        read_table(tmp_path)


@pytest.mark.parametrize("options", [{"delimiter": ",,"}, {"decimal": ","}, {"decimal": ""}])
def test_bad_options(options, file):
    with pytest.raises(typer.BadParameter):
        read_table(file("a,b\n1,2\n"), **options)


def test_parquet(file):
    pytest.importorskip("pyarrow", reason="Parquet needs it")
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": pd.array([1, None], dtype="Int64"), "site": ["x", "y"], "code": [1, 2]})
    frame.to_parquet("data.parquet")
    read = read_table(tables.Path("data.parquet"), text=["code"])
    assert read["code"].tolist() == ["1", "2"]
    assert numbers(read, "b", tables.Path("data.parquet")).tolist()[0] == 1
    for content in (b"PAR1 and no more", b"other"):
        with pytest.raises(ContextualDAGError, match=r"broken.parquet cannot be read as a Parquet file"):
            read_table(file(content, "broken.parquet"))


def test_parquet_without_pyarrow(file, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        read_table(file(b"PAR1", "data.parquet"))


def test_nearest_names():
    with pytest.raises(ContextualDAGError, match=r"data.csv has no column 'mod'. Did you mean 'mood'") as caught:
        require_columns(pd.DataFrame({"mood": [1], "sleep": [2]}), ["sleep", "mod"], tables.Path("data.csv"))
    assert str(caught.value).endswith("Its columns are: 'mood', 'sleep'.")
    frame = pd.DataFrame({"mood, evening": [1], "sleep": [2]})
    with pytest.raises(
        ContextualDAGError, match=r"""no column 'mood'. A name with a comma needs quotes: '"mood, evening"'. Its"""
    ):
        require_columns(frame, split_names("mood, evening,sleep", "--nodes"), tables.Path("data.csv"))


def test_names_of_an_option():
    assert split_names('a, "b, c",d', "--nodes") == ["a", "b, c", "d"]
    assert split_names(None, "--nodes") == []
    assert split_names(['a,"b, c"', "d"], "--nodes") == ["a", "b, c", "d"]
    with pytest.raises(typer.BadParameter, match="Named more than once: 'a'"):
        split_names(["a", "a,b"], "--nodes")
    for wrong in ("", "a,,b", "a,a"):
        with pytest.raises(typer.BadParameter):
            split_names(wrong, "--nodes")


def test_periods():
    assert read_periods(["hour=24", "a=b = 6.28"]) == {"hour": 24, "a=b": 6.28}
    assert read_periods(None) == {}
    for wrong, sentence in (
        (["hour"], "A name and its period were expected, such as hour=24. Got 'hour'."),
        (["hour="], "The period of 'hour' must be a positive number. Got ''."),
        (["hour=-1"], "The period of 'hour' must be a positive number. Got '-1'."),
        (["hour=inf"], "The period of 'hour' must be a positive number. Got 'inf'."),
        (["hour=24", "hour=12"], "'hour' is given twice."),
    ):
        with pytest.raises(typer.BadParameter) as caught:
            read_periods(wrong)
        assert caught.value.message == sentence


def test_text_in_a_numeric_column(file):
    path = file("a,b,c,d\n1,x,TRUE,1\n2,y,FALSE,2\noops,x,TRUE,inf\n4,y,TRUE,4\n?,y,TRUE,5\n")
    frame = read_table(path)
    assert [is_mostly_numeric(frame[name]) for name in frame] == [True, False, False, True]
    with pytest.raises(ContextualDAGError) as caught:
        numbers(frame, "a", path, " Hint.")
    assert str(caught.value) == (
        "Column 'a' of data.csv must hold finite numbers, but row 3 after the header has 'oops' (2 such rows). Hint."
    )
    with pytest.raises(ContextualDAGError, match="row 3 after the header has 'inf'"):
        numbers(frame, "d", path)


def test_decimal_commas_are_recognised(file):
    path = file("a;b\n1,5;1\n2,5;2\n")
    frame = read_table(path, ";")
    assert is_mostly_numeric(frame["a"])
    with pytest.raises(ContextualDAGError, match=r"Try --decimal ','."):
        numbers(frame, "a", path)


def test_categories(file):
    path = file("site,who\nb,p1\na,p2\nb,p3\n,p4\na,p5\n")
    frame = read_table(path)
    assert categories(frame, "site", path).tolist()[:3] == ["b", "a", "b"]
    assert categories(frame, "site", path).isna().sum() == 1
    with pytest.raises(ContextualDAGError, match=r"'who' of data.csv has 5 different values in 5 rows, such as 'p1'"):
        categories(frame, "who", path)


def test_dates(file):
    written = ["2020-01-30", "2020-01-31 12:00", "2020-02-01T06:30:00+01:00", "", "2020-02-02"]
    path = file("day,n\n" + "\n".join(f"{day},1" for day in written))
    frame = read_table(path)
    assert holds_days(frame["day"])
    moments = ["2020-01-30", "2020-01-31 12:00", "2020-02-01 05:30", None, "2020-02-02"]
    assert days(frame, "day", path).equals(pd.Series(pd.to_datetime(moments, format="ISO8601")))
    for other in ("03/04/2020", "2020", "2020-01", "12:30", "soon"):
        assert not holds_days(pd.Series(["2020-01-30", other], dtype=object))
    path = file("day\n2020-01-30\n2020-02-30\n2020-13-01\n")
    with pytest.raises(ContextualDAGError, match=r"row 2 after the header has '2020-02-30' \(2 such rows\), which is none"):
        days(read_table(path), "day", path)


def test_dates_are_no_categories():
    for column in (pd.date_range("2020", periods=5), pd.to_timedelta(range(5), unit="D")):
        with pytest.raises(ContextualDAGError, match=r"Column 'day' of data.csv holds dates, times of day or spans of time"):
            categories(pd.DataFrame({"day": column}), "day", tables.Path("data.csv"))


def test_missing_values(file):
    path = file("a,b\n1,2\n,2\n3,\n4,5\n")
    frame = read_table(path)
    with pytest.raises(ContextualDAGError) as caught:
        complete_rows([frame], path, False, "Do something.")
    assert str(caught.value) == (
        "2 of the 4 rows of data.csv have missing values, in 'a' (1), 'b' (1); the first is row 2 after the header. "
        "Do something."
    )
    (kept,) = complete_rows([frame], path, True, "")
    assert kept["a"].tolist() == [1, 4]
    with pytest.raises(ContextualDAGError, match=r"All 2 rows of data.csv have missing values"):
        complete_rows([frame.iloc[1:3]], path, True, "")
    with pytest.raises(
        ContextualDAGError, match=r"Column 'a' of data.csv has no values: all 4 are missing\. Fill it in, or fit"
    ):
        complete_rows([frame.assign(a=np.nan)], path, True, "")
    with pytest.raises(ContextualDAGError, match=r"Columns 'a', 'b' of data.csv have no values: all 4 are missing\."):
        complete_rows([frame * np.nan], path, False, "")


@pytest.mark.parametrize("written", [("True", "False"), ("TRUE", "FALSE"), ("true", "false")])
def test_true_and_false_are_numbers_where_numbers_are_asked_for(written, file):
    path = file("a,flag\n1,{}\n2,{}\n3,\n".format(*written))
    frame = read_table(path)
    assert holds_flags(frame["flag"])
    assert not is_mostly_numeric(frame["flag"])  # as a context they are categories
    np.testing.assert_array_equal(numbers(frame, "flag", path), [1, 0, np.nan])
    assert categories(frame, "flag", path).dropna().str.lower().tolist() == ["true", "false"]
    for other in (pd.Series(["yes", "no"]), pd.Series([1, 0]), pd.Series([None, None]), pd.Series(["true", "1"])):
        assert not holds_flags(other)


def test_columns_of_parquet_that_hold_neither_numbers_nor_text(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="Parquet needs it")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "data.parquet"
    strange = {"list": [[1, 2]] * 4, "struct": [{"x": 1}] * 4, "bytes": [b"u", b"v"] * 2}
    parquet.write_table(pa.table(strange | {"": [1.0] * 4, "flag": [True, None] * 2}), path)
    frame = read_table(path)
    assert list(frame.columns) == [*strange, "unnamed column 4", "flag"]
    np.testing.assert_array_equal(numbers(frame, "flag", path), [1, np.nan] * 2)
    for name in strange:
        with pytest.raises(ContextualDAGError, match=f"Column '{name}' of .* It must hold numbers or text"):
            categories(frame, name, path)
    parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), path)
    with pytest.raises(ContextualDAGError, match="has more than one column named 'a'"):
        read_table(path)


def test_cells_of_a_csv_are_no_formulas():
    frame = pd.DataFrame({"source": ["=1+1", "a\rb", "'-1"], "weight": [-1.0, 2, 3], "outside": [True, False, True]})
    text = table_bytes(frame, "csv").decode()
    assert text == """"source","weight","outside"\n"'=1+1",-1.0,True\n"a\rb",2.0,False\n"''-1",3.0,True\n"""
    read = pd.read_csv(io.StringIO(text, newline=""))
    assert read["source"].tolist() == ["'=1+1", "a\rb", "''-1"]
    assert table_bytes(frame.iloc[:1], "csv") == b"source,weight,outside\n'=1+1,-1.0,True\n"
