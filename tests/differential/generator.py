"""Random schemas, rows, queries and changes, as trees. The same seed gives the same case to the same version of Firebird.

What is made is meant to have one right answer: no order among equals decides it (FIRST comes with a complete ORDER BY,
window frames of ROWS too), and texts in columns that ignore case are all written in one case.
"""

from dataclasses import dataclass

from tree import Several, node

TYPES = ["int", "big", "num", "double", "text", "date", "stamp", "truth"]
DECLARED = {
    "int": ["integer", "smallint"], "big": ["bigint"], "num": ["numeric(9,2)", "decimal(15,1)"],
    "double": ["double precision"], "text": ["varchar(10)", "char(4)"], "date": ["date"], "stamp": ["timestamp"],
    "truth": ["boolean"],
}
LITERALS = {
    "int": ["0", "1", "2", "3", "-1", "7"], "big": ["0", "5", "3000000000"], "num": ["0.5", "1.25", "-2.00", "10.10"],
    "double": ["0.5e0", "2e0", "-1.25e0"], "text": ["'a'", "'A'", "'ab'", "'b'", "''", "'ba'", "'c d'", "'abc'"],
    "date": ["date '2024-01-31'", "date '2024-02-29'", "date '1999-12-31'"],
    "stamp": ["timestamp '2024-01-31 10:00:00'", "timestamp '1999-12-31 23:59:59'"],
    "truth": ["true", "false"],
}
# Column names that several tables share, for USING and NATURAL, with the type that each has everywhere.
SHARED = [("k", "int"), ("g", "int"), ("s", "text")]
DEPTH_MAX = 3
# Tables of the case before may refer to each other: without that they can be created again in any order.
DROP_REFERENCES = """execute block as
  declare table_name varchar(63);
  declare constraint_name varchar(63);
begin
  for select trim(rdb$relation_name), trim(rdb$constraint_name) from rdb$relation_constraints
      where rdb$constraint_type = 'FOREIGN KEY' into :table_name, :constraint_name do
    execute statement 'alter table ' || table_name || ' drop constraint ' || constraint_name;
end"""


@dataclass
class Column:
    name: str
    type: str
    declared: str
    lower_case: bool = False
    computed: bool = False


@dataclass
class Table:
    name: str
    columns: list
    rows: list
    constraints: list
    indexes: list

    def create(self):
        parts = [f"{column.name} {column.declared}" for column in self.columns]
        return f"recreate table {self.name} ({', '.join(parts + self.constraints)})"

    def stored(self):
        return [column for column in self.columns if not column.computed]


@dataclass
class Case:
    """What is set up, what is asked, and what is looked at afterwards."""

    tables: list
    tree: object
    ordered: bool
    changes: bool

    def setup(self):
        statements = [DROP_REFERENCES]
        for table in self.tables:
            statements.append(table.create())
            statements += table.indexes
        for table in self.tables:
            names = ", ".join(column.name for column in table.stored())
            inserts = [f"insert into {table.name} ({names}) values ({', '.join(row)});" for row in table.rows]
            if inserts:
                statements.append("execute block as begin\n  " + "\n  ".join(inserts) + "\nend")
        return statements

    def questions(self):
        asked = [self.tree.sql()]
        if self.changes:
            asked += [f"select * from {table.name}" for table in self.tables]
        return asked


class Scope:
    """What names can be used: aliases with their columns."""

    def __init__(self, outer=None):
        self.tables, self.outer = [], outer

    def columns(self, kind):
        found = self.own(kind)
        if self.outer and not found:
            found = self.outer.columns(kind)
        return found

    def own(self, kind):
        return [f"{alias}.{name}" for alias, columns in self.tables for name, type_ in columns if type_ == kind]

    @staticmethod
    def of(scope):
        """The same tables without what is around them."""
        alone = Scope()
        alone.tables = scope.tables
        return alone

    def any_outer(self, kind):
        return self.outer.columns(kind) if self.outer else []

    def ids(self):
        return [f"{alias}.id" for alias, columns in self.tables if ("id", "int") in columns]


class Generator:
    def __init__(self, random, features):
        """`features`: the names in features.py of what may be asked."""
        self.random = random
        self.features = features
        self.aliases = 0
        self.tables = []

    # -- schema and rows

    def cases(self, count):
        """Several questions about the same tables."""
        self.tables = [self.table(f"t{number}") for number in range(self.random.randint(2, 4))]
        if self.chance(0.25):
            self.add_reference()
        if any(column.lower_case for table in self.tables for column in table.columns):
            self.drop_indexes_of_another_collation()
        return [self.case() for _ in range(count)]

    def case(self):
        self.aliases = 0
        if self.chance(0.2):
            return Case(self.tables, self.change(), False, True)
        tree, ordered = self.top_query()
        return Case(self.tables, tree, ordered, False)

    def table(self, name):
        random = self.random
        columns = [Column("id", "int", "integer not null primary key")]
        for shared, kind in SHARED:
            if self.chance(0.7):
                columns.append(self.column(shared, kind))
        for number in range(random.randint(1, 3)):
            kind = random.choice(TYPES)
            columns.append(self.column(f"{name}c{number}", kind))
        numbers = [column.name for column in columns if column.type == "int"]
        if self.chance(0.25):
            formula = random.choice(["{} + 1", "coalesce({}, 5)", "{} * 2 - id"]).format(random.choice(numbers))
            columns.append(Column(f"{name}f", "int", f"computed by ({formula})", computed=True))
        rows = []
        for number in range(random.choice([0, 2, 4, 6, 8, 12, 12])):
            rows.append([str(number + 1)] + [self.stored_value(column) for column in columns[1:] if not column.computed])
        indexes = []
        for column in columns[1:]:
            if not column.computed and self.chance(0.3):
                direction = random.choice(["", " descending"])
                some = " where id > 3" if self.may("partial index", 0.3) else ""
                indexes.append(f"create{direction} index {name}_{column.name} on {name} ({column.name}){some}")
        return Table(name, columns, rows, [], indexes)

    def drop_indexes_of_another_collation(self):
        """Firebird, up to 5, looks for a text that ignores case in an index that does not, and misses rows."""
        for table in self.tables:
            apart = [f"({column.name})" for column in table.columns if column.type == "text" and not column.lower_case]
            table.indexes = [index for index in table.indexes if not any(name in index for name in apart)]

    def column(self, name, kind):
        declared = self.random.choice(DECLARED[kind])
        lower_case = False
        if kind == "text" and declared.startswith("varchar") and self.chance(0.3):
            declared += " collate unicode_ci"
            lower_case = True
        return Column(name, kind, declared, lower_case)

    def stored_value(self, column):
        if self.chance(0.2):
            return "null"
        if column.type == "num" and self.chance(0.5):
            return f"{self.random.randint(-20, 99)}.{self.random.choice(['00', '50', '25'])}"
        value = self.random.choice(LITERALS[column.type])
        return value.lower() if column.lower_case else value

    def add_reference(self):
        parent, child = self.tables[0], self.tables[-1]
        rules = ["", " on delete cascade", " on delete set null", " on update cascade", " on update cascade on delete cascade"]
        child.columns.append(Column("ref", "int", "integer"))
        child.constraints.append(f"foreign key (ref) references {parent.name} (id){self.random.choice(rules)}")
        for row in child.rows:
            number = self.random.randint(0, len(parent.rows))
            row.append(str(number) if number else "null")
        # References stand behind computed columns: rows are written by name.

    # -- queries

    def top_query(self):
        query, kinds = self.query(0, None)
        if self.chance(0.5):
            return query, False
        # Complete: rows that compare equal may still differ in case.
        keys = tuple(node("key", f"{number + 1}{self.random.choice(['', ' desc', ' nulls last', ' desc nulls first'])}")
                     for number in range(len(kinds)))
        limit = ()
        if self.chance(0.5):
            limit = (node("limit", self.random.choice([" rows 3", " rows 2 to 4", " offset 1 rows fetch first 3 rows only"])),)
        return node("query", query, Several(keys, " order by "), Several(limit)), "nulls" not in str(keys) and bool(limit)

    def query(self, depth, outer, kinds=None):
        """A SELECT or a UNION without ORDER BY, and the types of its columns."""
        roll = self.random.random()
        if depth < 2 and roll < 0.15:
            first, kinds = self.select(depth + 1, outer, kinds)
            second, _ = self.select(depth + 1, outer, kinds)
            return node("query", first, self.random.choice([" union ", " union all "]), second), kinds
        if depth == 0 and roll < 0.22:
            return self.recursive()
        if depth == 0 and roll < 0.3:
            return self.with_query()
        return self.select(depth, outer, kinds)

    def with_query(self):
        inner, kinds = self.select(1, None)
        names = [f"x{number}" for number in range(len(kinds))]
        scope = Scope()
        source = node("from", f"w w1")
        columns = list(zip(names, kinds))
        scope.tables.append(("w1", columns))
        if self.chance(0.4):
            scope.tables.append(("w2", columns))
            source = node("from", source, " left join w w2 on ", self.truth(scope, 1))
        outer, kinds = self.select(1, None, source=(source, scope))
        return node("query", f"with w ({', '.join(names)}) as (", inner, ") ", outer), kinds

    def recursive(self):
        table = self.random.choice(self.tables)
        numbers = [column.name for column in table.columns if column.type == "int" and column.name != "id"]
        if not numbers:
            return self.select(0, None)
        link = self.random.choice(numbers)
        scope = Scope()
        scope.tables.append(("r", [("id", "int"), ("n", "int")]))
        outer, kinds = self.select(1, None, source=(node("from", "r"), scope))
        start = node("truth", f"c.id <= {self.random.randint(1, 4)}")
        return node(
            "query", f"with recursive r (id, n) as (select c.id, 0 from {table.name} c", Several((start,), " where "),
            f" union all select c.id, r.n + 1 from {table.name} c join r on c.{link} = r.id where r.n < 3) ", outer), kinds

    def select(self, depth, outer, kinds=None, source=None):
        if source:
            tables, scope = source
        else:
            scope = Scope(outer)
            tables = self.from_tree(scope, depth, self.random.choice([1, 1, 2, 2, 3]))
        where = self.conjuncts(scope, depth, 0.4)
        grouped = self.chance(0.3)
        wanted = kinds or [self.random.choice(TYPES) for _ in range(self.random.randint(1, 3))]
        if grouped:
            return self.grouped(depth, scope, tables, where, wanted)
        distinct = (node("word", "distinct "),) if self.chance(0.2) else ()
        windows = not distinct and self.chance(0.2) and len(scope.ids()) == len(scope.tables)
        items = []
        for number, kind in enumerate(wanted):
            value = self.window(kind, scope, depth) if windows and kind in ("int", "big", "num") else self.value(kind, scope, depth)
            items.append(node("item", value, f" c{number}"))
        return node("query", "select ", Several(distinct), Several(tuple(items), least=1 if not kinds else len(items)),
                    " from ", tables, Several(where, " where ", " and ")), wanted

    def grouped(self, depth, scope, tables, where, wanted):
        # A key over nothing but columns of an outer query is refused by Firebird.
        alone = Scope.of(scope)
        keys = [self.value(self.random.choice(["int", "text", "date", "num"]), alone, DEPTH_MAX - 1)
                for _ in range(self.random.randint(0, 2))]
        keys = [key for key in keys if "." in key.sql() and "(select" not in key.sql()]
        items = []
        for number, kind in enumerate(wanted):
            matching = [key for key in keys if key.kind == kind]
            value = self.random.choice(matching) if matching and self.chance(0.7) else self.aggregate(kind, scope, depth)
            items.append(node("item", value, f" c{number}"))
        having = ()
        if self.chance(0.3):
            having = (node("truth", "count(*) > ", self.random.choice(["0", "1", "2"])),)
        return node("query", "select ", Several(tuple(items), least=len(items)), " from ", tables,
                    Several(where, " where ", " and "), Several(tuple(keys), " group by "),
                    Several(having, " having ")), wanted

    def from_tree(self, scope, depth, count):
        tree = self.from_leaf(scope, depth, None)
        for _ in range(count - 1):
            kind = self.random.choice(["join", "left join", "left join", "right join", "full join", "cross join", ","])
            before = list(scope.tables)
            if kind in ("join", "left join", "cross join", ",") and depth < 2 and self.may("lateral", 0.25):
                tree = self.lateral(tree, scope, depth, kind)
                continue
            leaf = self.from_leaf(scope, depth, before)
            if kind in ("cross join", ","):
                tree = node("from", tree, f" {kind} " if kind != "," else " cross join ", leaf)
            else:
                tree = node("from", tree, f" {kind} ", leaf, self.condition(scope, before, depth))
        return tree

    def lateral(self, tree, scope, depth, kind):
        inner, kinds = self.query(depth + 1, scope)
        alias = self.alias()
        scope.tables.append((alias, [(f"c{number}", type_) for number, type_ in enumerate(kinds)]))
        named = f") {alias} ({', '.join(f'c{number}' for number in range(len(kinds)))})"
        if kind in ("cross join", ","):
            return node("from", tree, " cross join lateral (", inner, named)
        return node("from", tree, f" {kind} lateral (", inner, named, " on ", self.truth(scope, depth + 1))

    def condition(self, scope, before, depth):
        """ON or USING between what was there before and the last table."""
        _, last = scope.tables[-1]
        names = {name for name, _ in last if name in ("k", "g", "s")}
        left = [name for _, columns in before for name, _ in columns]
        usable = [name for name in names if left.count(name) == 1]
        if usable and self.chance(0.3):
            return node("condition", f" using ({self.random.choice(sorted(usable))})")
        return node("condition", " on ", Several(self.conjuncts(scope, depth, 1.0), "", " and ", least=1))

    def from_leaf(self, scope, depth, _before):
        alias = self.alias()
        if depth < 2 and self.chance(0.2):
            inner, kinds = self.query(depth + 1, scope.outer)
            scope.tables.append((alias, [(f"c{number}", type_) for number, type_ in enumerate(kinds)]))
            names = ", ".join(f"c{number}" for number in range(len(kinds)))
            return node("from", "(", inner, f") {alias} ({names})")
        table = self.random.choice(self.tables)
        scope.tables.append((alias, [(column.name, column.type) for column in table.columns]))
        return node("from", f"{table.name} {alias}")

    def alias(self):
        self.aliases += 1
        return f"a{self.aliases}"

    def conjuncts(self, scope, depth, chance):
        count = self.random.choice([1, 1, 2]) if self.chance(chance) else 0
        return tuple(self.truth(scope, depth + 1) for _ in range(count))

    # -- values

    def value(self, kind, scope, depth):
        if kind == "truth":
            return node("truth", "(", self.truth(scope, depth + 1), ")", simplest="true") if depth < DEPTH_MAX else self.leaf(kind, scope)
        if depth >= DEPTH_MAX or self.chance(0.5):
            return self.leaf(kind, scope)
        more = lambda other=kind: self.value(other, scope, depth + 1)
        simplest = LITERALS[kind][0]
        make = lambda *parts: node(kind, *parts, simplest=simplest)
        roll = self.random.random()
        if roll < 0.15:
            return make("coalesce(", more(), ", ", more(), ")")
        if roll < 0.3:
            return make("case when ", self.truth(scope, depth + 1), " then ", more(), " else ", more(), " end")
        if roll < 0.37:
            return make("nullif(", more(), ", ", more(), ")")
        if roll < 0.47 and depth < 2:
            return self.scalar_subquery(kind, scope, depth)
        return self.operation(kind, make, more)

    def operation(self, kind, make, more):
        choose = self.random.choice
        if kind in ("int", "big"):
            return choose([
                lambda: make("(", more(), choose([" + ", " - "]), more(), ")"),
                lambda: make("abs(", more(), ")"), lambda: make("-(", more(), ")"),
                lambda: make("char_length(", more("text"), ")"), lambda: make("extract(month from ", more("date"), ")"),
                lambda: make("mod(", more("int"), ", 3)"), lambda: make("cast(", more("int"), " as bigint)"),
                lambda: make("position('a' in ", more("text"), ")"), lambda: make("sign(", more("num"), ")"),
            ])()
        if kind == "num":
            return choose([
                lambda: make("(", more(), choose([" + ", " - "]), more(), ")"), lambda: make("(", more(), " * 2)"),
                lambda: make("cast(", more("int"), " as numeric(9,2))"), lambda: make("round(", more(), ", 1)"),
                lambda: make("abs(", more(), ")"),
            ])()
        if kind == "double":
            return choose([
                lambda: make("(", more(), choose([" + ", " - "]), more(), ")"),
                lambda: make("cast(", more("int"), " as double precision)"), lambda: make("floor(", more(), ")"),
            ])()
        if kind == "text":
            return choose([
                lambda: make("(", more(), " || ", more(), ")"), lambda: make("upper(", more(), ")"),
                lambda: make("lower(", more(), ")"), lambda: make("trim(", more(), ")"),
                lambda: make("substring(", more(), " from 2 for 2)"), lambda: make("reverse(", more(), ")"),
                lambda: make("cast(", more("int"), " as varchar(20))"), lambda: make("left(", more(), ", 2)"),
                lambda: make("replace(", more(), ", 'a', 'x')"), lambda: make("lpad(", more(), ", 5, '.')"),
            ])()
        if kind == "date":
            return choose([
                lambda: make("(", more(), " + 1)"), lambda: make("cast(", more("stamp"), " as date)"),
                lambda: make("dateadd(1 month to ", more(), ")"),
            ])()
        return choose([
            lambda: make("cast(", more("date"), " as timestamp)"), lambda: make("dateadd(-1 hour to ", more(), ")"),
        ])()

    def leaf(self, kind, scope):
        columns = scope.columns(kind)
        outer = scope.any_outer(kind)
        if outer and self.chance(0.3):
            return node(kind, self.random.choice(outer))
        if columns and self.chance(0.85):
            return node(kind, self.random.choice(columns))
        return node(kind, self.random.choice(LITERALS[kind]))

    def scalar_subquery(self, kind, scope, depth):
        inner = Scope(scope)
        tables = self.from_tree(inner, depth + 1, 1)
        where = self.conjuncts(inner, depth + 1, 0.8)
        query = node("query", "select ", self.aggregate(kind, inner, DEPTH_MAX - 1), " from ", tables, Several(where, " where ", " and "))
        return node(kind, "(", query, ")", simplest=LITERALS[kind][0])

    def aggregate(self, kind, scope, depth):
        # Over columns of its own query: one over nothing but columns of an outer query is the outer query's aggregate.
        scope = Scope.of(scope)
        value = self.value(kind, scope, max(depth + 1, DEPTH_MAX - 1))
        simplest = LITERALS[kind][0]
        condition = ()
        if self.may("aggregate filter", 0.15):
            condition = (self.truth(scope, DEPTH_MAX),)
        tail = Several(condition, " filter (where ", " and ", ")")
        if kind == "truth":
            return node(kind, "(max(", self.value("int", scope, DEPTH_MAX), ")", " > 1)", simplest=simplest)
        if kind in ("int", "big") and self.chance(0.5):
            distinct = self.random.choice(["", "distinct "])
            counted = self.value(self.random.choice(TYPES[:-1]), scope, DEPTH_MAX - 1)
            return node(kind, f"count({distinct}", counted, ")", tail, simplest=simplest)
        names = ["min", "max"]
        if kind in ("int", "big", "num", "double"):
            names += ["sum", "avg"]
        return node(kind, f"{self.random.choice(names)}({self.random.choice(['', '', 'distinct '])}", value, ")", tail, simplest=simplest)

    def window(self, kind, scope, depth):
        random = self.random
        # Over columns of its own query: Firebird 5 loses its place with those of an outer one.
        scope = Scope.of(scope)
        partition = (self.value(random.choice(["int", "text"]), scope, DEPTH_MAX),) if self.chance(0.6) else ()
        partition = tuple(key for key in partition if "." in key.sql())
        complete = [node("key", self.value(random.choice(["int", "num", "date"]), scope, DEPTH_MAX), random.choice(["", " desc"]))]
        complete = [key for key in complete if "." in key.sql()] + [node("key", name) for name in scope.ids()]
        order = Several(tuple(complete), " order by ", least=len(complete))
        over = [" over (", Several(partition, "partition by "), order]
        frames = ["", " rows between 1 preceding and 1 following", " rows between unbounded preceding and current row",
                  " rows between current row and unbounded following", " rows between 2 preceding and 1 preceding"]
        frame = random.choice(frames) if self.may("window frames", 1.0) else ""
        value = self.value(kind, scope, DEPTH_MAX - 1)
        simplest = LITERALS[kind][0]
        if kind in ("int", "big") and self.chance(0.4):
            name = random.choice(["row_number()", "rank()", "dense_rank()"] + ["ntile(2)"] * self.may("ntile", 1.0))
            return node(kind, name, *over, ")", simplest=simplest)
        if self.chance(0.3):
            name = random.choice(["lag", "lead"])
            return node(kind, f"{name}(", value, f", {random.choice([1, 2])})", *over, ")", simplest=simplest)
        name = random.choice(["sum", "min", "max", "count", "avg", "first_value", "last_value"])
        return node(kind, f"{name}(", value, ")", *over, frame, ")", simplest=simplest)

    # -- conditions

    def truth(self, scope, depth):
        make = lambda *parts: node("truth", *parts, simplest="1 = 1")
        more = lambda: self.truth(scope, depth + 1)
        roll = self.random.random()
        if depth < DEPTH_MAX and roll < 0.2:
            return make("(", more(), self.random.choice([" and ", " or "]), more(), ")")
        if depth < DEPTH_MAX and roll < 0.25:
            return make("not (", more(), ")")
        if depth < 3 and roll < 0.4:
            return self.subquery_truth(scope, depth, make)
        kind = self.random.choice(TYPES[:-1])
        value = lambda other=kind: self.value(other, scope, max(depth, DEPTH_MAX - 1))
        column = scope.columns("truth")
        if column and self.chance(0.1):
            return make(self.random.choice(column), self.random.choice([" is true", " is not false", " is unknown", " = true"]))
        if kind == "text" and self.chance(0.4):
            return make(value(), self.random.choice([
                " like 'a%'", " like '_b%'", " not like '%b'", " starting with 'a'", " containing 'B'", " similar to '(a|b)+%'"]))
        if roll < 0.5:
            return make(value(), self.random.choice([" is null", " is not null"]))
        if roll < 0.58:
            bounds = [value(), value()]
            if "between NULLs" not in self.features:
                bounds = [node("bound", "coalesce(", bound, f", {LITERALS[kind][0]})") for bound in bounds]
            return make(value(), " between ", bounds[0], " and ", bounds[1])
        if roll < 0.66:
            return make(value(), self.random.choice([" in (", " not in ("]), Several((value(), value()), least=1), ")")
        if roll < 0.72:
            return make(value(), self.random.choice([" is distinct from ", " is not distinct from "]), value())
        return make(value(), self.random.choice([" = ", " = ", " = ", " <> ", " < ", " >= "]), value())

    def subquery_truth(self, scope, depth, make):
        inner = Scope(scope)
        tables = self.from_tree(inner, depth + 1, 1)
        where = self.conjuncts(inner, depth + 1, 0.9)
        if self.chance(0.5):
            query = node("query", "select 1 from ", tables, Several(where, " where ", " and "))
            return make(self.random.choice(["exists (", "not exists ("]), query, ")")
        kind = self.random.choice(["int", "text", "num", "date"])
        columns = inner.columns(kind)
        if not columns:
            kind, columns = "int", inner.columns("int") or ["0"]
        column = self.random.choice(columns)
        # Without NULLs on either side: where the standard says UNKNOWN, Firebird 5 says FALSE.
        query = node("query", f"select {column} from ", tables, f" where {column} is not null", Several(where, " and ", " and "))
        operand = node("operand", "coalesce(", self.value(kind, scope, DEPTH_MAX - 1), f", {LITERALS[kind][0]})")
        # Not ALL: over no rows, and over NULLs, Firebird 5 answers otherwise than the standard.
        link = self.random.choice([" in (", " not in (", " = any (", " <= any ("])
        return make(operand, link, query, ")")

    # -- changes

    def change(self):
        return self.random.choice([self.update, self.delete, self.insert, self.merge, self.update_or_insert])()

    def scope_of(self, table, alias):
        scope = Scope()
        scope.tables.append((alias, [(column.name, column.type) for column in table.columns]))
        return scope

    def assignments(self, table, scope, without=("id", "ref")):
        chosen = [column for column in table.stored() if column.name not in without and self.chance(0.6)]
        chosen = chosen or [column for column in table.stored() if column.name not in without][:1]
        return tuple(node("assignment", f"{column.name} = ", self.fitting(column, scope)) for column in chosen)

    def fitting(self, column, scope):
        """A value that fits into a column: texts are cut, numbers stay small."""
        if column.type == "text":
            length = column.declared.split("(")[1].split(")")[0]
            return node("text", "left(lower(", self.value("text", scope, DEPTH_MAX - 1), f"), {length})", simplest="'a'")
        if column.type in ("int", "big"):
            return node(column.type, "mod(", self.value("int", scope, DEPTH_MAX - 1), ", 100)", simplest="1")
        return self.value(column.type, scope, DEPTH_MAX)

    def update(self):
        table = self.random.choice(self.tables)
        scope = self.scope_of(table, "t")
        if self.chance(0.25):
            step = self.random.choice([20, 1, -1])
            return node("query", f"update {table.name} t set id = id + {step}", Several(self.conjuncts(scope, 1, 0.5), " where ", " and "))
        return node("query", f"update {table.name} t set ", Several(self.assignments(table, scope), least=1),
                    Several(self.conjuncts(scope, 1, 0.7), " where ", " and "))

    def delete(self):
        table = self.random.choice(self.tables)
        return node("query", f"delete from {table.name} t", Several(self.conjuncts(self.scope_of(table, "t"), 1, 0.9), " where ", " and "))

    def insert(self):
        table = self.random.choice(self.tables)
        names = ", ".join(column.name for column in table.stored())
        scope = self.scope_of(table, "t")
        values = [node("int", "t.id + 100")] + [
            node("int", "t.ref") if column.name == "ref" else self.fitting(column, scope) for column in table.stored()[1:]]
        return node("query", f"insert into {table.name} ({names}) select ", Several(tuple(values), least=len(values)),
                    f" from {table.name} t", Several(self.conjuncts(scope, 1, 0.5), " where ", " and "))

    def merge(self):
        target, source = self.random.choice(self.tables), self.random.choice(self.tables)
        scope = self.scope_of(target, "t")
        scope.tables.append(("x", [(column.name, column.type) for column in source.columns]))
        only_source = self.scope_of(source, "x")
        branches = []
        if self.chance(0.8):
            branches.append(node("branch", " when matched", Several(self.conjuncts(scope, 1, 0.4), " and ", " and "),
                                 " then update set ", Several(self.assignments(target, scope), least=1)))
        if self.chance(0.3):
            branches.append(node("branch", " when matched then delete"))
        if self.chance(0.6) or not branches:
            names = ", ".join(column.name for column in target.stored())
            values = [node("int", "x.id + 200")] + [
                node("int", "null") if column.name == "ref" else self.fitting(column, only_source) for column in target.stored()[1:]]
            branches.append(node("branch", f" when not matched then insert ({names}) values (", Several(tuple(values), least=len(values)), ")"))
        if self.may("merge by source", 0.2):
            branches.append(node("branch", " when not matched by source then delete"))
        link = node("truth", "t.id = x.id + ", self.random.choice(["0", "1", "2"]))
        return node("query", f"merge into {target.name} t using {source.name} x on ", link, Several(tuple(branches), "", "", least=1))

    def update_or_insert(self):
        table = self.random.choice(self.tables)
        names = ", ".join(column.name for column in table.stored())
        values = [node("int", str(self.random.randint(1, 15)))] + [
            node("null", "null") if column.name == "ref" else self.fitting(column, Scope()) for column in table.stored()[1:]]
        return node("query", f"update or insert into {table.name} ({names}) values (", Several(tuple(values), least=len(values)), ") matching (id)")

    def may(self, feature, part):
        """Whether to ask for a feature: never where the reference lacks it."""
        return feature in self.features and self.chance(part)

    def chance(self, part):
        return self.random.random() < part
