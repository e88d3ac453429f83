"""A working day of a Django program over django-firebird: migrations made and run, the ORM's look-ups, functions and
aggregates, transactions, what the database tells about itself. Run as python day.py; it reports a line for each check."""

import datetime
import decimal
import io
import os
import sys
import tempfile
import uuid
from pathlib import Path

from firebird.driver import driver_config

driver_config.fb_client_library.value = os.environ["FIREBIRD_CLIENT_LIBRARY"]

import django  # noqa: E402
from django.conf import settings  # noqa: E402

MADE = tempfile.TemporaryDirectory(prefix="farbird-django-")
sys.path.insert(0, MADE.name)
(Path(MADE.name) / "made").mkdir()
(Path(MADE.name) / "made" / "__init__.py").touch()

settings.configure(
    DATABASES={"default": {
        "ENGINE": "django_firebird", "NAME": os.environ["FIREBIRD_DATABASE"], "HOST": os.environ["FIREBIRD_HOST"],
        "PORT": os.environ["FIREBIRD_PORT"], "USER": os.environ["FIREBIRD_USER"], "PASSWORD": os.environ["FIREBIRD_PASSWORD"],
    }},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", "shop"],
    MIGRATION_MODULES={"shop": "made"}, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", USE_TZ=False, TIME_ZONE="UTC",
)
django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, connection, models, transaction  # noqa: E402
from django.db.models import Avg, Case, Count, Exists, F, Max, Min, OuterRef, Q, StdDev, Subquery, Sum, Value, Variance, When, Window  # noqa: E402
from django.db.models import functions as fn  # noqa: E402
from shop.models import Customer, Everything, Invoice  # noqa: E402


def check(name, work):
    """Runs one check and reports it."""
    try:
        work()
    except Exception as error:  # noqa: BLE001: whatever it is, it is what a user would see
        print(f"FAIL {name}: {type(error).__name__}: {' '.join(str(error).split())}", flush=True)
        if connection.in_atomic_block is False:
            connection.close_if_unusable_or_obsolete()
    else:
        print(f"ok {name}", flush=True)


def same(given, wanted):
    assert given == wanted, f"{given!r} instead of {wanted!r}"


def fails(kind, work):
    try:
        with transaction.atomic():
            work()
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


def command(*arguments, **options):
    """What a command of manage.py prints."""
    out = io.StringIO()
    call_command(*arguments, stdout=out, **options)
    return out.getvalue()


def migrations():
    check("makemigrations", lambda: same("Create model Customer" in command("makemigrations", "shop", verbosity=1), True))
    check("migrate", lambda: command("migrate", verbosity=0))
    check("showmigrations", lambda: same("[ ]" in command("showmigrations"), False))
    check("nothing is left to migrate", lambda: command("makemigrations", check=True, dry_run=True, verbosity=0))
    check("check", lambda: command("check", database=["default"]))


def writing():
    def people():
        for at, (name, city, credit) in enumerate([("Ada", "London", "100.50"), ("Grace", "New York", "20.25"), ("Ædith", "Köln", "0"), ("bob", None, "70")]):
            Customer.objects.create(name=name, email=f"{at}@example.com", city=city, credit=decimal.Decimal(credit),
                                    created=datetime.datetime(2024, 1 + at, 28 + at % 2, 13 + at, 14, 15, 250000), active=at != 2)
    check("create", people)
    check("bulk_create", lambda: Invoice.objects.bulk_create([
        Invoice(customer=Customer.objects.order_by("id")[at % 3], number=at, total=decimal.Decimal(at) / 4,
                issued=datetime.date(2024, 1, 1) + datetime.timedelta(days=at * 7)) for at in range(60)]))
    check("keys come back", lambda: same(Customer(name="x", email="x@x.x", created=datetime.datetime(2024, 1, 1)).save() or Customer.objects.get(name="x").pk > 4, True))
    check("update", lambda: same(Customer.objects.filter(name="x").update(city="gone", credit=F("credit") + 5), 1))
    check("bulk_update", lambda: bulk_update())
    check("get_or_create", lambda: same([Customer.objects.get_or_create(email="y@y.y", defaults={"name": "y", "created": datetime.datetime(2024, 1, 1)})[1] for _ in range(2)],
                                        [True, False]))
    check("update_or_create", lambda: same(Customer.objects.update_or_create(email="y@y.y", defaults={"city": "new"})[0].city, "new"))
    check("delete", lambda: same(Customer.objects.filter(name__in=["x", "y"]).delete()[1].get("shop.Customer"), 2))
    check("many to many", lambda: friends())
    check("every kind of field there and back", everything)
    check("users and groups", users)


def bulk_update():
    invoices = list(Invoice.objects.filter(number__lt=3))
    for invoice in invoices:
        invoice.total += 1
    Invoice.objects.bulk_update(invoices, ["total"])
    same(list(Invoice.objects.filter(number__lt=3).order_by("number").values_list("total", flat=True)), [decimal.Decimal(value) for value in ("1.00", "1.25", "1.50")])


def friends():
    ada, grace = Customer.objects.get(name="Ada"), Customer.objects.get(name="Grace")
    ada.friends.add(grace)
    same(list(grace.friends.values_list("name", flat=True)), ["Ada"])
    same(Customer.objects.filter(friends__name="Grace").count(), 1)


def everything():
    wanted = {
        "small": -32768, "whole": -(2**31), "large": 2**63 - 1, "real": -2.5e100, "exact": decimal.Decimal("123456789012.345678"), "text": "grüße " * 5000,
        "letter": "ß", "data": bytes(range(256)) * 100, "flag": None, "day": datetime.date(2024, 2, 29), "time": datetime.time(13, 14, 15, 123400),
        "moment": datetime.datetime(2024, 2, 29, 13, 14, 15, 123400), "duration": datetime.timedelta(days=3, seconds=5), "key": uuid.UUID(int=7),
        "address": "2001:db8::1", "slug": "a-slug",
    }
    key = Everything.objects.create(**wanted).pk
    read = Everything.objects.get(pk=key)
    for name, value in wanted.items():
        given = getattr(read, name)
        same((name, bytes(given) if name == "data" else given), (name, value))
    same(Everything.objects.filter(text__contains="grüße", key=uuid.UUID(int=7)).count(), 1)


def users():
    user = User.objects.create_user("ada", "ada@example.com", "secret")
    user.groups.add(Group.objects.create(name="clerks"))
    same(User.objects.get(groups__name="clerks").check_password("secret"), True)
    same(user.has_perm("shop.add_customer"), False)


LOOKUPS = {
    "exact": ({"name": "Ada"}, ["Ada"]), "iexact": ({"name__iexact": "ADA"}, ["Ada"]), "contains": ({"name__contains": "d"}, ["Ada", "Ædith"]),
    "icontains": ({"name__icontains": "A"}, ["Ada", "Grace"]), "startswith": ({"name__startswith": "Æ"}, ["Ædith"]),
    "istartswith": ({"name__istartswith": "B"}, ["bob"]), "endswith": ({"name__endswith": "ce"}, ["Grace"]), "iendswith": ({"name__iendswith": "ITH"}, ["Ædith"]),
    "in": ({"name__in": ["Ada", "bob", "?"]}, ["Ada", "bob"]), "in a query": ({"pk__in": Invoice.objects.filter(number=1).values("customer")}, ["Grace"]),
    "gt": ({"credit__gt": 50}, ["Ada", "bob"]), "gte": ({"credit__gte": decimal.Decimal("20.25")}, ["Ada", "Grace", "bob"]),
    "lt": ({"credit__lt": 20}, ["Ædith"]), "lte": ({"credit__lte": decimal.Decimal("20.25")}, ["Grace", "Ædith"]),
    "range": ({"credit__range": (20, 80)}, ["Grace", "bob"]), "isnull": ({"city__isnull": True}, ["bob"]), "not null": ({"city__isnull": False}, ["Ada", "Grace", "Ædith"]),
    "date": ({"created__date": datetime.date(2024, 2, 29)}, ["Grace"]), "year": ({"created__year": 2024}, ["Ada", "Grace", "Ædith", "bob"]),
    "year__gt": ({"created__year__gt": 2024}, []), "iso_year": ({"created__iso_year": 2024}, ["Ada", "Grace", "Ædith", "bob"]),
    "month": ({"created__month": 3}, ["Ædith"]), "day": ({"created__day": 29}, ["Grace", "bob"]), "week": ({"created__week": 9}, ["Grace"]),
    "week_day": ({"created__week_day": 5}, ["Grace", "Ædith"]), "iso_week_day": ({"created__iso_week_day": 7}, ["Ada"]), "quarter": ({"created__quarter": 2}, ["bob"]),
    "time": ({"created__time": datetime.time(13, 14, 15, 250000)}, ["Ada"]), "hour": ({"created__hour": 14}, ["Grace"]), "minute": ({"created__minute": 14}, ["Ada", "Grace", "Ædith", "bob"]),
    "second": ({"created__second": 15}, ["Ada", "Grace", "Ædith", "bob"]), "regex": ({"name__regex": "A%"}, ["Ada"]), "iregex": ({"name__iregex": "%(OB|DA)"}, ["Ada", "bob"]),
    "across a relation": ({"invoices__total__gt": 14, "invoices__number__gt": 57}, ["Grace", "Ædith"]), "a percent sign": ({"name__contains": "%"}, []),
    "an underscore": ({"name__contains": "_"}, []), "a backslash": ({"name__contains": "\\"}, []), "contains a column": ({"name__contains": F("name")}, ["Ada", "Grace", "Ædith", "bob"]),
    "a boolean": ({"active": False}, ["Ædith"]), "a length": ({"name__length": 3}, ["Ada", "bob"]),
}


def lookups():
    models.CharField.register_lookup(fn.Length, "length")
    for name, (condition, wanted) in LOOKUPS.items():
        check(f"look-up {name}", lambda condition=condition, wanted=wanted: same(list(Customer.objects.filter(**condition).distinct().order_by("id").values_list("name", flat=True)), wanted))


# Names stand in quotes as django-firebird writes them.
RICH = 'select * from "SHOP_CUSTOMER" where "CREDIT" > %s order by "ID"'


def queries():
    everyone = Customer.objects
    check("query Q and exclude", lambda: same(everyone.filter(Q(name="Ada") | ~Q(city="Köln")).exclude(credit__lt=50).count(), 2))
    check("query slices", lambda: same(list(Invoice.objects.order_by("number")[5:8].values_list("number", flat=True)), [5, 6, 7]))
    check("query first, last, earliest, latest", lambda: same(
        [everyone.first().name, everyone.last().name, everyone.earliest("created").name, everyone.latest("created").name], ["Ada", "bob", "Ada", "bob"]))
    check("query exists and count", lambda: same([everyone.filter(name="?").exists(), everyone.count()], [False, 4]))
    check("query distinct", lambda: same(Invoice.objects.values_list("customer__name", flat=True).distinct().count(), 3))
    check("query aggregates", lambda: same({key: round(float(value), 2) for key, value in Invoice.objects.aggregate(
        n=Count("id"), s=Sum("total"), a=Avg("number"), least=Min("number"), most=Max("total")).items()}, {"n": 60, "s": 445.5, "a": 29.5, "least": 0, "most": 14.75}))
    check("query deviations", lambda: same([round(value, 3) for value in Invoice.objects.aggregate(a=StdDev("number"), b=Variance("number", sample=True)).values()], [17.318, 305.0]))
    check("query annotations", lambda: same(list(everyone.annotate(n=Count("invoices")).order_by("id").values_list("name", "n")), [("Ada", 20), ("Grace", 20), ("Ædith", 20), ("bob", 0)]))
    check("query having", lambda: same(everyone.annotate(s=Sum("invoices__total")).filter(s__gt=148).count(), 2))
    check("query groups", lambda: same(list(Invoice.objects.values("issued__month").annotate(n=Count("id")).order_by("issued__month").values_list("n", flat=True))[:2], [9, 7]))
    check("query a subquery", lambda: same(list(everyone.annotate(most=Subquery(Invoice.objects.filter(customer=OuterRef("pk")).order_by("-number").values("number")[:1])).order_by("id")
                                                 .values_list("most", flat=True)), [57, 58, 59, None]))
    check("query exists as a condition", lambda: same(everyone.filter(~Exists(Invoice.objects.filter(customer=OuterRef("pk")))).get().name, "bob"))
    check("query case", lambda: same(list(everyone.annotate(kind=Case(When(credit__gt=50, then=Value("rich")), When(credit=0, then=Value("none")), default=Value("some")))
                                           .order_by("id").values_list("kind", flat=True)), ["rich", "some", "none", "rich"]))
    check("query windows", lambda: same(list(everyone.annotate(rank=Window(fn.RowNumber(), order_by=F("credit").desc())).order_by("id").values_list("rank", flat=True)), [1, 3, 4, 2]))
    check("query union", lambda: same(everyone.filter(name="Ada").union(everyone.filter(name="bob")).count(), 2))
    check("query nulls last", lambda: same(list(everyone.order_by(F("city").asc(nulls_last=True)).values_list("city", flat=True))[-1], None))
    check("query select_related", lambda: same(Invoice.objects.select_related("customer").get(number=4).customer.name, "Grace"))
    check("query prefetch_related", lambda: same([len(one.invoices.all()) for one in everyone.prefetch_related("invoices").order_by("id")], [20, 20, 20, 0]))
    check("query raw", lambda: same([one.name for one in everyone.raw(RICH, [50])], ["Ada", "bob"]))
    check("query iterator", lambda: same(sum(1 for _ in Invoice.objects.iterator(chunk_size=7)), 60))
    check("query in_bulk and many keys", lambda: same(len(Invoice.objects.in_bulk(list(range(1, 1700)))), 60))
    check("query dates", lambda: same([len(Invoice.objects.dates("issued", kind)) for kind in ("year", "month", "day")], [2, 14, 60]))
    check("query datetimes", lambda: same([len(everyone.datetimes("created", kind)) for kind in ("year", "month", "day", "hour")], [1, 4, 4, 4]))
    check("query select_for_update", select_for_update)
    check("query only and defer", lambda: same(everyone.only("name").get(name="Ada").city, "London"))


def select_for_update():
    with transaction.atomic():
        same(Customer.objects.select_for_update().get(name="Ada").name, "Ada")


FUNCTIONS = {
    "Lower": (fn.Lower("name"), "ædith"), "Upper": (fn.Upper("name"), "ÆDITH"), "Length": (fn.Length("name"), 5), "Substr": (fn.Substr("name", 2, 3), "dit"),
    "Left": (fn.Left("name", 2), "Æd"), "Right": (fn.Right("name", 2), "th"), "Concat": (fn.Concat("name", Value("-"), "city"), "Ædith-Köln"),
    "Replace": (fn.Replace("name", Value("d"), Value("D")), "ÆDith"), "Trim": (fn.Trim(Value("  x ")), "x"), "LTrim": (fn.LTrim(Value("  x")), "x"), "RTrim": (fn.RTrim(Value("x  ")), "x"),
    "LPad": (fn.LPad("name", 7, Value("*")), "**Ædith"), "RPad": (fn.RPad("name", 7, Value("*")), "Ædith**"), "Repeat": (fn.Repeat(Value("ab"), 3), "ababab"),
    "Reverse": (fn.Reverse("name"), "htidÆ"), "StrIndex": (fn.StrIndex("name", Value("t")), 4), "Ord": (fn.Ord(Value("A")), 65), "Chr": (fn.Chr(Value(66)), "B"),
    "MD5": (fn.MD5(Value("a")), "0cc175b9c0f1b6a831c399e269772661"), "SHA256": (fn.SHA256(Value("a")), "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"),
    "Abs": (fn.Abs(Value(-5)), 5), "Ceil": (fn.Ceil(Value(1.2)), 2), "Floor": (fn.Floor(Value(-1.2)), -2), "Round": (fn.Round(Value(2.567)), 3), "Power": (fn.Power(Value(2.0), Value(10.0)), 1024),
    "Sqrt": (fn.Sqrt(Value(16.0)), 4), "Mod": (fn.Mod(Value(17), Value(5)), 2), "Sign": (fn.Sign(Value(-3)), -1), "Exp": (fn.Round(fn.Exp(Value(1.0)), precision=5), 2.71828),
    "Ln": (fn.Round(fn.Ln(Value(10.0)), precision=5), 2.30259), "Log": (fn.Round(fn.Log(Value(2.0), Value(8.0)), precision=5), 3), "Sin": (fn.Sin(Value(0.0)), 0), "Cos": (fn.Cos(Value(0.0)), 1),
    "ATan2": (fn.ATan2(Value(0.0), Value(1.0)), 0), "Pi": (fn.Round(fn.Pi(), precision=5), 3.14159), "Degrees": (fn.Degrees(Value(0.0)), 0), "Radians": (fn.Radians(Value(0.0)), 0),
    "Greatest": (fn.Greatest(Value(1), Value(7)), 7), "Least": (fn.Least(Value(1), Value(7)), 1), "Coalesce": (fn.Coalesce(Value(None, output_field=models.CharField()), "city"), "Köln"),
    "NullIf": (fn.NullIf("name", Value("Ædith")), None), "Cast to text": (fn.Cast("credit", models.CharField(max_length=20)), "0.00"), "Cast to integer": (fn.Cast(Value("12"), models.IntegerField()), 12),
    "ExtractYear": (fn.ExtractYear("created"), 2024), "ExtractMonth": (fn.ExtractMonth("created"), 3), "ExtractWeek": (fn.ExtractWeek("created"), 13), "ExtractHour": (fn.ExtractHour("created"), 15),
    "ExtractQuarter": (fn.ExtractQuarter("created"), 1), "ExtractSecond": (fn.ExtractSecond("created"), 15),
    "TruncYear": (fn.TruncYear("created"), datetime.datetime(2024, 1, 1)), "TruncMonth": (fn.TruncMonth("created"), datetime.datetime(2024, 3, 1)),
    "TruncWeek": (fn.TruncWeek("created"), datetime.datetime(2024, 3, 25)), "TruncDay": (fn.TruncDay("created"), datetime.datetime(2024, 3, 28)),
    "TruncHour": (fn.TruncHour("created"), datetime.datetime(2024, 3, 28, 15)), "TruncSecond": (fn.TruncSecond("created"), datetime.datetime(2024, 3, 28, 15, 14, 15)),
    "TruncDate": (fn.TruncDate("created"), datetime.date(2024, 3, 28)), "TruncTime": (fn.TruncTime("created"), datetime.time(15, 14, 15, 250000)),
    "arithmetic": (models.ExpressionWrapper(F("credit") * 2 + 1, output_field=models.DecimalField(max_digits=15, decimal_places=2)), decimal.Decimal("1.00")),
    "bits": (F("id").bitand(0), 0), "a difference of moments": (models.ExpressionWrapper(F("created") - F("created"), output_field=models.DurationField()), datetime.timedelta(0)),
    "a moment and a duration": (models.ExpressionWrapper(F("created") + datetime.timedelta(days=1), output_field=models.DateTimeField()), datetime.datetime(2024, 3, 29, 15, 14, 15, 250000)),
}


def functions():
    for name, (expression, wanted) in FUNCTIONS.items():
        check(f"function {name}", lambda expression=expression, wanted=wanted: same(Customer.objects.filter(name="Ædith").annotate(result=expression).values_list("result", flat=True).get(), wanted))


def transactions():
    def rollback():
        try:
            with transaction.atomic():
                Customer.objects.filter(name="Ada").update(city="Paris")
                raise RuntimeError
        except RuntimeError:
            same(Customer.objects.get(name="Ada").city, "London")

    def savepoints():
        with transaction.atomic():
            Customer.objects.filter(name="Ada").update(city="Paris")
            try:
                with transaction.atomic():
                    Customer.objects.filter(name="Ada").update(city="Rome")
                    raise RuntimeError
            except RuntimeError:
                same(Customer.objects.get(name="Ada").city, "Paris")
        same(Customer.objects.get(name="Ada").city, "Paris")

    def on_commit():
        heard = []
        with transaction.atomic():
            transaction.on_commit(lambda: heard.append(1))
        same(heard, [1])

    check("transaction rollback", rollback)
    check("transaction savepoints", savepoints)
    check("transaction on_commit", on_commit)
    created = datetime.datetime(2024, 1, 1)
    check("a value that must be unique", lambda: fails(IntegrityError, lambda: Customer.objects.create(name="z", email="0@example.com", created=created)))
    check("a value that must be there", lambda: fails(IntegrityError, lambda: Customer.objects.create(name=None, email="z@example.com", created=created)))
    check("a check constraint", lambda: fails(IntegrityError, lambda: Customer.objects.create(name="z", email="z@example.com", created=created, credit=-1)))
    check("a foreign key", lambda: fails(IntegrityError, lambda: Invoice.objects.create(customer_id=12345, number=1, issued=created.date())))
    check("cascades", lambda: same(Customer.objects.get(name="Ædith").delete()[0], 21))


def introspection():
    tell = connection.introspection
    check("introspection tables", lambda: same("shop_customer" in [name.lower() for name in tell.table_names()], True))

    def description():
        with connection.cursor() as cursor:
            columns = tell.get_table_description(cursor, "shop_customer")
            same([column.name.lower() for column in columns], ["id", "name", "email", "city", "active", "credit", "created"])

    def constraints():
        with connection.cursor() as cursor:
            found = tell.get_constraints(cursor, "shop_invoice")
            same(sum(1 for one in found.values() if one["primary_key"]), 1)
            same(sum(1 for one in found.values() if one["foreign_key"]), 1)
            same(sum(1 for one in found.values() if one["unique"] and not one["primary_key"]), 1)

    check("introspection columns", description)
    check("introspection constraints", constraints)
    check("inspectdb", lambda: same("class ShopCustomer(models.Model)" in command("inspectdb", "shop_customer"), True))
    check("dumpdata", lambda: same("0@example.com" in command("dumpdata", "shop.Customer"), True))


def changes():
    """A second migration, as a program grows: a new column, another type, a new index, a column less."""
    def alter():
        with connection.schema_editor() as editor:
            field = models.CharField(max_length=20, default="none")
            field.set_attributes_from_name("phone")
            editor.add_field(Customer, field)
            longer = models.CharField(max_length=40, default="none")
            longer.set_attributes_from_name("phone")
            editor.alter_field(Customer, field, longer)
        with connection.cursor() as cursor:
            same(cursor.execute('select "PHONE" from "SHOP_CUSTOMER" where "NAME" = %s', ["Ada"]).fetchone()[0].strip(), "none")
        with connection.schema_editor() as editor:
            editor.remove_field(Customer, longer)

    def index():
        with connection.schema_editor() as editor:
            added = models.Index(fields=["credit"], name="ix_credit")
            editor.add_index(Customer, added)
            editor.remove_index(Customer, added)

    check("schema a column is added, changed and removed", alter)
    check("schema an index is added and removed", index)
    check("migrate backwards", lambda: command("migrate", "shop", "zero", verbosity=0))
    check("flush", lambda: command("flush", interactive=False, verbosity=0))


migrations()
writing()
lookups()
queries()
functions()
transactions()
introspection()
changes()
