"""What of a text can be checked against another one: numbers, dates, times, codes, names and words.

A fact has forms, and two texts share it if they share one of them: ``1,200`` and ``1200``, ``28 October`` and
``2023-10-28``, ``17.40 Uhr`` and ``5:40 pm``, ``elf`` and ``11``. Number words, months and weekdays are known in
English, German, French and Spanish, and numbers and dates in Chinese characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from autocontext.tokenizing import content_words, fold, word_spans

Kind = Literal["number", "date", "code", "name", "word"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One checkable piece of a text.

    Attributes
    ----------
    start, end
        Where it stands in the text.
    forms
        What it is compared by: one shared form is enough.
    unit
        Of a number: the unit that follows, in one form for all spellings; "" if none that is known does.
    """

    kind: Kind
    start: int
    end: int
    forms: frozenset[str]
    unit: str = ""


def _fold_in_place(text: str) -> str:
    """Return `text` folded, each character by itself, so that all offsets stay."""
    if text.isascii():
        return text.lower()
    return "".join(folded if len(folded := fold(char)) == 1 else char.lower()[:1] or char for char in text)


# ---- tables ----------------------------------------------------------------------------------------------------------

_MONTHS = {
    _fold_in_place(name): number
    for number, names in enumerate(
        (
            "january jan januar janvier enero",
            "february feb februar février febrero",
            "march mar märz mars marzo",
            "april apr avril abril",
            "may mai mayo",
            "june jun juni juin junio",
            "july jul juli juillet julio",
            "august aug août agosto",
            "september sep sept septembre septiembre",
            "october oct oktober okt octobre octubre",
            "november nov novembre noviembre",
            "december dec dezember dez décembre diciembre",
        ),
        start=1,
    )
    for name in names.split()
}
_ALSO_A_WORD = frozenset({"may", "mar", "march", "mars", "sept", "dec", "dez", "jan", "mayo"})  # a month only by a day
_WEEKDAYS = {
    _fold_in_place(name): number
    for number, names in enumerate(
        (
            "monday montag lundi lunes",
            "tuesday dienstag mardi martes",
            "wednesday mittwoch mercredi miércoles",
            "thursday donnerstag jeudi jueves",
            "friday freitag vendredi viernes",
            "saturday samstag sonnabend samedi sábado",
            "sunday sonntag dimanche domingo",
        ),
        start=1,
    )
    for name in names.split()
}
_UNITS = {
    _fold_in_place(name): names.split()[0]
    for names in (
        "second seconds sec sekunde sekunden seconde secondes segundo segundos 秒",
        "minute minutes min mins minuten minuto minutos 分",
        "hour hours h hr hrs stunde stunden heure heures hora horas 時間",
        "day days tag tage tagen jour jours día días 日",
        "week weeks woche wochen semaine semaines semana semanas 週間",
        "month months monat monate monaten mois mes meses",
        "year years jahr jahre jahren ans année années año años",
        "degree degrees ° °c grad degré degrés grado grados celsius 度",
        "fahrenheit °f",
        "percent per-cent % prozent pour-cent por-ciento パーセント",
        "pound pounds £ gbp pfund",
        "euro euros € eur",
        "dollar dollars $ usd dólares",
        "yen ¥ jpy 円",
        "bar",
        "mbar millibar",
        "hpa hectopascal hectopascals hektopascal",
        "kwh kilowatt-hour kilowatt-hours kilowattheures kilowattstunden",
        "gram grams g gramm grammes gramos",
        "kilogram kilograms kg kilo kilos kilogramm",
        "metre metres meter meters m mètre mètres metro metros",
        "kilometre kilometres kilometer kilometers km kilomètre kilomètres kilómetros",
        "litre litres liter liters l litros",
        "ml millilitre millilitres milliliter",
    )
    for name in names.split()
}
_UNIT_NAMES = sorted(_UNITS, key=len, reverse=True)


def _below_100(small: str, tens: str, joined: Callable[[str, str], Iterable[str]]) -> dict[str, int]:
    """Return the numbers 0 to 99 by their words: `small` are 0 to 19, `tens` 20 to 90, `joined` what 21 is called."""
    ones = small.split()
    words = {word: number for number, word in enumerate(ones)}
    for ten, name in enumerate(tens.split(), start=2):
        words[name] = 10 * ten
        words |= {form: 10 * ten + one for one in range(1, 10) for form in joined(name, ones[one])}
    return words


def _english_below_100() -> dict[str, int]:
    return _below_100(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen",
        "twenty thirty forty fifty sixty seventy eighty ninety",
        lambda ten, one: (f"{ten}-{one}", f"{ten} {one}"),
    )


def _german_below_100() -> dict[str, int]:
    return _below_100(
        "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
        "siebzehn achtzehn neunzehn",
        "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
        lambda ten, one: (f"{'ein' if one == 'eins' else one}und{ten}",),
    )


def _number_words() -> dict[str, int]:
    english, german = _english_below_100(), _german_below_100()
    words = {**english, **german}
    for name, number in english.items():
        words |= {f"{name} hundred": number * 100, f"{name} thousand": number * 1000, f"{name} million": number * 10**6}
    for name, number in german.items():
        words |= {f"{name}hundert": number * 100, f"{name}tausend": number * 1000, f"{name} millionen": number * 10**6}
    words |= {"hundert": 100, "tausend": 1000, "einhundert": 100, "eintausend": 1000, "dozen": 12, "dutzend": 12}
    # Not those that mean something else in another of the languages: once, quince, sept, neuf, cent, mil.
    french = (
        "deux:2 trois:3 quatre:4 cinq:5 huit:8 dix:10 onze:11 douze:12 treize:13 quatorze:14 quinze:15 seize:16 "
        "vingt:20 trente:30 quarante:40 cinquante:50 soixante:60 mille:1000 "
    )
    spanish = (
        "dos:2 tres:3 cuatro:4 cinco:5 seis:6 siete:7 ocho:8 nueve:9 diez:10 doce:12 trece:13 catorce:14 veinte:20 "
        "treinta:30 cuarenta:40 cincuenta:50 sesenta:60 ochenta:80 noventa:90 cien:100"
    )
    words |= {name: int(number) for name, _, number in (pair.partition(":") for pair in (french + spanish).split())}
    return {_fold_in_place(name): number for name, number in words.items() if number > 1}  # one is an article


_NUMBER_WORDS = _number_words()
_NAMED_HOURS = {
    _fold_in_place(name): hour
    for hour, names in ((12, "noon mittag midi mediodía 正午"), (24, "midnight mitternacht minuit medianoche"))
    for name in names.split()
}
_KANJI = {char: number for number, char in enumerate("〇一二三四五六七八九")} | {"零": 0}
_KANJI_SMALL, _KANJI_LARGE = {"十": 10, "百": 100, "千": 1000}, {"万": 10**4, "億": 10**8}

# ---- patterns --------------------------------------------------------------------------------------------------------

_MONTH = "(?:" + "|".join(sorted(map(re.escape, _MONTHS), key=len, reverse=True)) + ")"
_UNIT = "|".join(re.escape(name) for name in _UNIT_NAMES)
_NUMBER_WORD = "|".join(sorted(map(re.escape, _NUMBER_WORDS), key=len, reverse=True))
_LATIN = "[0-9a-z\u00df-\u024f\u2080-\u2089]"
_NUMBER = r"\d+(?:[.,'\u2019\u00a0\u202f\u2009 ]\d{3}(?!\d))*(?:[.,]\d+)?"
# All are tried on folded text of the same length as the original, in this order: what one takes, no later one sees.
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("iso", re.compile(r"(?<=(?<!\w)\d{4}-)(\d{1,2})-(\d{1,2})(?![\w-])")),
    ("dotted", re.compile(r"(?<![\w.])(\d{1,2})([./])(\d{1,2})\2(?=\d{4}(?!\w))")),
    ("kanji_date", re.compile(r"([\d〇一二三四五六七八九十]+)月([\d〇一二三四五六七八九十]+)日")),
    ("kanji_month", re.compile(r"([\d〇一二三四五六七八九十]+)月")),
    ("kanji_weekday", re.compile("([月火水木金土日])曜日?")),
    ("day_month", re.compile(rf"(?<![\w.,])(\d{{1,2}})(?:st|nd|rd|th|er|\.|º)?(?:\s+(?:of|de))?\s+({_MONTH})(?!\w)")),
    ("month_day", re.compile(rf"(?<!\w)({_MONTH})\.?\s+(?:the\s+)?(\d{{1,2}})(?:st|nd|rd|th)?(?![\w:.,]?\d|\w)")),
    ("month_year", re.compile(rf"(?<!\w)({_MONTH})(?=\.?,?\s+(?:de\s+)?\d{{4}}(?!\w))")),
    ("month", re.compile(rf"(?<!\w)({_MONTH})(?!\w)")),
    ("time", re.compile(r"(?<![\w.,:])(\d{1,2})[:h](\d{2})(?!\d|[:.]\d)(?:\s*(am|pm|[ap]\.m\.))?")),
    ("hour", re.compile(r"(?<![\w.,:])(\d{1,2})(?:[.](\d{2}))?\s*(am(?!\w)|pm(?!\w)|[ap]\.m\.|uhr(?!\w))")),
    ("code", re.compile(rf"(?<!{_LATIN}){_LATIN}+(?:[-_./:@]{_LATIN}+)*")),
    ("number", re.compile(rf"(?<!{_LATIN}){_NUMBER}(?=(?:s|st|nd|rd|th|{_UNIT})?(?!{_LATIN}))")),
    ("number_word", re.compile(rf"(?<!\w)(?:{_NUMBER_WORD})(?!\w)")),
    ("named_hour", re.compile(rf"(?<!\w)(?:{'|'.join(_NAMED_HOURS)})(?!\w)")),
    ("kanji_number", re.compile("[〇零一二三四五六七八九十百千万億]+")),
)  # fmt: skip
_UNIT_AFTER = re.compile(rf"[\s-]*(?:({_UNIT})|per cent|pour cent|por ciento|kilowatt hours)(?:\s+celsius)?(?![a-z])")
_UNIT_BEFORE = re.compile(r"([£€$¥])\s?\Z")
_NUMBERED = re.compile(
    rf"^[^\S\n]*(?:\d{{1,3}}[.)]|\(\d{{1,3}}\))(?=\s)(?!\s+{_MONTH})", re.M
)  # of a list: says nothing
_NO_CODE = re.compile(rf"\d[\d.,]*(?:-[^\W\d_]{{3,}}|-?(?:s|st|nd|rd|th|{_UNIT}))")  # 24-hour, 5km, 16th
_NAMES_A_PASSAGE = re.compile(r"(?:passages?|sources?|documents?|contexts?|chunks?|quellen?|abschnitte?)\s*\Z")
_HIRAGANA = re.compile("[\u3041-\u309f]")  # a pair with one of these is grammar
_SENTENCE_START = re.compile(r"(?:\A|[.!?:\u2026\n\u201c\u201e\"(>*#-])[\s\"'\u201c\u201e*_(]*\Z")
_GERMAN = frozenset(
    (
        "der die das und ist im den dem ein eine einer nicht wurde mit von für auf des zu sich er sie aus wer wie wo "
        "wann warum welche welcher welches welchem welchen sind ihre ihrer ihr sein seine hat haben wird werden "
        "vom zum zur bei nach über durch als auch nur noch wir ich dass kein keine"
    ).split()
)
_MANY_GERMAN = 0.12


def find_facts(text: str) -> list[Fact]:
    """Return the facts of `text`, in order and without overlap.

    Examples
    --------
    >>> [(fact.kind, sorted(fact.forms)) for fact in find_facts("He paid 1,200 euros on 28 October.")]
    [('word', ['paid']), ('number', ['n:1.2', 'n:1200']), ('date', ['d:10-28'])]
    """
    folded = _fold_in_place(text)
    rest = _NUMBERED.sub(lambda match: " " * len(match.group()), folded)
    facts: list[Fact] = []
    for name, pattern in _PATTERNS:
        pieces: list[str] = []
        position = 0
        for match in pattern.finditer(rest):
            fact = _read(name, match, rest, text)
            if fact is None:
                continue
            facts.append(fact)
            end = match.end()
            if fact.unit and (unit := _UNIT_AFTER.match(rest, end)):  # part of the number, not a word of its own
                end = unit.end()
            pieces += [rest[position : match.start()], "\x00" * (end - match.start())]
            position = end
        rest = "".join([*pieces, rest[position:]])
    facts += _words(text, rest)
    return sorted(facts, key=lambda fact: (fact.start, fact.end))


def _read(name: str, match: re.Match[str], rest: str, text: str) -> Fact | None:
    """Return the fact that a pattern found, or None if it is none after all."""
    kind: Kind = "number"
    unit = ""
    forms: set[str] = set()
    if name == "kanji_weekday":
        kind, forms = "date", {f"w:{1 + '月火水木金土日'.index(match.group(1))}"}
    elif name in ("iso", "dotted", "kanji_date", "day_month", "month_day", "month_year", "month", "kanji_month"):
        kind, forms = "date", _date_forms(name, match, text)
    elif name in ("time", "hour"):
        forms = _time_forms(match)
    elif name == "code":
        kind, forms = "code", _code_forms(fold(text[match.start() : match.end()]))
    elif name == "number_word":
        value = _NUMBER_WORDS[match.group()]
        kind = "number" if value > 2 else "word"  # two things may be counted in other words: both, a pair
        forms = {f"n:{value}"}
    elif name == "named_hour":
        hour = _NAMED_HOURS[match.group()]
        kind, forms = "word", {match.group(), f"n:{hour}", f"n:{hour % 24}", f"t:{hour}:00", f"t:{hour % 24}:00"}
    elif name == "kanji_number":
        value = _kanji_value(match.group())
        forms = {f"n:{value}"} if value > 2 else set()
    else:
        forms = _number_forms(match.group())
        if _NAMES_A_PASSAGE.search(rest, max(0, match.start() - 12), match.start()):
            return None
    if kind == "number" and forms:
        unit = _unit_of(rest, match)
    return Fact(kind, match.start(), match.end(), frozenset(forms), unit) if forms else None


def _date_forms(name: str, match: re.Match[str], text: str) -> set[str]:
    groups = match.groups()
    if name == "iso":
        month, day = map(int, groups)
        return {f"d:{month}-{day}"} if month <= 12 and day <= 31 else set()
    if name == "dotted":
        first, mark, second = groups
        forms = {f"d:{int(second)}-{int(first)}"}
        return forms | {f"d:{int(first)}-{int(second)}"} if mark == "/" else forms
    if name in ("kanji_date", "kanji_month"):
        month, *days = (_kanji_value(group) for group in groups)
        return {f"d:{month}-{days[0]}"} if days else {f"m:{month}"}
    if name == "month_year":
        return {f"m:{_MONTHS[groups[0]]}"}
    if name == "month":
        word = groups[0]
        is_month = text[match.start()].isupper() and word not in _ALSO_A_WORD
        return {f"m:{_MONTHS[word]}"} if is_month else set()
    day_word, month_word = groups if name == "day_month" else groups[::-1]
    return {f"d:{_MONTHS[month_word]}-{int(day_word)}"} if 1 <= int(day_word) <= 31 else set()


def _time_forms(match: re.Match[str]) -> set[str]:
    hour, minute = int(match.group(1)), int(match.group(2) or 0)
    if hour > 24 or minute > 59:
        return set()
    mark = (match.group(3) or "") if match.lastindex == 3 else ""
    hours = {hour, hour + 12} if mark.startswith("p") and hour < 12 else {hour, hour - 12} if hour > 12 else {hour}
    forms = {f"t:{h}:{minute:02}" for h in hours}
    return forms | {f"n:{h}" for h in hours} if minute == 0 else forms


def _number_forms(written: str) -> set[str]:
    """Return the values that a number may have: ``1.312`` is read with a decimal point and as thousands."""
    digits = re.sub(r"['\u2019\u00a0\u202f\u2009 ]", "", written)
    marks = [char for char in digits if char in ".,"]
    if not marks:
        return {_value(digits, "")}
    whole, _, part = digits.rpartition(marks[-1])
    bare = whole.replace(".", "").replace(",", "")
    as_thousands, as_decimal = _value(bare + part, ""), _value(bare, part)
    if len(set(marks)) == 1 and len(marks) > 1:
        return {as_thousands}
    if len(marks) == 1 and len(part) == 3 and len(bare) <= 3 and bare != "0":
        return {as_thousands, as_decimal}
    return {as_decimal}


def _value(whole: str, part: str) -> str:
    whole, part = fold(whole).lstrip("0") or "0", fold(part).rstrip("0")
    return f"n:{whole}.{part}" if part else f"n:{whole}"


def _code_forms(word: str) -> set[str]:
    """Return the form of a code, letters and digits together; nothing if it is an ordinary word."""
    has_digit, has_letter = any(c.isdigit() for c in word), any(c.isalpha() for c in word)
    return {f"c:{word}"} if has_digit and has_letter and not _NO_CODE.fullmatch(word) else set()


def _kanji_value(run: str) -> int:
    if run.isdigit() and not set(run) & set(_KANJI):
        return int(run[:18])
    if not set(run) & {*_KANJI_SMALL, *_KANJI_LARGE}:  # 二〇〇三
        return int("".join(str(_KANJI.get(char, char)) for char in run)[:18])
    total = section = digit = 0
    for char in run:
        if char in _KANJI_LARGE:
            total += (section + digit or 1) * _KANJI_LARGE[char]
            section = digit = 0
        elif char in _KANJI_SMALL:
            section += (digit or 1) * _KANJI_SMALL[char]
            digit = 0
        else:
            digit = _KANJI.get(char, 0)
    return total + section + digit


def _unit_of(rest: str, match: re.Match[str]) -> str:
    if after := _UNIT_AFTER.match(rest, match.end()):
        return _UNITS[after.group(1)] if after.group(1) else "kwh" if "watt" in after.group() else "percent"
    before = _UNIT_BEFORE.search(rest, max(0, match.start() - 2), match.start())
    return _UNITS[before.group(1)] if before else ""


def _words(text: str, rest: str) -> Iterator[Fact]:
    """Yield the names and words in what no number, date or code has taken."""
    spans = [
        (start, end, tokens) for start, end, tokens in word_spans(text) if tokens and "\x00" not in rest[start:end]
    ]
    content = set(content_words([*(tokens[0] for _, _, tokens in spans), "\x00"]))  # \x00: never all of them
    capital = [text[start].isupper() for start, _, _ in spans]
    first = [_SENTENCE_START.search(text, max(0, start - 12), start) is not None for start, _, _ in spans]
    german = sum(tokens[0] in _GERMAN for _, _, tokens in spans) >= max(1.0, _MANY_GERMAN * len(spans))

    def stands_beside_a_name(i: int, other: int) -> bool:
        if not 0 <= other < len(spans) or not capital[other] or first[other]:
            return False
        return text[spans[min(i, other)][1] : spans[max(i, other)][0]].isspace()

    for i, (start, end, tokens) in enumerate(spans):
        if tokens[0] not in content or (len(tokens[0]) == 1 and tokens[0].isascii()) or _HIRAGANA.search(tokens[0]):
            continue
        if day := _WEEKDAYS.get(tokens[0]) or _WEEKDAYS.get(tokens[0].removesuffix("s")):
            yield Fact("date", start, end, frozenset({f"w:{day}"}))
            continue
        in_name = stands_beside_a_name(i, i - 1) or stands_beside_a_name(i, i + 1)
        is_name = capital[i] and not first[i] and (in_name or not german)
        yield Fact("name" if is_name else "word", start, end, frozenset(tokens[:1]))
