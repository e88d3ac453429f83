// A working day of a program over jOOQ (SQLDialect.FIREBIRD): tables made, rows written and read by statements that jOOQ
// builds, its functions as it translates them for Firebird, transactions with savepoints, batches, and its view of the metadata.

import static org.jooq.impl.DSL.*;
import static org.jooq.impl.SQLDataType.*;

import checks.Checks;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.Date;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jooq.Cursor;
import org.jooq.DSLContext;
import org.jooq.DatePart;
import org.jooq.Field;
import org.jooq.Meta;
import org.jooq.Record;
import org.jooq.Result;
import org.jooq.SQLDialect;
import org.jooq.Sequence;
import org.jooq.Table;
import org.jooq.exception.IntegrityConstraintViolationException;
import org.jooq.impl.DSL;

public class Day {
    static final Table<Record> CUSTOMER = table(name("CUSTOMER"));
    static final Table<Record> INVOICE = table(name("INVOICE"));
    static final Field<Integer> ID = field(name("CUSTOMER", "ID"), INTEGER);
    static final Field<String> NAME = field(name("CUSTOMER", "NAME"), VARCHAR(60));
    static final Field<String> CITY = field(name("CUSTOMER", "CITY"), VARCHAR(30));
    static final Field<Boolean> ACTIVE = field(name("CUSTOMER", "ACTIVE"), BOOLEAN);
    static final Field<BigDecimal> CREDIT = field(name("CUSTOMER", "CREDIT"), DECIMAL(15, 2));
    static final Field<LocalDateTime> CREATED = field(name("CUSTOMER", "CREATED"), LOCALDATETIME);
    static final Field<byte[]> PICTURE = field(name("CUSTOMER", "PICTURE"), BLOB);
    static final Field<String> NOTE = field(name("CUSTOMER", "NOTE"), CLOB);
    static final Field<Integer> INVOICE_ID = field(name("INVOICE", "ID"), INTEGER);
    static final Field<Integer> CUSTOMER_ID = field(name("INVOICE", "CUSTOMER_ID"), INTEGER);
    static final Field<BigDecimal> TOTAL = field(name("INVOICE", "TOTAL"), DECIMAL(15, 2));
    static final Field<LocalDate> ISSUED = field(name("INVOICE", "ISSUED"), LOCALDATE);
    static final Sequence<Long> NUMBERS = sequence(name("NUMBERS"), BIGINT);

    public static void main(String[] arguments) throws Exception {
        System.setProperty("org.jooq.no-logo", "true");
        System.setProperty("org.jooq.no-tips", "true");
        try (Connection connection = Checks.connect()) {
            DSLContext sql = DSL.using(connection, SQLDialect.FIREBIRD);
            tables(sql);
            writing(sql);
            reading(sql);
            functions(sql);
            transactions(sql);
            routines(sql);
            metadata(sql);
            dropping(sql);
        }
    }

    static String text(Result<?> rows) {
        return rows.stream().map(row -> row.intoList().stream().map(String::valueOf).collect(Collectors.joining(" "))).collect(Collectors.joining("; "));
    }

    static void tables(DSLContext sql) {
        Checks.check("tables are made", () -> {
            sql.createTable(CUSTOMER).column("ID", INTEGER.identity(true)).column("NAME", VARCHAR(60).nullable(false)).column("CITY", VARCHAR(30))
                    .column("ACTIVE", BOOLEAN.defaultValue(field("true", BOOLEAN))).column("CREDIT", DECIMAL(15, 2).defaultValue(BigDecimal.ZERO))
                    .column("CREATED", LOCALDATETIME.defaultValue(currentLocalDateTime())).column("PICTURE", BLOB).column("NOTE", CLOB)
                    .constraints(constraint(name("PK_CUSTOMER")).primaryKey("ID"), constraint(name("UQ_NAME")).unique("NAME"),
                            constraint(name("CK_CREDIT")).check(field(name("CREDIT"), DECIMAL).ge(BigDecimal.ZERO)))
                    .execute();
            sql.createTable(INVOICE).column("ID", INTEGER.nullable(false)).column("CUSTOMER_ID", INTEGER.nullable(false))
                    .column("TOTAL", DECIMAL(15, 2)).column("ISSUED", LOCALDATE)
                    .constraints(constraint(name("PK_INVOICE")).primaryKey("ID"), constraint(name("FK_INVOICE"))
                            .foreignKey("CUSTOMER_ID").references("CUSTOMER", "ID").onDeleteCascade())
                    .execute();
        });
        Checks.check("indexes, sequences and views are made", () -> {
            sql.createIndex(name("IX_TOTAL")).on(INVOICE, field(name("TOTAL"))).execute();
            sql.createUniqueIndex(name("IX_ISSUED")).on(INVOICE, field(name("CUSTOMER_ID")), field(name("ID"))).execute();
            sql.createSequence(NUMBERS).execute();
            sql.createView(name("RICH"), name("NAME"), name("CREDIT")).as(select(NAME, CREDIT).from(CUSTOMER).where(CREDIT.gt(new BigDecimal(50)))).execute();
        });
        Checks.check("tables are changed", () -> {
            sql.alterTable(CUSTOMER).addColumn("PHONE", VARCHAR(20)).execute();
            sql.alterTable(CUSTOMER).renameColumn("PHONE").to("TELEPHONE").execute();
            sql.alterTable(CUSTOMER).alterColumn("TELEPHONE").set(VARCHAR(40)).execute();
            sql.alterTable(CUSTOMER).alterColumn("TELEPHONE").setDefault("none").execute();
            sql.alterTable(CUSTOMER).dropColumn("TELEPHONE").execute();
        });
    }

    static void writing(DSLContext sql) {
        Checks.check("INSERT returns the key", () -> {
            Record row = sql.insertInto(CUSTOMER, NAME, CITY, CREDIT).values("Ada", "London", new BigDecimal("100.50")).returningResult(ID, ACTIVE).fetchOne();
            Checks.same(row.get(ID), 1);
            Checks.same(row.get(ACTIVE), true);
        });
        Checks.check("several rows in one INSERT", () -> Checks.same(sql.insertInto(CUSTOMER, NAME, CITY, CREDIT)
                .values("Grace", "New York", new BigDecimal("20.25")).values("Ædith", "Köln", BigDecimal.ZERO).values("Bob", null, new BigDecimal("70")).execute(), 3));
        Checks.check("INSERT from SELECT", () -> Checks.same(sql.insertInto(INVOICE, INVOICE_ID, CUSTOMER_ID, TOTAL, ISSUED)
                .select(select(ID.mul(10), ID, CREDIT.add(1), inline(LocalDate.of(2026, 1, 31))).from(CUSTOMER)).execute(), 4));
        Checks.check("BLOBs", () -> {
            byte[] picture = new byte[100_000];
            for (int at = 0; at < picture.length; at++) {
                picture[at] = (byte) (at * 31);
            }
            sql.update(CUSTOMER).set(PICTURE, picture).set(NOTE, "grüße ".repeat(5000)).where(ID.eq(1)).execute();
            Record row = sql.select(PICTURE, NOTE).from(CUSTOMER).where(ID.eq(1)).fetchOne();
            Checks.same(java.util.Arrays.equals(row.get(PICTURE), picture), true);
            Checks.same(row.get(NOTE), "grüße ".repeat(5000));
        });
        Checks.check("UPDATE returns", () -> Checks.same(text(sql.update(CUSTOMER).set(CREDIT, CREDIT.add(5)).where(CITY.isNull())
                .returningResult(NAME, CREDIT).fetch()), "Bob 75.00"));
        Checks.check("UPDATE by a subquery", () -> Checks.same(sql.update(CUSTOMER)
                .set(CITY, select(val("Nowhere")).from(INVOICE).where(CUSTOMER_ID.eq(ID)).limit(1)).where(CITY.isNull()).execute(), 1));
        Checks.check("MERGE", () -> {
            Field<Integer> key = field(name("S", "K"), INTEGER);
            Table<?> source = select(val(2).as("K")).union(select(val(99).as("K"))).asTable("S");
            sql.mergeInto(CUSTOMER).using(source).on(ID.eq(key)).whenMatchedThenUpdate().set(CITY, "Boston")
                    .whenNotMatchedThenInsert(field(name("ID"), INTEGER), field(name("NAME"), VARCHAR)).values(key, val("New")).execute();
            Checks.same(text(sql.select(ID, NAME, CITY).from(CUSTOMER).where(ID.in(2, 99)).orderBy(ID).fetch()), "2 Grace Boston; 99 New null");
        });
        Checks.check("INSERT ON CONFLICT", () -> {
            for (String city : List.of("Rome", "Paris")) {
                sql.insertInto(CUSTOMER, ID, NAME, CITY).values(7, "Gaius", city).onConflict(ID).doUpdate().set(CITY, city).execute();
            }
            Checks.same(sql.select(CITY).from(CUSTOMER).where(ID.eq(7)).fetchOne(CITY), "Paris");
        });
        Checks.check("DELETE returns", () -> Checks.same(text(sql.deleteFrom(CUSTOMER).where(ID.in(7, 99)).returningResult(ID).fetch()), "7; 99"));
        Checks.check("batches", () -> {
            var batch = sql.batch(sql.insertInto(INVOICE, INVOICE_ID, CUSTOMER_ID, TOTAL).values((Integer) null, null, null));
            for (int at = 0; at < 500; at++) {
                batch.bind(1000 + at, 1 + at % 4, new BigDecimal(at).movePointLeft(2));
            }
            Checks.same(batch.execute().length, 500);
            Checks.same(sql.fetchCount(INVOICE), 504);
        });
        Checks.check("several statements in a batch", () -> Checks.same(sql.batch(sql.deleteFrom(INVOICE).where(INVOICE_ID.eq(1000)),
                sql.deleteFrom(INVOICE).where(INVOICE_ID.between(1001, 1010))).execute()[1], 10));
        Checks.check("violated constraints are exceptions of their kind", () -> {
            for (Checks.Work work : List.<Checks.Work>of(
                    () -> sql.insertInto(CUSTOMER, NAME).values("Ada").execute(),
                    () -> sql.insertInto(INVOICE, INVOICE_ID, CUSTOMER_ID).values(1, 1234).execute(),
                    () -> sql.insertInto(CUSTOMER, NAME).values((String) null).execute(),
                    () -> sql.update(CUSTOMER).set(CREDIT, new BigDecimal(-1)).where(ID.eq(1)).execute())) {
                try {
                    work.run();
                    throw new AssertionError("accepted");
                } catch (IntegrityConstraintViolationException error) {
                    Checks.same(error.sqlState().substring(0, 2), "23");
                }
            }
        });
        Checks.check("sequences", () -> Checks.same(sql.nextval(NUMBERS) + sql.nextval(NUMBERS), 3L));
    }

    static void reading(DSLContext sql) {
        Map<String, Checks.Work> checks = new LinkedHashMap<>();
        checks.put("joins", () -> Checks.same(text(sql.select(NAME, TOTAL).from(CUSTOMER).leftJoin(INVOICE).on(CUSTOMER_ID.eq(ID).and(INVOICE_ID.lt(1000)))
                .orderBy(ID).fetch()), "Ada 101.50; Grace 21.25; Ædith 1.00; Bob 71.00"));
        checks.put("groups", () -> Checks.same(text(sql.select(CUSTOMER_ID, count(), sum(TOTAL), max(TOTAL)).from(INVOICE).groupBy(CUSTOMER_ID)
                .having(count().gt(1)).orderBy(CUSTOMER_ID).fetch()).split("; ").length, 4));
        checks.put("LIMIT and OFFSET", () -> Checks.same(text(sql.select(INVOICE_ID).from(INVOICE).orderBy(INVOICE_ID).limit(3).offset(2).fetch()), "30; 40; 1011"));
        checks.put("seek", () -> Checks.same(text(sql.select(INVOICE_ID).from(INVOICE).orderBy(INVOICE_ID).seek(1020).limit(2).fetch()), "1021; 1022"));
        checks.put("UNION, EXCEPT by NOT EXISTS", () -> Checks.same(text(sql.select(ID).from(CUSTOMER).where(ID.lt(3)).union(select(ID).from(CUSTOMER)
                .whereNotExists(selectOne().from(INVOICE).where(CUSTOMER_ID.eq(ID)))).orderBy(1).fetch()), "1; 2"));
        checks.put("common table expressions", () -> Checks.same(text(sql.with("T", "N").as(select(ID).from(CUSTOMER)).select(sum(field(name("N"), INTEGER)))
                .from(name("T")).fetch()), "10"));
        checks.put("recursive common table expressions", () -> Checks.same(text(sql.withRecursive("T", "N").as(select(inline(1)).unionAll(
                select(field(name("N"), INTEGER).plus(1)).from(table(name("T"))).where(field(name("N"), INTEGER).lt(5))))
                .select(sum(field(name("N"), INTEGER))).from(name("T")).fetch()), "15"));
        checks.put("windows", () -> Checks.same(text(sql.select(NAME, rowNumber().over(orderBy(CREDIT.desc())), sum(CREDIT).over(), lag(NAME).over(orderBy(ID)),
                ntile(2).over(orderBy(ID))).from(CUSTOMER).orderBy(ID).fetch()),
                "Ada 1 195.75 null 1; Grace 3 195.75 Ada 1; Ædith 4 195.75 Grace 2; Bob 2 195.75 Ædith 2"));
        checks.put("FILTER", () -> Checks.same(text(sql.select(count().filterWhere(CREDIT.gt(BigDecimal.ZERO)), sum(CREDIT).filterWhere(ID.lt(3))).from(CUSTOMER).fetch()),
                "3 120.75"));
        checks.put("derived tables and values", () -> Checks.same(text(sql.select(asterisk()).from(values(row(1, "a"), row(2, "b")).as("V", "N", "T"))
                .orderBy(1).fetch()), "1 a; 2 b"));
        checks.put("row values", () -> Checks.same(text(sql.select(ID).from(CUSTOMER).where(row(ID, NAME).in(row(1, "Ada"), row(2, "Ada"))).fetch()), "1"));
        checks.put("IN with many values", () -> {
            List<Integer> many = new ArrayList<>();
            for (int at = 0; at < 1400; at++) {
                many.add(at);
            }
            Checks.same(sql.fetchCount(select(INVOICE_ID).from(INVOICE).where(INVOICE_ID.in(many))), 393);
        });
        checks.put("likes", () -> Checks.same(text(sql.select(
                field(NAME.containsIgnoreCase("DI")), field(NAME.startsWith("Æ")), field(NAME.likeIgnoreCase("%ITH")), field(NAME.notLike("x!%", '!')))
                .from(CUSTOMER).where(ID.eq(3)).fetch()), "true true true true"));
        checks.put("CASE and COALESCE", () -> Checks.same(text(sql.select(case_().when(ID.eq(1), "one").when(ID.eq(2), "two").otherwise("many"),
                choose(ID).when(1, 10).otherwise(0), nullif(ID, 4), coalesce(nullif(ID, 4), inline(-1))).from(CUSTOMER).orderBy(ID).fetch()),
                "one 10 1 1; two 0 2 2; many 0 3 3; many 0 null -1"));
        checks.put("FOR UPDATE", () -> Checks.same(sql.selectFrom(CUSTOMER).where(ID.eq(1)).forUpdate().fetch().size(), 1));
        checks.put("a cursor", () -> {
            int seen = 0;
            try (Cursor<?> cursor = sql.select(INVOICE_ID).from(INVOICE).fetchLazy()) {
                for (Record ignored : cursor) {
                    seen++;
                }
            }
            Checks.same(seen, 493);
        });
        checks.put("a stream", () -> {
            try (var stream = sql.select(TOTAL).from(INVOICE).where(TOTAL.isNotNull()).fetchStream()) {
                Checks.same(stream.count(), 493L);
            }
        });
        checks.put("plain SQL", () -> Checks.same(text(sql.fetch("select first 1 name, cast(? as varchar(5)) from customer where id = ?", "x", 1)), "Ada x"));
        checks.put("EXISTS", () -> Checks.same(sql.fetchExists(select(ID).from(CUSTOMER).where(NAME.eq("Nobody"))), false));
        checks.put("IS DISTINCT FROM", () -> Checks.same(sql.fetchCount(select(ID).from(CUSTOMER).where(CITY.isDistinctFrom("London"))), 3));
        checks.put("a lateral join", () -> Checks.same(text(sql.select(NAME, field(name("L", "M"), INTEGER)).from(CUSTOMER).crossJoin(
                lateral(select(max(INVOICE_ID).as("M")).from(INVOICE).where(CUSTOMER_ID.eq(ID))).as("L")).where(ID.eq(1)).fetch()), "Ada 1496"));
        checks.put("a view", () -> Checks.same(text(sql.select().from(name("RICH")).orderBy(1).fetch()), "Ada 100.50; Bob 75.00"));
        checks.forEach((name, work) -> Checks.check("query " + name, work));
    }

    static void functions(DSLContext sql) {
        Map<String, Field<?>> fields = new LinkedHashMap<>();
        Map<String, String> wanted = new LinkedHashMap<>();
        LocalDate day = LocalDate.of(2024, 2, 29);
        LocalDateTime moment = LocalDateTime.of(2024, 2, 29, 13, 14, 15);
        add(fields, wanted, "abs", abs(val(-5)), "5");
        add(fields, wanted, "ceil", ceil(val(new BigDecimal("1.2"))), "2");
        add(fields, wanted, "floor", floor(val(new BigDecimal("-1.2"))), "-2");
        add(fields, wanted, "round", round(val(new BigDecimal("2.567")), 1), "2.600");
        add(fields, wanted, "trunc", trunc(val(new BigDecimal("2.567")), 1), "2.500");
        add(fields, wanted, "power", power(val(2), 10), "1024");
        add(fields, wanted, "mod", val(17).mod(5), "2");
        add(fields, wanted, "sqrt", sqrt(val(16)), "4");
        add(fields, wanted, "sign", sign(val(-3)), "-1");
        add(fields, wanted, "greatest", greatest(val(1), val(7), val(3)), "7");
        add(fields, wanted, "least", least(val(4), val(2)), "2");
        add(fields, wanted, "bitAnd", bitAnd(val(12), val(10)), "8");
        add(fields, wanted, "bitOr", bitOr(val(12), val(10)), "14");
        add(fields, wanted, "bitXor", bitXor(val(12), val(10)), "6");
        add(fields, wanted, "shl", shl(val(1), 4), "16");
        add(fields, wanted, "upper", upper(val("äb")), "ÄB");
        add(fields, wanted, "lower", lower(val("ÄB")), "äb");
        add(fields, wanted, "concat", concat(val("a"), val("b"), val("c")), "abc");
        add(fields, wanted, "substring", substring(val("abcdef"), 2, 3), "bcd");
        add(fields, wanted, "left", left(val("abcdef"), 2), "ab");
        add(fields, wanted, "right", right(val("abcdef"), 2), "ef");
        add(fields, wanted, "position", position("abcdef", "cd"), "3");
        add(fields, wanted, "replace", replace(val("aXbX"), "X", "-"), "a-b-");
        add(fields, wanted, "trim", trim(val("  a ")), "a");
        add(fields, wanted, "ltrim", ltrim(val("  a")), "a");
        add(fields, wanted, "rtrim", rtrim(val("a  ")), "a");
        add(fields, wanted, "lpad", lpad(val("7"), 3, '0'), "007");
        add(fields, wanted, "rpad", rpad(val("7"), 3, '0'), "700");
        add(fields, wanted, "repeat", repeat(val("ab"), 3), "ababab");
        add(fields, wanted, "reverse", reverse(val("abc")), "cba");
        add(fields, wanted, "charLength", charLength(val("äöü")), "3");
        add(fields, wanted, "octetLength", octetLength(val("äöü")), "6");
        add(fields, wanted, "ascii", ascii(val("A")), "65");
        add(fields, wanted, "chr", chr(66), "B");
        add(fields, wanted, "overlay", overlay(val("abcdef"), "XX", 2, 3), "aXXef");
        add(fields, wanted, "translate", translate(val("abc"), val("ab"), val("xy")), "xyc");
        add(fields, wanted, "space", val("[").concat(space(3)).concat("]"), "[   ]");
        add(fields, wanted, "year", year(day), "2024");
        add(fields, wanted, "month", month(day), "2");
        add(fields, wanted, "day", day(day), "29");
        add(fields, wanted, "hour", hour(moment), "13");
        add(fields, wanted, "minute", minute(moment), "14");
        add(fields, wanted, "second", second(moment), "15");
        add(fields, wanted, "dayOfWeek", dayOfWeek(day), "5");
        add(fields, wanted, "isoDayOfWeek", isoDayOfWeek(day), "4");
        add(fields, wanted, "dayOfYear", dayOfYear(day), "60");
        add(fields, wanted, "week", week(day), "9");
        add(fields, wanted, "quarter", quarter(day), "1");
        add(fields, wanted, "dateAdd days", localDateAdd(day, 1), "2024-03-01");
        add(fields, wanted, "dateAdd months", localDateAdd(day, 12, DatePart.MONTH), "2025-02-28");
        add(fields, wanted, "dateDiff", localDateDiff(LocalDate.of(2024, 3, 1), day), "1");
        add(fields, wanted, "timestamp plus", localDateTimeAdd(moment, 2, DatePart.HOUR), "2024-02-29T15:14:15");
        add(fields, wanted, "cast to date", cast(val("2024-02-29"), LOCALDATE), "2024-02-29");
        add(fields, wanted, "cast to decimal", cast(val("12.345"), DECIMAL(10, 2)), "12.35");
        add(fields, wanted, "cast to text", cast(val(12), VARCHAR(5)), "12");
        add(fields, wanted, "cast to time", cast(val("13:14:15"), LOCALTIME), "13:14:15");
        add(fields, wanted, "iif", iif(val(1).eq(1), "yes", "no"), "yes");
        add(fields, wanted, "nvl", nvl((String) null, "x"), "x");
        add(fields, wanted, "nvl2", nvl2(val(1), "a", "b"), "a");
        add(fields, wanted, "decode", decode(val(2), val(1), val("one"), val(2), val("two")), "two");
        add(fields, wanted, "exp", round(exp(val(1.0)), 5), "2.71828");
        add(fields, wanted, "ln", round(ln(val(10.0)), 5), "2.30259");
        add(fields, wanted, "log", log(val(8), 2), "3");
        add(fields, wanted, "log10", log10(val(1000)), "3");
        add(fields, wanted, "sin", sin(val(0)), "0");
        add(fields, wanted, "acos", acos(val(1)), "0");
        add(fields, wanted, "cot", round(cot(val(1.0)), 5), "0.64209");
        add(fields, wanted, "sinh", sinh(val(0)), "0");
        add(fields, wanted, "pi", round(pi(), 5), "3.14159");
        add(fields, wanted, "deg", deg(val(0)), "0");
        add(fields, wanted, "md5 is text", charLength(md5(val("a"))), "32");
        add(fields, wanted, "uuid is text", charLength(cast(uuid(), VARCHAR(40))), "36");
        add(fields, wanted, "current date is a date", field(currentLocalDate().gt(LocalDate.of(2020, 1, 1))), "true");
        add(fields, wanted, "listAgg", field(select(listAgg(NAME, ",").withinGroupOrderBy(ID)).from(CUSTOMER)), "Ada,Grace,Ædith,Bob");
        add(fields, wanted, "stddevPop", field(select(round(stddevPop(ID), 4)).from(CUSTOMER)), "1.1180");
        add(fields, wanted, "regrSlope", field(select(regrSlope(ID, ID)).from(CUSTOMER)), "1");
        add(fields, wanted, "covarPop", field(select(covarPop(ID, ID)).from(CUSTOMER)), "1.25");
        add(fields, wanted, "count distinct", field(select(countDistinct(CITY)).from(CUSTOMER)), "4");
        add(fields, wanted, "median", field(select(median(ID)).from(CUSTOMER)), "2.5");
        add(fields, wanted, "boolAnd", field(select(boolAnd(ACTIVE)).from(CUSTOMER)), "true");
        add(fields, wanted, "product", field(select(product(ID)).from(CUSTOMER)), "24");
        fields.forEach((name, function) -> Checks.check("function " + name, () -> {
            Object value = sql.select(function).fetchOne(0);
            String given = value instanceof Date date ? date.toLocalDate().toString() : value instanceof LocalTime time ? time.toString() : String.valueOf(value);
            boolean same = given.equals(wanted.get(name));
            if (!same && value instanceof Number number) {
                same = new BigDecimal(number.toString()).compareTo(new BigDecimal(wanted.get(name))) == 0;
            }
            Checks.same(same ? wanted.get(name) : given, wanted.get(name));
        }));
    }

    static void add(Map<String, Field<?>> fields, Map<String, String> wanted, String name, Field<?> field, String value) {
        fields.put(name, field);
        wanted.put(name, value);
    }

    static void transactions(DSLContext sql) {
        Checks.check("a transaction is committed", () -> {
            sql.transaction(inside -> inside.dsl().insertInto(CUSTOMER, ID, NAME).values(50, "kept").execute());
            Checks.same(sql.fetchExists(selectOne().from(CUSTOMER).where(ID.eq(50))), true);
        });
        Checks.check("a transaction is rolled back", () -> {
            Checks.fails("stop", () -> sql.transaction(inside -> {
                inside.dsl().deleteFrom(CUSTOMER).where(ID.eq(50)).execute();
                throw new IllegalStateException("stop");
            }));
            Checks.same(sql.fetchExists(selectOne().from(CUSTOMER).where(ID.eq(50))), true);
        });
        Checks.check("a nested transaction goes back to its savepoint", () -> {
            sql.transaction(outer -> {
                outer.dsl().insertInto(CUSTOMER, ID, NAME).values(51, "outer").execute();
                try {
                    outer.dsl().transaction(inner -> {
                        inner.dsl().insertInto(CUSTOMER, ID, NAME).values(52, "inner").execute();
                        throw new IllegalStateException("back");
                    });
                } catch (IllegalStateException expected) {
                    outer.dsl().insertInto(CUSTOMER, ID, NAME).values(53, "behind").execute();
                }
            });
            Checks.same(text(sql.select(ID).from(CUSTOMER).where(ID.gt(50)).orderBy(ID).fetch()), "51; 53");
        });
        Checks.check("a statement that fails leaves the transaction usable", () -> {
            sql.transaction(inside -> {
                Checks.fails("PK_CUSTOMER", () -> inside.dsl().insertInto(CUSTOMER, ID, NAME).values(51, "twice").execute());
                inside.dsl().update(CUSTOMER).set(CITY, "there").where(ID.eq(51)).execute();
            });
            Checks.same(sql.select(CITY).from(CUSTOMER).where(ID.eq(51)).fetchOne(CITY), "there");
        });
        Checks.check("two writers the second skips what is locked", () -> {
            try (Connection first = Checks.connect()) {
                first.setAutoCommit(false);
                DSL.using(first, SQLDialect.FIREBIRD).update(CUSTOMER).set(CITY, "theirs").where(ID.eq(53)).execute();
                Checks.same(sql.fetch("select id from customer where id >= 51 with lock skip locked").size(), 1);
                first.rollback();
            }
        });
        Checks.check("rows of transactions go away", () -> Checks.same(sql.deleteFrom(CUSTOMER).where(ID.ge(50)).execute(), 3));
    }

    static void routines(DSLContext sql) {
        Checks.check("a procedure is made and read from", () -> {
            sql.execute("create procedure rich_ones (least_credit decimal(15, 2)) returns (name varchar(60)) as begin "
                    + "for select name from customer where credit >= :least_credit order by id into :name do suspend; end");
            Checks.same(text(sql.select().from("rich_ones(?)", new BigDecimal(50)).fetch()), "Ada; Bob");
        });
        Checks.check("a function is made and called", () -> {
            sql.execute("create function twice (n integer) returns integer as begin return 2 * n; end");
            Checks.same(sql.select(function(name("TWICE"), INTEGER, val(21))).fetchOne(0), 42);
        });
        Checks.check("a block is executed", () -> {
            sql.begin(sql.update(CUSTOMER).set(CITY, "block").where(ID.eq(1)), sql.update(CUSTOMER).set(CITY, "London").where(ID.eq(1))).execute();
            Checks.same(sql.select(CITY).from(CUSTOMER).where(ID.eq(1)).fetchOne(CITY), "London");
        });
    }

    static void metadata(DSLContext sql) {
        Meta meta = sql.meta();
        Checks.check("metadata tables", () -> Checks.same(meta.getTables("CUSTOMER").size() + meta.getTables("RICH").size(), 2));
        Checks.check("metadata columns", () -> Checks.same(meta.getTables("CUSTOMER").get(0).fieldStream()
                .map(field -> field.getName() + " " + field.getDataType().getCastTypeName() + (field.getDataType().nullable() ? "" : " not null"))
                .collect(Collectors.joining(", ")),
                "ID integer not null, NAME varchar(60) not null, CITY varchar(30), ACTIVE boolean, CREDIT decimal(15, 2), "
                        + "CREATED timestamp, PICTURE blob, NOTE clob"));
        Checks.check("metadata keys", () -> {
            Table<?> invoice = meta.getTables("INVOICE").get(0);
            Checks.same(invoice.getPrimaryKey().getFields().get(0).getName(), "ID");
            Checks.same(invoice.getReferences().get(0).getKey().getTable().getName(), "CUSTOMER");
        });
        Checks.check("metadata indexes", () -> Checks.same(meta.getTables("INVOICE").get(0).getIndexes().stream().map(index -> index.getName()).sorted()
                .collect(Collectors.joining(" ")), "IX_ISSUED IX_TOTAL"));
        Checks.check("metadata sequences", () -> Checks.same(meta.getSequences("NUMBERS").size(), 1));
        Checks.check("metadata the schema as statements", () -> Checks.same(meta.ddl().toString().contains("CUSTOMER"), true));
    }

    static void dropping(DSLContext sql) {
        Checks.check("everything is dropped", () -> {
            sql.execute("drop procedure rich_ones");
            sql.dropView(name("RICH")).execute();
            sql.dropTable(INVOICE).execute();
            sql.dropTableIfExists(CUSTOMER).execute();
            sql.dropSequence(NUMBERS).execute();
            Checks.same(sql.meta().getTables("CUSTOMER").size(), 0);
        });
    }
}
