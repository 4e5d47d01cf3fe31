"""Ways to write a token otherwise: numbers in words, dates and times in other formats, cases, roundings, units."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

__all__ = ["WRITERS", "cardinal", "kind_of"]

ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
SCALES = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"))
ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
ROMAN = tuple(
    zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"),
        strict=True,
    )
)
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
KINDS = (
    ("date", re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}")),
    ("time", re.compile(r"\d{1,2}:\d{2}(:\d{2})?")),
    ("decimal", re.compile(r"\d+\.\d+|\d{1,3}(,\d{3})+(\.\d+)?|\d+,\d+")),
    ("whole", re.compile(r"\d+")),
    ("capital", re.compile(r"[^\W\d_a-z]+")),
    ("name", re.compile(r"[A-Z][^\W\d_]+")),
    ("word", re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")),
)

Writer = Callable[[str], str]


def kind_of(token: str) -> str:
    """date, time, decimal, whole, capital, name, word, mixed (letters and digits) or mark."""
    for kind, pattern in KINDS:
        if pattern.fullmatch(token):
            return kind
    return "mixed" if re.search(r"\w", token) else "mark"


def cardinal(n: int, link: str = "", dash: str = " ") -> str:
    """A whole number in words; ``link`` stands before the last part under a hundred (British "and")."""
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10] + (dash + ONES[n % 10] if n % 10 else "")
    for size, name in SCALES:
        if n >= size:
            rest = n % size
            joint = f" {link} " if link and rest < 100 else " "
            return f"{cardinal(n // size, link, dash)} {name}" + (joint + cardinal(rest, link, dash) if rest else "")
    raise ValueError(n)


def ordinal(n: int, dash: str = " ") -> str:
    """A whole number's rank in words."""
    head, last = re.fullmatch(r"(.*?)([a-z]+)", cardinal(n, dash=dash)).groups()  # type: ignore[union-attr]
    return head + (ORDINALS.get(last) or (last[:-1] + "ieth" if last.endswith("y") else last + "th"))


def ranked(n: int) -> str:
    """A rank in digits, such as 2nd."""
    return f"{n}{'th' if 10 <= n % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"


def year(n: int) -> str:
    """A year in words, by hundreds."""
    if not 1000 <= n <= 9999 or n // 100 % 10 == 0:
        return cardinal(n)
    low = n % 100
    return f"{cardinal(n // 100)} " + ("hundred" if low == 0 else f"oh {ONES[low]}" if low < 10 else cardinal(low))


def roman(n: int) -> str:
    """Roman numerals up to 3,999."""
    if not 0 < n < 4000:
        raise ValueError(n)
    found = ""
    for size, sign in ROMAN:
        found, n = found + sign * (n // size), n % size
    return found


def digits(token: str) -> str:
    """Digit by digit."""
    return " ".join(ONES[int(c)] for c in token if c.isdigit())


def value(token: str) -> float:
    """The value of a number with a decimal point or commas between thousands."""
    return float(re.sub(r",(?=\d{3}\b)", "", token).replace(",", "."))


def point(token: str) -> str:
    """A decimal in words."""
    whole, _, part = re.sub(r",(?=\d{3}\b)", "", token).replace(",", ".").partition(".")
    return cardinal(int(whole)) + (f" point {digits(part)}" if part else "")


def parsed(token: str, order: str) -> dt.date:
    """A date whose numbers stand in this order, such as dmy."""
    parts = dict(zip(order, (int(n) for n in re.findall(r"\d+", token)), strict=True))
    full = parts["y"] + (0 if parts["y"] > 99 else 2000 if parts["y"] < 50 else 1900)
    return dt.date(full, parts["m"], parts["d"])


DATE_FORMS: dict[str, Callable[[dt.date], str]] = {
    "Y-m-d": lambda d: f"{d.year:04}-{d.month:02}-{d.day:02}",
    "Y/m/d": lambda d: f"{d.year:04}/{d.month:02}/{d.day:02}",
    "Ymd": lambda d: f"{d.year:04}{d.month:02}{d.day:02}",
    "d.m.Y": lambda d: f"{d.day:02}.{d.month:02}.{d.year}",
    "d/m/Y": lambda d: f"{d.day:02}/{d.month:02}/{d.year}",
    "m/d/Y": lambda d: f"{d.month:02}/{d.day:02}/{d.year}",
    "d-m-Y": lambda d: f"{d.day:02}-{d.month:02}-{d.year}",
    "m-d-Y": lambda d: f"{d.month:02}-{d.day:02}-{d.year}",
    "d/m/y": lambda d: f"{d.day:02}/{d.month:02}/{d.year % 100:02}",
    "m/d/y": lambda d: f"{d.month:02}/{d.day:02}/{d.year % 100:02}",
    "d Month Y": lambda d: f"{d.day} {MONTHS[d.month - 1]} {d.year}",
    "Month d, Y": lambda d: f"{MONTHS[d.month - 1]} {d.day}, {d.year}",
    "Month d Y": lambda d: f"{MONTHS[d.month - 1]} {d.day} {d.year}",
    "d Mon Y": lambda d: f"{d.day} {MONTHS[d.month - 1][:3]} {d.year}",
    "Mon d, Y": lambda d: f"{MONTHS[d.month - 1][:3]} {d.day}, {d.year}",
    "d-Mon-Y": lambda d: f"{d.day:02}-{MONTHS[d.month - 1][:3]}-{d.year}",
    "dth Month Y": lambda d: f"{ranked(d.day)} {MONTHS[d.month - 1]} {d.year}",
    "Month dth, Y": lambda d: f"{MONTHS[d.month - 1]} {ranked(d.day)}, {d.year}",
    "spoken d of m y": lambda d: f"the {ordinal(d.day)} of {MONTHS[d.month - 1].lower()} {year(d.year)}",
    "spoken d m y": lambda d: f"{ordinal(d.day)} {MONTHS[d.month - 1].lower()} {year(d.year)}",
    "spoken m d y": lambda d: f"{MONTHS[d.month - 1].lower()} {ordinal(d.day)} {year(d.year)}",
    "spoken m c y": lambda d: f"{MONTHS[d.month - 1].lower()} {cardinal(d.day)} {year(d.year)}",
    "year": lambda d: str(d.year),
    "Month Y": lambda d: f"{MONTHS[d.month - 1]} {d.year}",
    "Month d": lambda d: f"{MONTHS[d.month - 1]} {d.day}",
    "d Month": lambda d: f"{d.day} {MONTHS[d.month - 1]}",
    "weekday": lambda d: DAYS[d.weekday()],
    "day of year": lambda d: str(d.timetuple().tm_yday),
    "quarter": lambda d: f"Q{(d.month + 2) // 3} {d.year}",
}


def clock(token: str) -> tuple[int, int]:
    """Hour and minute."""
    hour, minute = (int(part) for part in token.split(":")[:2])
    return hour, minute


def half_day(hour: int) -> int:
    """The hour on a dial."""
    return hour % 12 or 12


TIME_FORMS: dict[str, Callable[[int, int], str]] = {
    "12 pm": lambda h, m: f"{half_day(h)}:{m:02} {'pm' if h >= 12 else 'am'}",
    "12 PM": lambda h, m: f"{half_day(h)}:{m:02} {'PM' if h >= 12 else 'AM'}",
    "12pm": lambda h, m: f"{half_day(h)}:{m:02}{'pm' if h >= 12 else 'am'}",
    "short pm": lambda h, m: f"{half_day(h)}{f':{m:02}' if m else ''} {'pm' if h >= 12 else 'am'}",
    "12": lambda h, m: f"{half_day(h)}:{m:02}",
    "plain": lambda h, m: f"{h:02}{m:02}",
    "padded": lambda h, m: f"{h:02}:{m:02}",
    "short": lambda h, m: f"{h}:{m:02}",
    "later": lambda h, m: f"{h + 12}:{m:02}",
    "h": lambda h, m: f"{h}h{m:02}",
    "dot": lambda h, m: f"{h:02}.{m:02}",
    "hour": lambda h, m: str(h),
    "minutes": lambda h, m: str(60 * h + m),
    "spoken": lambda h, m: f"{cardinal(h)} {('hundred' if not m else ('oh ' if m < 10 else '') + cardinal(m))}",
    "spoken plain": lambda h, m: cardinal(h) + (f" {'oh ' if m < 10 else ''}{cardinal(m)}" if m else ""),
    "spoken clock": lambda h, m: (
        cardinal(half_day(h)) + (f" {'oh ' if m < 10 else ''}{cardinal(m)}" if m else " o'clock")
    ),
    "spoken pm": lambda h, m: f"{cardinal(half_day(h))}{f' {cardinal(m)}' if m else ''} {'p m' if h >= 12 else 'a m'}",
    "spoken p.m.": lambda h, m: f"{cardinal(half_day(h))}{f' {cardinal(m)}' if m else ''} {'pm' if h >= 12 else 'am'}",
}


def whole_writers() -> dict[str, Writer]:
    """Ways to write a whole number."""
    found: dict[str, Writer] = {
        "cardinal": lambda t: cardinal(int(t)),
        "cardinal dash": lambda t: cardinal(int(t), dash="-"),
        "cardinal and": lambda t: cardinal(int(t), link="and"),
        "cardinal and dash": lambda t: cardinal(int(t), link="and", dash="-"),
        "ordinal": lambda t: ordinal(int(t)),
        "ordinal dash": lambda t: ordinal(int(t), dash="-"),
        "rank": lambda t: ranked(int(t)),
        "year": lambda t: year(int(t)),
        "digits": digits,
        "spaced": lambda t: " ".join(t),
        "roman": lambda t: roman(int(t)),
        "commas": lambda t: f"{int(t):,}",
        "no zeros": lambda t: str(int(t)),
        "tens": lambda t: str(round(int(t), -1)),
        "hundreds": lambda t: str(round(int(t), -2)),
        "by two": lambda t: " ".join(cardinal(int(t[i : i + 2])) for i in range(0, len(t), 2)),
        "hours": lambda t: f"{int(t) // 60}:{int(t) % 60:02}",
        "binary": lambda t: f"{int(t):b}",
        "one decimal": lambda t: f"{int(t):.1f}",
        "two decimals": lambda t: f"{int(t):.2f}",
    }
    for width in (2, 3, 4, 5, 6):
        found[f"padded {width}"] = lambda t, w=width: t.zfill(w)  # type: ignore[misc]
    for step in (-2, -1, 1, 2, 10, 12, 100):
        found[f"plus {step}"] = lambda t, s=step: str(int(t) + s)  # type: ignore[misc]
    for factor in (0.001, 0.01, 0.1, 0.5, 2, 3, 5, 10, 12, 24, 60, 100, 1000):
        found[f"times {factor}"] = lambda t, f=factor: f"{int(t) * f:.10g}"  # type: ignore[misc]
    return found


def decimal_writers() -> dict[str, Writer]:
    """Ways to write a decimal."""
    found: dict[str, Writer] = {
        "point": point,
        "no commas": lambda t: t.replace(",", ""),
        "swapped": lambda t: t.translate(str.maketrans(",.", ".,")),
        "space": lambda t: t.replace(",", " "),
        "cents": lambda t: f"{round(value(t) * 100)}",
        "whole part": lambda t: str(int(value(t))),
        "part": lambda t: re.split(r"[.,]", t)[-1],
        "cardinal": lambda t: cardinal(round(value(t))),
    }
    for places in (0, 1, 2, 3):
        found[f"rounded {places}"] = lambda t, p=places: f"{value(t):.{p}f}"  # type: ignore[misc]
    for factor in (0.001, 0.01, 0.1, 10, 100, 1000):
        found[f"times {factor}"] = lambda t, f=factor: f"{value(t) * f:.10g}"  # type: ignore[misc]
    return found


def date_writers() -> dict[str, Writer]:
    """Every format, for each order that the numbers may stand in."""
    found: dict[str, Writer] = {}
    for order in ("ymd", "dmy", "mdy"):
        for name, form in DATE_FORMS.items():
            found[f"{order} {name}"] = lambda t, o=order, f=form: f(parsed(t, o))  # type: ignore[misc]
    return found


ALWAYS: dict[str, Writer] = {
    "keep": lambda t: t,
    "nothing": lambda t: "",
    "lower": str.lower,
    "upper": str.upper,
    "title": str.capitalize,
    "backwards": lambda t: t[::-1],
    "swapped case": str.swapcase,
}
WORDS: dict[str, Writer] = {
    "initial": lambda t: t[0],
    "initial upper": lambda t: t[0].upper(),
    "three": lambda t: t[:3],
    "spelt": lambda t: " ".join(t.lower()),
    "spelt upper": lambda t: " ".join(t.upper()),
    "dotted": lambda t: "".join(c + "." for c in t),
    "no vowels": lambda t: re.sub("[aeiou]", "", t),
    "no last": lambda t: t[:-1],
    "no s": lambda t: t.removesuffix("s"),
    "no ed": lambda t: t.removesuffix("ed"),
    "ies": lambda t: t.removesuffix("y") + "ies",
    "middle out": lambda t: t[0] + t[-1],
    "length": lambda t: str(len(t)),
    "pig": lambda t: t[1:] + t[0] + "ay",
    "first last": lambda t: t[1:] + t[0],
    "doubled": lambda t: f"{t} {t}",
}
WRITERS: dict[str, dict[str, Writer]] = {
    "date": ALWAYS | date_writers(),
    "time": ALWAYS | {name: lambda t, f=form: f(*clock(t)) for name, form in TIME_FORMS.items()},
    "decimal": ALWAYS | decimal_writers(),
    "whole": ALWAYS | whole_writers(),
    "capital": ALWAYS | WORDS,
    "name": ALWAYS | WORDS,
    "word": ALWAYS | WORDS,
    "mixed": ALWAYS | {"split": lambda t: " ".join(re.findall(r"\d+|\D+", t)), "spaced": lambda t: " ".join(t)},
    "mark": ALWAYS,
}
