"""Invented tables, forms, lists and logs, whose keys, codes and numbers are no mentions, and whose dates are times.

`plain.txt` has texts that were written one by one; these are drawn from keys, values and layouts, so that a model meets
many words that are mentions in sentences ("author", "water", "status") as keys and headings.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

KEYS: Sequence[str] = """
account|address|adults|age|agent|allergens|amount|animals|appendix|area|article|assignee|attachments|attendees|audience|author|
authors|availability|balance|band|bank|barcode|battery|beds|birth date|blood type|body|brand|browser|budget|building|buyer|calories|
capacity|carrier|cart|cast|category|cause|channel|chapter|checkout|child|children|city|class|client|code|colour|comments|commit|
company|condition|contact|contents|contractor|coordinates|copies|cost|country|course|crew|currency|customer|data|date|day|delay|
delivery|density|department|depth|description|destination|device|diagnosis|dimensions|director|disk|distance|district|doctor|
document|domain|dose|downloads|driver|duration|edition|editor|elevation|email|employee|employer|energy|engine|error|events|exit|
experience|export|family|fat|fax|fee|female|file|files|firmware|flight|floor|food|format|frequency|fuel|game|gate|gender|genre|goals|
grade|group|guests|habitat|head|health|height|help|hobbies|home|host|hours|humidity|id|image|import|income|index|ingredients|
instructor|insurance|inventory|invoice|issue|items|job|journal|key|keywords|kind|lab|label|landlord|language|latitude|layers|lead|
length|level|licence|line|link|list|location|login|longitude|losses|lot|mail|maintainer|male|manager|manufacturer|map|mass|material|
matches|materials|members|memory|menu|message|method|mileage|minutes|mode|model|module|money|month|name|nationality|network|news|
notes|number|object|office|operator|option|order|organisation|origin|output|owner|package|page|parent|parents|part|parts|passengers|
password|patient|patients|payment|payment terms|people|period|permissions|person|phone|photos|place|plan|plants|platform|player|
players|policy|population|port|position|post|power|pressure|price|priority|privacy|process|product|products|profile|profit|project|
protein|publisher|purpose|quality|quantity|query|queue|race|rain|range|rate|rating|reason|recipient|record|reference|region|release|
remarks|rent|report|reporter|request|result|results|reviewer|role|room|rooms|rows|salary|salt|sample|schedule|school|score|search|
season|seat|seats|section|seller|sender|series|server|service|session|settings|sex|shipping|shop|signature|site|size|skills|soil|song|
source|species|speed|staff|start|state|station|status|stock|storage|store|street|student|students|subject|sugar|summary|supplier|
support|surface|symptoms|system|table|tags|target|task|tax|teacher|team|teams|temperature|tenant|terms|test|texture|ticket|time|title|
tools|topic|total|town|track|traffic|transport|treatment|tree|type|unit|university|update|uploads|usage|user|users|value|vendor|
venue|version|victim|video|views|village|visitors|voltage|volume|voters|votes|warranty|water|weather|weight|width|wind|winner|women|
word|worker|workers|workshop|year|zone
""".replace("\n", "").split("|")
VALUES: Sequence[str] = """
yes|no|none|n/a|–|on|off|true|false|null|open|closed|pending|done|failed|ok|low|medium|high|new|draft|final|unknown|active|inactive|
enabled|disabled|default|required|optional|auto|manual|left|right|red|green|blue|grey|empty|full|approved|rejected|shipped|paid|
overdue|public|private|read only|not set|see below|various|in stock|sold out|archived|beta|stable|verified|expired|passed
""".replace("\n", "").split("|")
UNITS: Sequence[str] = (
    "kg g mg lb oz km m cm mm mi ft l ml °C °F % kWh kW W V A Hz GHz MB GB TB px dpi rpm bar hPa ppm min s ms".split()
)
CURRENCIES: Sequence[str] = "$ € £ ¥ USD EUR GBP CHF SEK PLN INR".split()
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
Chance = random.Random
Marked = str
"""A text with mentions as in plain.txt."""


def digits(chance: Chance, count: int) -> str:
    return "".join(chance.choice("0123456789") for _ in range(count))


def code(chance: Chance) -> str:
    """A part number, a ticket, a hash and the like.

    >>> code(random.Random(1)), code(random.Random(5))
    ('9150-0080-UC', '99.722.003')
    """
    letters = "".join(chance.choice(LETTERS) for _ in range(chance.randint(1, 4)))
    return chance.choice(
        (
            f"{letters}-{digits(chance, chance.randint(2, 5))}",
            f"{letters}{digits(chance, chance.randint(1, 6))}",
            f"#{digits(chance, chance.randint(2, 7))}",
            f"{digits(chance, 4)}-{digits(chance, 4)}-{letters}",
            f"{digits(chance, 2)}.{digits(chance, 3)}.{digits(chance, 3)}",
            f"{chance.randrange(16**8):08x}",
            f"{chance.randint(1, 9)}{chance.choice(LETTERS)}-{digits(chance, 4)}",
            f"v{chance.randint(0, 9)}.{chance.randint(0, 20)}.{chance.randint(0, 9)}",
            f"{digits(chance, 5)} {digits(chance, 5)} {digits(chance, 4)}",
            f"{letters.lower()}_{digits(chance, 3)}",
        )
    )


def number(chance: Chance) -> str:
    return chance.choice(
        (
            str(chance.randint(0, 99)),
            f"{chance.uniform(0, 100):.{chance.randint(1, 4)}f}",
            f"{chance.randint(1, 999)},{digits(chance, 3)}",
            f"{chance.randint(1, 250)} {chance.choice(UNITS)}",
            f"{chance.uniform(0, 50):.1f} {chance.choice(UNITS)}",
            f"{chance.choice(CURRENCIES[:4])}{chance.randint(1, 400)}.{digits(chance, 2)}",
            f"{chance.randint(1, 4000)} {chance.choice(CURRENCIES[4:])}",
            f"{chance.randint(0, 100)}%",
            f"+{chance.randint(1, 99)} {digits(chance, 3)} {digits(chance, 4)}",
            f"{chance.randint(1900, 2100)}",
            f"{chance.uniform(-90, 90):.4f}, {chance.uniform(-180, 180):.4f}",
            f"{chance.randint(0, 255)}.{chance.randint(0, 255)}.{chance.randint(0, 255)}.{chance.randint(1, 254)}",
        )
    )


def date(chance: Chance) -> Marked:
    year, month, day = chance.randint(1960, 2035), chance.randint(1, 12), chance.randint(1, 28)
    clock = f"{chance.randint(0, 23):02}:{digits(chance, 1)[0]}{digits(chance, 1)}".replace(":6", ":0").replace(
        ":7", ":1"
    )
    clock = clock.replace(":8", ":2").replace(":9", ":3")
    return chance.choice(
        (
            f"«t:{year}-{month:02}-{day:02}»",
            f"«t:{year}-{month:02}-{day:02} {clock}»",
            f"«t:{year}-{month:02}-{day:02}T{clock}:00Z»",
            f"«t:{day:02}.{month:02}.{year}»",
            f"«t:{day:02}/{month:02}/{year}»",
            f"«t:{clock}»",
        )
    )


def value(chance: Chance) -> Marked:
    drawn = chance.random()
    if drawn < 0.35:
        return number(chance)
    if drawn < 0.6:
        return code(chance)
    return date(chance) if drawn < 0.75 else chance.choice(VALUES)


def key(chance: Chance) -> str:
    """A key as people write them."""
    drawn = chance.choice(KEYS)
    style = chance.random()
    if style < 0.5:
        return drawn.capitalize()
    if style < 0.65:
        return drawn.title()
    if style < 0.75:
        return drawn.upper()
    return drawn.replace(" ", "_") if style < 0.85 else drawn


def form(chance: Chance) -> Marked:
    mark = chance.choice((": ", " = ", "=", " – ", "\t", " : ", "␉"))
    return "\n".join(f"{key(chance)}{mark}{value(chance)}" for _ in range(chance.randint(1, 6)))


def one_line(chance: Chance) -> Marked:
    mark = chance.choice((" | ", "; ", ", ", " / ", " · ", "  "))
    return mark.join(f"{key(chance)}: {value(chance)}" for _ in range(chance.randint(2, 4)))


def table(chance: Chance) -> Marked:
    mark, columns = chance.choice(("\t", " | ", ",", ";", "  ")), chance.randint(2, 5)
    kinds = [chance.choice((number, code, date, lambda chance: chance.choice(VALUES))) for _ in range(columns)]
    rows = [mark.join(key(chance) for _ in range(columns))]
    rows += [mark.join(kind(chance) for kind in kinds) for _ in range(chance.randint(1, 4))]
    return "\n".join(rows)


def menu(chance: Chance) -> Marked:
    """A row of links, buttons or headings."""
    mark = chance.choice((" | ", " > ", " · ", "\n", " / ", "\n- ", "\n* "))
    return mark.join(key(chance).capitalize() for _ in range(chance.randint(3, 8)))


def numbered(chance: Chance) -> Marked:
    """A list with numbers and keys."""
    mark = chance.choice((". ", ") ", " "))
    return "\n".join(f"{place}{mark}{key(chance)} {number(chance)}" for place in range(1, chance.randint(3, 7)))


def log(chance: Chance) -> Marked:
    """Lines of a log."""
    levels = ("INFO", "WARN", "ERROR", "DEBUG", "[info]", "[error]")
    return "\n".join(
        f"{date(chance)} {chance.choice(levels)} {chance.choice(KEYS).replace(' ', '.')}={value(chance)} {code(chance)}"
        for _ in range(chance.randint(1, 4))
    )


def codes(chance: Chance) -> Marked:
    mark = chance.choice((", ", " ", "\n", " / ", "; ", "\t"))
    return mark.join(chance.choice((code, number))(chance) for _ in range(chance.randint(2, 7)))


def data(chance: Chance) -> Marked:
    """JSON, YAML, and query strings."""
    pairs = [(chance.choice(KEYS).replace(" ", "_"), chance.choice((number, code))(chance)) for _ in range(3)]
    return chance.choice(
        (
            "{" + ", ".join(f'"{name}": "{held}"' for name, held in pairs) + "}",
            "\n".join(f"{name}: {held}" for name, held in pairs),
            "?" + "&".join(f"{name}={held.replace(' ', '+')}" for name, held in pairs),
            " ".join(f"--{name.replace('_', '-')} {held}" for name, held in pairs),
            "".join(f"<{name}>{held}</{name}>" for name, held in pairs),
        )
    )


LAYOUTS: Sequence[Callable[[Chance], Marked]] = (
    form,
    form,
    form,
    one_line,
    table,
    table,
    menu,
    numbered,
    log,
    codes,
    data,
)


def drawn(count: int, chance: Chance) -> Iterator[Marked]:
    """So many texts, marked as in plain.txt."""
    for _ in range(count):
        yield chance.choice(LAYOUTS)(chance)
