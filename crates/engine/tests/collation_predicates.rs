//! Predicates and functions over texts of several collations, against what a real Firebird answers
//! (`data/collation-predicates.tsv`): by reading the table, and by an ascending and a descending index.

mod ddl_support;

use std::collections::BTreeMap;

use ddl_support::TestDatabase;

const RECORDED: &str = include_str!("data/collation-predicates.tsv");

/// Answers that differ on purpose: character set, collation, expression, ours.
const DIFFERENT: &[(&str, &str, &str, &str)] = &[];

#[test]
fn predicates_answer_as_firebird_by_scan_and_by_index() {
    let lines: Vec<Vec<&str>> = RECORDED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split('\t').collect())
        .collect();
    let (rows, answers): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line[0] == "ROW");
    let mut by_collation: BTreeMap<(&str, &str), Vec<(&str, &str)>> = BTreeMap::new();
    for line in &answers {
        by_collation.entry((line[0], line[1])).or_default().push((line[2], line[3]));
    }
    let mut wrong = Vec::new();
    for ((set, collation), answers) in by_collation {
        let (_database, mut session) = TestDatabase::create();
        session.execute(&format!(
            "create table t(id int, s varchar(20) character set {set} collate {collation})"
        ));
        session.execute(&format!(
            "create table words(id int, w varchar(20) character set {set} collate {collation})"
        ));
        session.commit();
        for row in &rows {
            session.execute(&format!("insert into t values ({}, '{}')", row[1], row[2]));
            session.execute(&format!("insert into words values ({}, '{}')", row[1], row[2]));
        }
        session.commit();
        for way in ["no index", "an index", "a descending index"] {
            match way {
                "an index" => session.execute("create index i on t(s)"),
                "a descending index" => {
                    session.execute("drop index i");
                    session.commit();
                    session.execute("create descending index i on t(s)");
                }
                _ => {}
            }
            session.commit();
            for (expression, answer) in &answers {
                let expected = DIFFERENT
                    .iter()
                    .find(|(s, c, e, _)| *s == set && *c == collation && e == expression)
                    .map_or(*answer, |(.., ours)| *ours);
                let got = if is_condition(expression) {
                    session.rows(&format!("select id from t where {expression} order by id")).join(" ")
                } else {
                    let cast = format!("cast({expression} as varchar(40) character set utf8)");
                    session.rows(&format!("select {cast} from t order by id")).join("|")
                };
                // What is shown of a value has no spaces at its end.
                let trimmed = |text: &str| text.split('|').map(str::trim_end).collect::<Vec<_>>().join("|");
                if got != trimmed(expected) {
                    wrong
                        .push(format!("{set} {collation} {way}: {expression}\n   is {got}\n not {expected}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} answers differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn is_condition(expression: &str) -> bool {
    !["position", "replace", "trim", "upper", "lower", "overlay", "substring", "left", "char_length"]
        .iter()
        .any(|function| expression.starts_with(function))
}

/// Which collation wins does not depend on which side stands left. Answers recorded from Firebird 5.0.4.
#[test]
fn the_stronger_collation_wins_on_either_side() {
    let (_database, mut session) = TestDatabase::create();
    session.execute(
        "create table t(u varchar(20) character set utf8, ci varchar(20) character set utf8 collate unicode_ci, \
         ai varchar(20) character set utf8 collate unicode_ci_ai, w varchar(20) character set win1252, \
         p varchar(20) character set win1252 collate win_ptbr, n varchar(20) character set none)",
    );
    session.commit();
    session.execute("create index t_ci on t(ci)");
    session.commit();
    session.execute("insert into t values ('abc', 'ABC', 'ÁBC', 'abc', 'ÁBC', 'ABC')");
    session.commit();
    for (condition, holds) in [
        ("u = ci", true),
        ("ci = u", true),
        ("u = ai", true),
        ("ci = ai", true),
        ("ai = ci", true),
        ("w = ci", true),
        ("ci = w", true),
        ("n = ci", true),
        ("ci = n", true),
        ("_none 'abc' = ci", true),
        ("ci = _none 'abc'", true),
        ("_ascii 'abc' = ci", true),
        ("ci = _ascii 'abc'", true),
        ("_octets 'abc' = ci", false),
        ("ci = _octets 'abc'", false),
        ("p = w", true),
        ("w = p", true),
        ("ai = p", true),
        ("p = ci", true),
        ("u is not distinct from ci", true),
        ("ci is not distinct from u", true),
        ("u between ci and ci", true),
        ("ci between u and u", true),
        ("u in (ci)", true),
        // The items of a list are one type first, and that is the first one's.
        ("u in ('x', ci)", false),
        ("u in (select ci from t)", true),
        ("ci in (select u from t)", true),
        ("case u when ci then 1 else 0 end = 1", true),
        ("case ci when u then 1 else 0 end = 1", true),
        ("decode(u, ci, 1, 0) = 1", true),
        ("nullif(u, ci) is null", true),
        ("nullif(ci, u) is null", true),
        // What is searched says how.
        ("u like 'ABC' collate unicode_ci", false),
        ("ci like 'abc'", true),
        ("ci like _none 'abc'", true),
        ("u starting with ci", false),
        ("ci starting with u", true),
        ("position(u in ci) = 1", true),
        ("position(ci in u) = 0", true),
        ("replace(u, ci, 'x') = 'abc'", true),
        ("replace(ci, u, 'x') = 'x'", true),
        ("trim(u from ci) = ''", true),
        ("trim(ci from u) = 'abc'", true),
        ("exists (select 1 from t a join t b on a.u = b.ci)", true),
        ("exists (select 1 from t a join t b on a.ci = b.u)", true),
        ("exists (select 1 from t a join t b on b.n = a.ci)", true),
    ] {
        let answer = session.rows(&format!("select 1 from t where {condition}"));
        assert_eq!(!answer.is_empty(), holds, "{condition}");
    }
    // A UNION takes its first member's.
    assert_eq!(session.rows("select count(*) from (select u from t union select ci from t)"), ["2"]);
    assert_eq!(session.rows("select count(*) from (select ci from t union select u from t)"), ["1"]);
    // Equal values come by accents and case, as in Firebird, and one of each is grouped.
    session.execute("delete from t");
    for word in ["b", "A", "á", "a", "Á"] {
        session.execute(&format!("insert into t(ci, ai) values ('{word}', '{word}')"));
    }
    assert_eq!(session.rows("select ai from t order by ai"), ["a", "A", "á", "Á", "b"]);
    assert_eq!(session.rows("select ci from t order by ci desc"), ["b", "Á", "á", "A", "a"]);
    assert_eq!(session.rows("select count(*) from t group by ai order by 1"), ["1", "4"]);
    assert_eq!(session.rows("select count(distinct ai), count(distinct ci) from t"), ["2|3"]);
    assert_eq!(session.rows("select rank() over (order by ai) from t order by 1"), ["1", "1", "1", "1", "5"]);
    // A collation belongs to a character set.
    for wrong in ["_iso8859_1 'x' collate pxw_intl", "_utf8 'x' collate de_de", "u collate win_ptbr"] {
        let error = session.error(&format!("select {wrong} from t"));
        assert!(error.contains("collation_not_found"), "{wrong}: {error}");
    }
}

/// Beside OCTETS texts are bytes, and zeros at the end do not count. Answers recorded from Firebird 5.0.4 without indexes.
#[test]
fn texts_beside_octets_are_bytes_with_zeros_behind() {
    let (_database, mut session) = TestDatabase::create();
    session.execute(
        "create table b(k int, u binary(16), v varbinary(16), t varchar(16) character set utf8, \
         c char(16) character set utf8, w varchar(16) character set win1252, \
         n varchar(16) character set none, ci varchar(16) character set utf8 collate unicode_ci)",
    );
    session.commit();
    for row in [
        "1, 'ABC', 'ABC', 'ABC', 'ABC', 'ABC', 'ABC', 'abc'",
        "2, x'c3a9', x'c3a9', 'é', 'é', 'é', x'c3a9', 'É'",
        "3, x'e9', x'e9', 'A', 'A', 'é', x'e9', 'a '",
        "4, 'A ', 'A ', 'A ', 'A ', 'A ', 'A ', 'a '",
    ] {
        session.execute(&format!("insert into b values ({row})"));
    }
    session.commit();
    for indexed in [false, true] {
        if indexed {
            for column in ["u", "v", "t", "c", "w", "n", "ci"] {
                session.execute(&format!("create index b_{column} on b({column})"));
            }
            session.commit();
        }
        for (condition, rows) in [
            ("u = 'ABC'", "1"),
            ("v = 'ABC'", "1"),
            ("v = 'ABC  '", ""),
            ("v = _win1252 'ABC'", "1"),
            ("u <> 'ABC'", "2 3 4"),
            ("u = t", "1 2 4"),
            ("t = u", "1 2 4"),
            ("u = c", ""),
            ("v = c", ""),
            ("v = t", "1 2 4"),
            ("u = w", "1 3 4"),
            ("w = u", "1 3 4"),
            ("u = n", "1 2 3 4"),
            ("n = u", "1 2 3 4"),
            ("u = ci", ""),
            ("ci = u", ""),
            ("t = x'41'", "3"),
            ("t = x'414243'", "1"),
            ("c = x'414243'", ""),
            ("w = x'e9'", "2 3"),
            ("w = x'c3a9'", ""),
            ("t > x'41'", "1 2 4"),
            ("u in ('ABC', 'x')", "1"),
            ("'ABC' in (u)", "1"),
            ("t in (x'41', 'ABC')", "1 3"),
            ("ci in (x'41', 'ABC')", ""),
            ("u between 'AB' and 'ABC'", "1"),
            ("u > 'ABC'", "2 3"),
            ("u >= 'ABC'", "1 2 3"),
            ("u < 'ABC'", "4"),
            ("u starting with 'AB'", "1"),
            ("u is not distinct from 'ABC'", "1"),
            ("case u when 'ABC' then 1 else 2 end = 1", "1"),
            ("nullif(u, 'ABC') is null", "1"),
            ("decode(u, 'ABC', 1, 2) = 1", "1"),
            ("u in (select t from b)", "1 2 4"),
            ("t in (select u from b)", "1 2 4"),
            ("t not in (select u from b)", "3"),
            ("u = any (select t from b)", "1 2 4"),
            ("exists (select 1 from b o where o.u = b.t)", "1 2 4"),
            ("cast('ABC' as blob sub_type text) = u", "1"),
            ("v = cast('ABC' as blob sub_type text)", "1"),
            ("cast(t as varchar(16) character set octets) = 'ABC'", "1"),
        ] {
            let found = session.rows(&format!("select k from b where {condition} order by k")).join(" ");
            assert_eq!(found, rows, "{condition}, indexed: {indexed}");
        }
        for (join, pairs) in [
            ("x.u = y.t", "1|1 2|2 4|4"),
            ("y.t = x.u", "1|1 2|2 4|4"),
            ("x.u || '' = y.t || ''", "1|1 2|2 4|4"),
            ("x.v = y.c", ""),
            ("x.v = y.w", "1|1 3|2 3|3 4|4"),
        ] {
            let found = session.rows(&format!("select x.k, y.k from b x join b y on {join} order by 1, 2"));
            assert_eq!(found.join(" "), pairs, "{join}, indexed: {indexed}");
        }
    }
    for (condition, holds) in [
        ("x'6100' = 'a'", true),
        ("cast('a' as char(3) character set octets) = 'a'", true),
        ("'a ' = x'61'", false),
        ("x'61' = x'6120'", false),
        ("x'61' = x'6100'", true),
        ("'a' = 'a' || ascii_char(0)", false),
        ("x'41' < 'A '", true),
        ("x'41' > 'A '", false),
        ("x'4120' = _none 'A '", true),
        ("x'4120' = 'A'", false),
    ] {
        let answer = session.rows(&format!("select 1 from rdb$database where {condition}"));
        assert_eq!(!answer.is_empty(), holds, "{condition}");
    }
    let block = "execute block returns (a int) as declare x binary(4) = 'ab'; declare y varchar(4) = 'ab'; \
                 begin a = iif(x = y, 1, 0) + iif(x = 'ab', 2, 0) + iif(y = x'61620000', 4, 0); suspend; end";
    assert_eq!(session.rows(block), ["7"]);
    session.execute("update b set ci = 'changed' where u = 'ABC'");
    session.execute("delete from b where v = 'A '");
    assert_eq!(session.rows("select k from b where ci = 'changed'"), ["1"]);
    assert_eq!(session.rows("select k from b order by k"), ["1", "2", "3"]);
    session.execute("create table p(id varbinary(10) primary key)");
    session.commit();
    for key in ["'A'", "x'4120'"] {
        session.execute(&format!("insert into p values ({key})"));
    }
    for twice in ["x'4100'", "'A'", "_win1252 'A '"] {
        let error = session.error(&format!("insert into p values ({twice})"));
        assert!(error.contains("unique_key_violation"), "{twice}: {error}");
    }
}

/// CREATE COLLATION with all its attributes; what is refused is what Firebird 5.0.4 refuses.
#[test]
fn collations_are_made_of_others() {
    let (_database, mut session) = TestDatabase::create();
    for (definition, error) in [
        ("c1 for utf8 from unicode case insensitive accent insensitive 'LOCALE=es;NUMERIC-SORT=1'", ""),
        ("c2 for utf8 from unicode 'LOCALE=xx_YY'", "invalid_coll_attr"),
        ("c4 for utf8 from unicode accent insensitive", "invalid_coll_attr"),
        ("c5 for iso8859_1 from pt_br case sensitive", ""),
        ("c7 for win1250 from pxw_csy case insensitive", ""),
        ("c8 for iso8859_1 from es_es no pad 'SPECIALS-FIRST=1'", ""),
        ("c9 for utf8 from ucs_basic case insensitive", "invalid_coll_attr"),
        ("c10 for utf8 from utf8 no pad", "invalid_coll_attr"),
        ("c11 for win1252 from external ('WIN1252_UNICODE') case insensitive 'LOCALE=de'", ""),
        ("c15 for utf8 from unicode 'NUMERIC-SORT=2'", "invalid_coll_attr"),
        ("c22 for none from none case insensitive", "invalid_coll_attr"),
        ("c23 for utf8 from external ('C1')", "collation_not_installed"),
        ("c24 for utf8 from c1 case sensitive accent sensitive", ""),
        ("c25 for utf8 from nosuch", "collation_not_found"),
        ("c26 for dos437 from db_deu437 case insensitive", "invalid_coll_attr"),
        ("unicode_ci for utf8 from unicode", "unique_key_violation"),
        ("fr_fr for utf8 from unicode 'LOCALE=fr'", "unique_key_violation"),
        ("c28 for iso8859_1 from de_de 'FOO=1'", "invalid_coll_attr"),
        ("c30 for utf8", "collation_not_installed"),
        ("c31 for iso8859_1 from external ('ES_ES')", ""),
    ] {
        let sql = format!("create collation {definition}");
        match error {
            "" => session.execute(&sql),
            _ => {
                let refused = session.error(&sql);
                assert!(refused.contains(error), "{sql}: {refused}");
            }
        }
        session.commit();
    }
    let made = "select trim(rdb$collation_name), rdb$collation_id, rdb$collation_attributes, \
                trim(rdb$base_collation_name) from rdb$collations where rdb$system_flag = 0 order by 1";
    assert_eq!(
        session.rows(made),
        [
            "C1|126|7|UNICODE",
            "C11|126|2|WIN1252_UNICODE",
            "C24|125|1|UNICODE",
            "C31|124|0|ES_ES",
            "C5|126|5|PT_BR",
            "C7|126|3|PXW_CSY",
            "C8|125|0|ES_ES",
        ]
    );
    session.execute("create table t(a varchar(10) character set utf8 collate c1, b varchar(10) character set win1250 collate c7, c varchar(10) character set iso8859_1 collate c31)");
    session.commit();
    session.execute("create index t_a on t(a)");
    session.commit();
    for word in ["a10", "Á9", "chico", "czar", "dado", "lzz", "llama"] {
        session.execute(&format!("insert into t values ('{word}', '{word}', '{word}')"));
    }
    session.commit();
    assert_eq!(session.rows("select a from t where a < 'b' order by a"), ["Á9", "a10"]);
    assert_eq!(session.rows("select a from t where a starting with 'A1'"), ["a10"]);
    assert_eq!(session.rows("select b from t where b starting with 'C' order by b"), ["czar", "chico"]);
    assert_eq!(
        session.rows("select c from t where c > 'b' order by c"),
        ["czar", "chico", "dado", "lzz", "llama"]
    );
    let number = "select rdb$collation_id from rdb$relation_fields where rdb$relation_name = 'T' order by rdb$field_position";
    assert_eq!(session.rows(number), ["126", "126", "124"]);
    let error = session.error("drop collation c1");
    assert!(error.contains("coll_used_table"), "{error}");
    session.execute("drop collation c24");
}
