#!/usr/bin/env python3
"""Asks a running Firebird 5 for the orders of its collations and writes them down.

    record_collations.py HOST/PORT:FILE USER PASSWORD [COLLATION ...]      (package firebird-driver)

The database is made anew. Without collations it takes all, some minutes, and writes

    national-orders.txt     the order and the case mapping of each national collation: src/collation/national
    recorded-orders.txt     texts in their order, and
    recorded-cases.txt      UPPER and LOWER of all characters: tests/recorded_orders.rs compares ours with these

With collations it shows their orders and writes nothing.

How an order is read from outside: `a` and `b` are of one class of letters if `ax` comes after `bm` though `a` comes before
`b`. Within a class they differ by an accent if that outweighs a difference of case before it, otherwise by case. A
character that does not keep `m_x` from standing right after `mx` is a special. One that stands among pairs of letters is two
letters. A pair that stands apart from its first letter's other pairs is one letter (the candidates are named below). What was
read is held against the order of thousands of random texts; how many neighbours disagree is said.
"""
import pathlib
import random
import sys
import unicodedata

from firebird.driver import connect, create_database

HERE = pathlib.Path(__file__).parent
PAIRS = {
    "ch": ["PXW_CSY", "DB_CSY", "WIN_CZ", "DB_ESP437", "DB_ESP850", "PXW_SPAN", "ES_ES"],
    "ll": ["DB_ESP437", "DB_ESP850", "PXW_SPAN", "ES_ES"],
    "aa": ["DA_DA", "NO_NO"],
    "lj": ["BS_BA"],
    "nj": ["BS_BA"],
} | {pair: ["PXW_HUN", "PXW_HUNDC", "ISO_HUN", "PDOX_HUN"] for pair in ["cs", "dz", "gy", "ly", "ny", "sz", "ty", "zs"]}
# Made of another collation's table by attributes; and ES_ES, whose table is that of one made without its attributes.
DERIVED = ["ES_ES_CI_AI", "FR_FR_CI_AI", "FR_CA_CI_AI"]
PLAIN = {"ES_ES": "ES_PLAIN"}
ASCII = b"abcdefghijklmnopqrstuvwxyz"
MADE = {
    "U_CS": (1, "LOCALE=cs_CZ"), "U_HU": (1, "LOCALE=hu_HU"), "U_SV": (1, "LOCALE=sv_SE"), "U_DA": (1, "LOCALE=da_DK"),
    "U_ES_TRAD": (1, "LOCALE=es@collation\\=traditional"), "U_DE_PHONE": (1, "LOCALE=de@collation\\=phonebook"),
    "U_FRCA": (1, "LOCALE=fr_CA"), "U_LT": (1, "LOCALE=lt_LT"), "U_RU": (1, "LOCALE=ru_RU"), "U_ET": (1, "LOCALE=et_EE"),
    "U_NUM": (1, "NUMERIC-SORT=1"), "U_NUM_CI": (3, "NUMERIC-SORT=1"), "U_CS_CI_AI": (7, "LOCALE=cs_CZ"),
    "U_CS_PLAIN": (1, "LOCALE=cs_CZ;DISABLE-COMPRESSIONS=1"), "U_TR": (1, "LOCALE=tr_TR"), "U_ZH": (1, "LOCALE=zh"),
}


def byte(number):
    return bytes([number])


class Firebird:
    """A database in which texts are sorted."""

    def __init__(self, target, user, password):
        try:
            connect(target, user=user, password=password).drop_database()
        except Exception:
            pass
        self.connection = create_database(target, user=user, password=password, charset="NONE")
        self.run("create table TEXTS(S varchar(40) character set octets)")
        self.run("create collation ES_PLAIN for ISO8859_1 from external ('ES_ES')")
        for name, (attributes, specific) in MADE.items():
            case = " case insensitive" if attributes & 2 else ""
            accents = " accent insensitive" if attributes & 4 else ""
            self.run(f"create collation {name} for UTF8 from UNICODE{case}{accents} '{specific}'")

    def run(self, sql):
        self.connection.cursor().execute(sql)
        self.connection.commit()

    def put(self, texts):
        cursor = self.connection.cursor()
        cursor.execute("delete from TEXTS")
        statement = cursor.prepare("insert into TEXTS values (?)")
        for text in sorted(texts):
            cursor.execute(statement, (text,))
        self.connection.commit()

    def ranks(self, character_set, collation):
        """The texts with their ranks, in order."""
        text = f"cast(S as varchar(40) character set {character_set}) collate {collation}"
        cursor = self.connection.cursor()
        cursor.execute(f"select S, rank() over (order by {text}) from TEXTS")
        return list(cursor.fetchall())

    def cases(self, character_set, collation):
        """UPPER and LOWER of every byte; None where that is an error."""
        cursor = self.connection.cursor()
        value = f"cast(S as varchar(4) character set {character_set}) collate {collation}"
        cursor.execute(f"""execute block returns (S char(1) character set octets, U varchar(4) character set octets,
              L varchar(4) character set octets) as
            begin
              for select S from TEXTS where octet_length(S) = 1 into :S do begin
                U = null; L = null;
                begin U = upper({value.replace('S as', ':S as')}); when any do begin end end
                begin L = lower({value.replace('S as', ':S as')}); when any do begin end end
                suspend;
              end
            end""")
        return {row[0][0]: (row[1], row[2]) for row in cursor.fetchall()}


class Characters:
    """What the bytes of a single-byte set mean."""

    def __init__(self, name, codes):
        self.name = name
        self.upper_half = [None if code in ("-", "0000") else chr(int(code, 16)) for code in codes.split()]

    def decode(self, number):
        return chr(number) if number < 128 else self.upper_half[number - 128]

    def encode(self, character):
        if ord(character) < 128:
            return ord(character)
        return self.upper_half.index(character) + 128 if character in self.upper_half else None

    def letters(self):
        return [n for n in range(256) if (self.decode(n) or " ").isalpha()]

    def other_case(self, number, upper):
        character = self.decode(number)
        if character is None:
            return number
        other = "i" if character == "İ" and not upper else character.upper() if upper else character.lower()
        return (self.encode(other) if len(other) == 1 else None) or number

    def shown(self, text):
        def one(number):
            c = self.decode(number)
            plain = c and ord(c) > 32 and c not in "|={}\\.#\xad" and unicodedata.category(c)[0] not in "ZCM"
            return c if plain else f"\\{number:02X}"
        return one(text[0]) if len(text) == 1 else "{" + "".join(map(one, text)) + "}"


class Order:
    """What was read of one collation's order."""

    def __init__(self, name, ranks):
        self.name, self.ranks = name, ranks
        every = [byte(n) for n in range(256)]
        candidates = [p.encode() for p, names in PAIRS.items() if name in names]
        # All ways to write a pair; those that stand with the small one are one letter too.
        written = {p: [p[:1] + p[1:], p[:1] + p[1:].upper(), p[:1].upper() + p[1:], p.upper()] for p in candidates}
        r = ranks
        self.specials = sorted((x for x in every if r[b"mx"] <= r[b"m" + x + b"x"] < r[b"mxm"]), key=lambda x: (r[b"x" + x], x))
        pairs = sorted((r[byte(a) + byte(b)], a, b) for a in ASCII for b in ASCII if byte(a) + byte(b) not in candidates)
        self.expansions = {}
        self.first_letters = {}
        for x in every[128:]:
            below = [p for p in pairs if p[0] <= r[x]]
            above = [p for p in pairs if p[0] > r[x]]
            if x not in self.specials and below and above and below[-1][1] == above[0][1]:
                self.first_letters[x] = (byte(below[-1][1]), below[-1][2])
        units = [x for x in every if x not in self.specials and x not in self.first_letters]
        classes = self.classes_of(units + [w for ways in written.values() for w in ways])
        for pair, ways in written.items():
            own = next(c for c in classes if pair in c)
            units += [way for way in ways if way in own]
        self.classes = self.classes_of(units)
        low, high = (b"x", b"X") if r[b"x"] <= r[b"X"] else (b"X", b"x")
        self.relation = {}
        for members in self.classes:
            for a, b in zip(members, members[1:]):
                same = r[a + b"m"] == r[b + b"m"]
                self.relation[b] = "=" if same else "|" if r[high + a] < r[low + b] else ""
        self.french = False

    def classes_of(self, units):
        r, classes = self.ranks, []
        for x in sorted(units, key=lambda x: (r[x + b"m"], x)):
            if classes and r[classes[-1][-1] + b"x"] > r[x + b"m"]:
                classes[-1].append(x)
            else:
                classes.append([x])
        return classes

    def weights(self):
        weights = {}
        for primary, members in enumerate(self.classes):
            secondary = tertiary = 0
            for place, x in enumerate(members):
                relation = self.relation.get(x, "")
                if place and relation == "|":
                    secondary, tertiary = secondary + 1, 0
                elif place and relation == "":
                    tertiary += 1
                weights[x] = (primary, secondary, tertiary)
        return weights

    def disagreements(self, sorted_texts):
        """How many neighbours in Firebird's order are not in ours."""
        weights = self.weights()
        special = {x: place for place, x in enumerate(self.specials)}

        def key(text):
            levels, specials, place = ([], [], []), [], 0
            text = text.rstrip(b" ")
            while place < len(text):
                unit = text[place:place + 2]
                unit = unit if len(unit) == 2 and unit in weights else text[place:place + 1]
                if unit in special:
                    specials.append((place, special[unit]))
                else:
                    for part in [unit, *self.second_letter(unit)]:
                        for level, weight in zip(levels, weights[part]):
                            level.append(weight)
                place += len(unit)
            return levels[0], levels[1][::-1] if self.french else levels[1], levels[2], specials

        keyed = [(key(text), rank) for text, rank in sorted_texts if not set(map(byte, text)) & self.pending()]
        return sum(1 for (a, i), (b, j) in zip(keyed, keyed[1:]) if not (a == b if i == j else a < b))

    def second_letter(self, unit):
        return [self.expansions[unit]] if unit in self.expansions else []

    def pending(self):
        return {x for x in self.first_letters if x not in self.expansions}

    def fit(self, ranked):
        """Places the characters that are two letters where they disagree least with the order of texts, and finds out whether
        accents count from the end: by a part of the texts, and by all where that leaves something."""
        few = ranked[::6]
        for texts in (few, few, ranked, ranked):
            for x, (first, second) in self.first_letters.items():
                self.place(x, first, second, texts)
            self.french = False
            found = self.disagreements(texts)
            self.french = True
            self.french = self.disagreements(texts) < found
            if self.disagreements(texts):
                self.refine(texts)
            if self.disagreements(ranked) == 0:
                break

    def place(self, x, first, second, texts):
        members = next(c for c in self.classes if first in c)
        if x in members:
            members.remove(x)
        firsts = {m[0] for m in members if len(m) == 1}
        seconds = {second, second - 32}
        near = [(t, r) for t, r in texts if len(t) < 5 and (
            x in t or any(t[i] in firsts and t[i + 1] in seconds for i in range(len(t) - 1)))]
        base, best = list(members), None
        for letter in (byte(second), byte(second - 32)):
            self.expansions[x] = letter
            for place in range(1, len(base) + 1):
                for relation in ("=", "", "|"):
                    members[:] = base[:place] + [x] + base[place:]
                    self.relation[x] = relation
                    score = self.disagreements(near)
                    if best is None or score < best[0]:
                        best = (score, list(members), relation, letter)
        _, members[:], self.relation[x], self.expansions[x] = best

    def refine(self, texts):
        """Two characters that stand side by side may have to move together."""
        for x in self.expansions:
            for relation in ("|", "", "="):
                before, old = self.disagreements(texts), self.relation[x]
                self.relation[x] = relation
                if self.disagreements(texts) >= before:
                    self.relation[x] = old

    def lines(self, characters):
        many = {x[0] for members in self.classes for x in members if len(members) > 1 and len(x) == 1}
        words, run = [], []

        def close():
            if len(run) > 2:
                words.append(f"{characters.shown(byte(run[0]))}..{characters.shown(byte(run[-1]))}")
            else:
                words.extend(characters.shown(byte(n)) for n in run)
            run.clear()

        def write(classes):
            words.clear()
            for members in classes:
                if len(members) == 1 and len(members[0]) == 1:
                    number = members[0][0]
                    if run and not (number > run[-1] and all(n in many for n in range(run[-1] + 1, number))):
                        close()
                    run.append(number)
                else:
                    close()
                    words.append("".join(
                        self.relation.get(x, "") * (place > 0) + characters.shown(x) for place, x in enumerate(members)))
            close()
            return " ".join(words)

        lines = ["letters " + write(self.classes)]
        if self.specials:
            lines.append("specials " + write([[x] for x in self.specials]))
        if self.expansions:
            lines.append("expand " + " ".join(
                characters.shown(x) + characters.shown(to) for x, to in self.expansions.items()))
        return lines + ["french"] * self.french


def probes():
    units = [byte(n) for n in range(256)]
    units += [w for p in PAIRS for w in (p.encode(), (p[0] + p[1].upper()).encode(), p.capitalize().encode(), p.upper().encode())]
    texts = {b"mx", b"mxm"} | {byte(a) + byte(b) for a in ASCII for b in ASCII}
    for x in units:
        texts |= {x, x + b"m", x + b"x", b"x" + x, b"X" + x, b"m" + x + b"x"}
    return texts


def random_texts(characters):
    random.seed(7)
    letters = characters.letters()
    some = [n for n in letters if n < 128]
    texts = {byte(a) + byte(b) for a in letters for b in letters}
    for source, most in ((letters, 5), (some, 5), (letters + list(range(33, 256)), 4)):
        texts |= {bytes(random.choices(source, k=random.randint(1, most))) for _ in range(6000)}
    # Case before what may be an accent or another case of two letters.
    texts |= {case + byte(n) + second for case in (b"x", b"X") for n in letters for second in (b"", b"e", b"h", b"s")}
    return texts


def recorded(title, ranked):
    words, last = [], None
    for text, rank in ranked:
        words.append(("=" if rank == last else "") + text.hex())
        last = rank
    return [title, " ".join(words)]


def sample(ranked, texts):
    return [(text, rank) for text, rank in ranked if text in texts]


def unicode_texts():
    random.seed(3)
    codes = [*range(0x21, 0x3100), *range(0x4E00, 0x4E80), *range(0xAC00, 0xAC40), *range(0xFF01, 0xFFA0)]
    characters = [chr(c) for c in codes if unicodedata.category(chr(c)) not in ("Mn", "Me") and unicodedata.category(chr(c))[0] != "C"]
    words = set()
    for alphabet, count, lengths in (
        ("aábcčdďeéěfghiíjklľmnňoóprřsštťuúůvyýzžäöüåæøßñlzCHÉÖABXıİğş", 2500, (2, 3, 4)),
        ("aAbB0129 -_.é", 700, (2, 3, 4, 5)),
        ("абвгдеёжзиійїклмнопрстуфхцчшщъыьэюяАБВЁЙЯ", 500, (3,)),
    ):
        for _ in range(count):
            words.add("".join(random.choices(alphabet, k=random.choice(lengths))).strip() or "x")
    return characters, sorted(words - set(characters))


def table(name):
    return [line.split("\t") for line in (HERE / name).read_text().splitlines()[1:]]


def main(target, user, password, *wanted):
    firebird = Firebird(target, user, password)
    names = {row[0]: row[1] for row in table("character-sets.tsv")}
    sets = {name: Characters(name, codes) for name, codes in table("single-byte-character-sets.tsv")}
    collations = [(names[row[0]], row[2]) for row in table("collations.tsv") if names[row[0]] in sets]
    collations = [c for c in collations if not wanted or c[1] in wanted]
    orders, texts_of_sets, cases = [], [], []
    for set_name, characters in sets.items():
        mine = [name for own, name in collations if own == set_name]
        if not mine:
            continue
        firebird.put(probes())
        probed = {name: firebird.ranks(set_name, PLAIN.get(name, name)) for name in mine}
        mapped = {name: firebird.cases(set_name, name) for name in mine}
        texts = random_texts(characters)
        firebird.put(texts)
        for name in mine:
            lines, national = [], name != set_name and not name.endswith("_UNICODE") and name != "PDOX_ASCII"
            if national and name not in DERIVED:
                order = Order(name, dict(probed[name]))
                ranked = firebird.ranks(set_name, PLAIN.get(name, name))
                order.fit(ranked)
                print(name, order.disagreements(ranked), "of", len(ranked), "disagree", file=sys.stderr, flush=True)
                lines += order.lines(characters)
            for place, word in ((0, "upper"), (1, "lower")):
                own = [(n, m[place][0]) for n, m in sorted(mapped[name].items()) if m[place]]
                own = [(n, to) for n, to in own if to != characters.other_case(n, word == "upper") and (characters.decode(n) or to)]
                if own:
                    lines.append(f"{word} " + " ".join(characters.shown(byte(n)) + characters.shown(byte(to)) for n, to in own))
                row = "".join(mapped[name][n][place].hex() if mapped[name][n][place] else "!!" for n in range(128, 256))
                cases.append(f"{name} {set_name} {word.upper()} {row}")
            if lines:
                orders.append("\n".join([f"order {name} {set_name}", *lines]))
            if national:
                ranked = firebird.ranks(set_name, name)
                random.seed(11)
                words = random.sample(sorted(t for t in texts if 2 <= len(t) <= 4), 340)
                title = f"{name} {set_name}"
                singles = {byte(n) for n in range(256)} - {b" "}
                firebird.put(singles)
                texts_of_sets += recorded(title, firebird.ranks(set_name, name))
                texts_of_sets += recorded(title, sample(ranked, set(words)))
                firebird.put(texts)
    if wanted:
        print("\n".join(orders))
        return
    characters, words = unicode_texts()
    firebird.put({t.encode() for t in characters + words})
    random.seed(5)
    for name in ["UNICODE", "UNICODE_CI", "UNICODE_CI_AI", *MADE]:
        ranked = firebird.ranks("UTF8", name)
        title = f"{name} UTF8" + ("" if name not in MADE else f" UNICODE {MADE[name][0]} {MADE[name][1]}")
        few = characters if name == "UNICODE" else random.sample(characters, 2500 if name not in MADE else 150)
        for part in (few, random.sample(words, 900 if name not in MADE else 600)):
            texts_of_sets += recorded(title, sample(ranked, {t.encode() for t in part}))

    def write(name, head, lines):
        (HERE / name).write_text(head + "\n".join(lines) + "\n")

    write("national-orders.txt", "# The orders of Firebird's national collations, and where their UPPER and LOWER are not Unicode's.\n#\n"
          "# Written by record_collations.py from what a running Firebird 5.0.4 answers; src/collation/national/rules.rs says how to read it.\n", orders)
    write("recorded-orders.txt", "# The orders in which a running Firebird 5.0.4 (ICU 76.1) sorts texts, by record_collations.py; a test compares ours with them.\n"
          "# A line names a collation, its character set, and for a made one what it is made from; the next has texts in their order, in hex,\n"
          "# a text that is equal to the one before with = in front.\n", texts_of_sets)
    write("recorded-cases.txt", "# UPPER and LOWER of the bytes 80 to FF, as a running Firebird 5.0.4 maps them, by record_collations.py: a line per collation and\n"
          "# function, a byte in hex, !! where it gives an error.\n", cases)


if __name__ == "__main__":
    main(*sys.argv[1:])
