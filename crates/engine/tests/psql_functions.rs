//! The built-in functions: results, types and errors as Firebird 4.0.5 gave them.

mod psql_support;

use psql_support::Session;

/// Evaluates each expression and compares.
fn check(expected: &[(&str, &str)]) {
    let mut session = Session::new();
    let mut wrong = Vec::new();
    for (expression, result) in expected {
        let sql = format!("SELECT {expression} FROM RDB$DATABASE");
        let got = match session.try_rows(&sql) {
            Ok(rows) => rows.join("\n"),
            Err(error) => psql_support::described(&error),
        };
        if got != *result {
            wrong.push(format!("{expression}: {got}, not {result}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn texts() {
    check(&[
        ("substring('abcdef' from -1 for 4)", "ab"),
        ("substring('abcdef' from 0 for 2)", "a"),
        ("substring('abcdef' from 3)", "cdef"),
        ("substring('abc' from 10)", ""),
        ("left('abc', 2)", "ab"),
        ("right('abc', 10)", "abc"),
        ("right('äöü', 2)", "öü"),
        ("lpad('abc', 2)", "ab"),
        ("lpad('abc', 6, 'xy')", "xyxabc"),
        ("lpad('abc', 6, '')", "abc"),
        ("rpad('abc', 6, 'xy')", "abcxyx"),
        ("lpad(5, 4, '0')", "0005"),
        ("overlay('abcdef' placing 'XY' from 2 for 3)", "aXYef"),
        ("overlay('abcdef' placing 'XY' from 10)", "abcdefXY"),
        ("position('c' in 'abcabc')", "3"),
        ("position('c', 'abcabc', 4)", "6"),
        ("position('', 'abc')", "1"),
        ("position('', 'abc', 10)", "0"),
        ("position('', '', 1)", "1"),
        ("position('ö' in 'aäö')", "3"),
        ("replace('abcabc', 'b', 'XX')", "aXXcaXXc"),
        ("replace('abc', '', 'X')", "abc"),
        ("reverse('äbc')", "cbä"),
        ("char_length('äö')", "2"),
        ("octet_length('äö')", "4"),
        ("bit_length('äö')", "32"),
        ("octet_length(12.5)", "4"),
        ("char_length(cast('a' as char(5)))", "5"),
        ("trim(both from '  a ')", "a"),
        ("trim('x' from 'xxaxx')", "a"),
        ("trim(leading 'ab' from 'ababc')", "c"),
        ("trim('' from 'abc')", "abc"),
        ("upper('äbc')", "ÄBC"),
        ("lower('ÄB')", "äb"),
        ("ascii_val('A')", "65"),
        ("ascii_val('')", "0"),
        ("ascii_val(cast('ä' as char(1) character set win1252))", "228"),
        ("unicode_char(228)", "ä"),
        ("unicode_val('ä')", "228"),
        ("lpad('abc', null)", "NULL"),
        ("upper(null)", "NULL"),
        ("lower(cast('AB' as blob sub_type text))", "ab"),
        ("char_length(cast('äb' as blob sub_type text))", "2"),
        ("blob_append(null, 'abc', 1, null, date '2024-01-01')", "abc12024-01-01"),
    ]);
}

#[test]
fn errors_of_texts() {
    check(&[
        ("ascii_char(256)", "arith_except numeric_out_of_range"),
        ("left('abc', -1)", "bad_substring_length(-1)"),
        ("right('abc', -1)", "bad_substring_length(-1)"),
        ("substring('abc' from 1 for -1)", "bad_substring_length(-1)"),
        ("ascii_val('ä')", "arith_except transliteration_failed"),
        ("lpad('abc', -1)", "expression_eval_err sysf_argnmustbe_nonneg(2, LPAD)"),
        ("overlay('abc' placing 'x' from 0)", "expression_eval_err sysf_argnmustbe_positive(3, OVERLAY)"),
        (
            "overlay('abc' placing 'x' from 1 for -1)",
            "expression_eval_err sysf_argnmustbe_nonneg(4, OVERLAY)",
        ),
        ("position('a', 'abc', 0)", "expression_eval_err sysf_argnmustbe_positive(3, POSITION)"),
        ("left('a')", "funmismat(LEFT)"),
    ]);
}

#[test]
fn encodings() {
    check(&[
        ("hash('abc')", "26499"),
        ("hash('abc' using crc32)", "-1035918283"),
        ("crypt_hash('abc' using md5)", "900150983CD24FB0D6963F7D28E17F72"),
        ("crypt_hash('abc' using sha1)", "A9993E364706816ABA3E25717850C26C9CD0D89D"),
        ("base64_encode('abc')", "YWJj"),
        ("base64_decode('YWJj')", "616263"),
        ("base64_decode('YWJj!!==')", "616263"),
        ("hex_encode('abc')", "616263"),
        ("hex_decode('616263')", "616263"),
        ("hex_decode('6162zz')", "invalid_hex_digit(z, 5)"),
        ("uuid_to_char(x'00112233445566778899AABBCCDDEEFF')", "00112233-4455-6677-8899-AABBCCDDEEFF"),
        ("char_to_uuid('00112233-4455-6677-8899-AABBCCDDEEFF')", "00112233445566778899AABBCCDDEEFF"),
        ("octet_length(gen_uuid())", "16"),
        ("char_to_uuid('zz')", "expression_eval_err sysf_argviolates_uuidlen(36, CHAR_TO_UUID)"),
        (
            "char_to_uuid('0011223344556677-8899-AABBCCDDEEFFxx')",
            "expression_eval_err sysf_argviolates_uuidfmt(4 (ASCII 52), 9, CHAR_TO_UUID)",
        ),
        ("uuid_to_char('zz')", "expression_eval_err sysf_binuuid_wrongsize(16, UUID_TO_CHAR)"),
    ]);
}

#[test]
fn numbers() {
    check(&[
        ("abs(-5)", "5"),
        ("abs(-1.5)", "1.5"),
        ("abs('1.5')", "1.500000000000000"),
        ("ceil(1.2)", "2"),
        ("ceil(-1.2)", "-1"),
        ("floor(-0.5)", "-1"),
        ("round(1.5)", "2"),
        ("round(2.55, 1)", "2.60"),
        ("round(-2.5)", "-3"),
        ("round(1234.5, -2)", "1200.0"),
        ("round(155, -1)", "160"),
        ("round(2.345e0, 2)", "2.350000000000000"),
        ("round(1.5, 100)", "1.5"),
        ("round(12345678901234567890.55, 1)", "12345678901234567890.60"),
        ("trunc(1.99)", "1"),
        ("trunc(-1.99, 1)", "-1.90"),
        ("trunc(123.456, -1)", "120.000"),
        ("trunc(2.345e0, 2)", "2.340000000000000"),
        ("mod(10, 3)", "1"),
        ("mod(-10, 3)", "-1"),
        ("mod(10.5, 3)", "2"),
        ("mod(10, 2.6)", "1"),
        ("sign(-2)", "-1"),
        ("sqrt(4)", "2.000000000000000"),
        ("power(2, 10)", "1024.000000000000"),
        ("maxvalue(1, 2, 3.5)", "3.5"),
        ("maxvalue(1, null, 2)", "NULL"),
        ("bin_and(12, 10)", "8"),
        ("bin_or(12, 10, 1)", "15"),
        ("bin_xor(12, 10)", "6"),
        ("bin_not(5)", "-6"),
        ("bin_shl(1, 10)", "1024"),
        ("bin_shr(-8, 1)", "-4"),
        ("bin_shl(1, 63)", "-9223372036854775808"),
        ("bin_shl(1, 100)", "68719476736"),
        ("pi()", "3.141592653589793"),
        ("exp(1)", "2.718281828459045"),
        ("ln(10)", "2.302585092994046"),
        ("log(2, 8)", "3.000000000000000"),
        ("log10(100)", "2.000000000000000"),
        ("atan2(1, 1)", "0.7853981633974483"),
        ("cot(1)", "0.6420926159343306"),
        ("acosh(2)", "1.316957896924817"),
        ("compare_decfloat(1.0, 1.00)", "2"),
        ("totalorder(1.0, 1.00)", "1"),
        ("normalize_decfloat(1.00)", "1"),
        ("quantize(1.234, 1.00)", "1.23"),
        ("round(cast(1.255 as decfloat(16)), 2)", "1.26"),
        ("mod(cast(17 as int128), 5)", "2"),
    ]);
}

#[test]
fn errors_of_numbers() {
    check(&[
        ("sqrt(-1)", "expression_eval_err sysf_argmustbe_nonneg(SQRT)"),
        ("ln(0)", "expression_eval_err sysf_argmustbe_positive(LN)"),
        ("log(0, 2)", "expression_eval_err sysf_basemustbe_positive(LOG)"),
        ("mod(1, 0)", "arith_except exception_integer_divide_by_zero"),
        ("power(0, -1)", "expression_eval_err sysf_invalid_zeropowneg(POWER)"),
        ("power(-8, 0.5)", "expression_eval_err sysf_invalid_negpowfp(POWER)"),
        ("power(2, 10000)", "arith_except exception_float_overflow"),
        ("acos(2)", "expression_eval_err sysf_argmustbe_range_inc1_1(ACOS)"),
        ("acosh(0)", "expression_eval_err sysf_argmustbe_gteq_one(ACOSH)"),
        ("atanh(1)", "expression_eval_err sysf_argmustbe_range_exc1_1(ATANH)"),
        ("cot(0)", "expression_eval_err sysf_argmustbe_nonzero(COT)"),
        ("atan2(0, 0)", "expression_eval_err sysf_argscant_both_be_zero(ATAN2)"),
        ("exp(1000)", "arith_except exception_float_overflow"),
        ("bin_and(1.5, 2)", "expression_eval_err sysf_argmustbe_exact(BIN_AND)"),
        ("bin_shl(1, -1)", "expression_eval_err sysf_argmustbe_nonneg(BIN_SHL)"),
        ("round(1, -400)", "expression_eval_err sysf_invalid_scale(ROUND)"),
        ("round(1.5e0, 128)", "expression_eval_err sysf_invalid_scale(ROUND)"),
        ("round(1.5, 128.4)", "expression_eval_err sysf_invalid_scale(ROUND)"),
        ("trunc(1.5e0, -129)", "expression_eval_err sysf_invalid_scale(TRUNC)"),
        ("round(1.5, 99999999999)", "arith_except numeric_out_of_range"),
        ("round('1.5')", "expression_eval_err sysf_argmustbe_exact_or_fp(ROUND)"),
    ]);
}

/// As Firebird 5 answers.
#[test]
fn a_literal_zero_keeps_its_sign_in_a_decimal() {
    let mut session = Session::new();
    session.execute("create table t (id int, d decfloat, e decfloat(16))");
    session.commit();
    for values in ["1, -0.0, -0", "2, (-0.0), -0.00", "3, - -0.0, 0.0", "4, coalesce(-0.0, 1), 0"] {
        session.execute(&format!("insert into t values ({values})"));
    }
    session.execute("update t set d = -0.00 where id = 4");
    assert_eq!(
        session.rows("select d, e from t order by id"),
        ["-0.0|-0", "-0.0|-0.00", "0.0|0.0", "-0.00|0"]
    );
}

/// As Firebird 5 answers.
#[test]
fn a_decimal_is_not_compared_with_a_nan() {
    let mut session = Session::new();
    session.execute("create table t (id int, d decfloat)");
    session.execute("create table i (d decfloat)");
    session.execute("create index i_d on i (d)");
    session.commit();
    session.execute("insert into t values (1, 1.5)");
    session.execute("insert into t values (2, 'Infinity')");
    session.execute("insert into i values (1.5)");
    session.commit();
    for condition in ["d = cast('NaN' as decfloat)", "d <> 'NaN'", "d in (1, cast('NaN' as decfloat))"] {
        for table in ["t", "i"] {
            let error =
                session.try_rows(&format!("select 1 from {table} where {condition}")).expect_err(condition);
            assert_eq!(
                psql_support::described(&error),
                "decfloat_invalid_operation",
                "{table} where {condition}"
            );
        }
    }
    assert_eq!(session.rows("select id from t where d = 'inf'"), ["2"]);
    session.execute("insert into t values (3, 'NaN')");
    assert_eq!(session.rows("select id from t order by d"), ["1", "2", "3"]);
    session.execute("set decfloat traps to");
    assert!(session.rows("select d from i where d = cast('NaN' as decfloat)").is_empty());
}

#[test]
fn dates() {
    check(&[
        ("extract(year from date '2024-02-29')", "2024"),
        ("extract(second from timestamp '2024-02-29 10:11:12.3456')", "12.3456"),
        ("extract(millisecond from time '10:11:12.3456')", "345.6"),
        ("extract(weekday from date '2024-02-29')", "4"),
        ("extract(yearday from date '2024-02-29')", "59"),
        ("extract(week from date '2024-12-30')", "1"),
        ("extract(week from date '2021-01-01')", "53"),
        ("extract(timezone_hour from timestamp '2024-02-29 10:11:12 Europe/Berlin')", "1"),
        ("extract(timezone_minute from time '10:00 -03:30')", "-30"),
        ("dateadd(1 month to date '2024-01-31')", "2024-02-29"),
        ("dateadd(-1 year to date '2024-02-29')", "2023-02-28"),
        ("dateadd(25 hour to time '10:00:00')", "11:00:00.0000"),
        ("dateadd(1.5 day to date '2024-01-01')", "2024-01-03"),
        ("dateadd(36 hour to date '2024-01-01')", "2024-01-02"),
        ("dateadd(1.25 millisecond to time '00:00:00')", "00:00:00.0013"),
        (
            "dateadd(1 day to timestamp '2024-03-30 12:00:00 Europe/Berlin')",
            "2024-03-31 13:00:00.0000 Europe/Berlin",
        ),
        ("datediff(day from date '2024-01-01' to date '2024-03-01')", "60"),
        ("datediff(month from date '2024-01-31' to date '2024-02-01')", "1"),
        ("datediff(hour, time '10:59', time '11:01')", "1"),
        ("datediff(week from date '2024-01-01' to date '2024-01-09')", "1"),
        (
            "datediff(millisecond, timestamp '2024-01-01 00:00:00', timestamp '2024-01-01 00:00:01.2345')",
            "1234.5",
        ),
        ("first_day(of month from date '2024-02-15')", "2024-02-01"),
        ("last_day(of month from date '2024-02-15')", "2024-02-29"),
        ("first_day(of week from date '2024-02-15')", "2024-02-11"),
        ("first_day(of year from timestamp '2024-02-15 10:00:00')", "2024-01-01 10:00:00.0000"),
        (
            "first_day(of month from timestamp '2024-03-31 23:30:00 America/New_York')",
            "2024-03-01 23:30:00.0000 America/New_York",
        ),
    ]);
}

#[test]
fn errors_of_dates() {
    check(&[
        ("extract(hour from date '2024-01-01')", "dsql_error sqlerr(-105) extract_input_mismatch"),
        ("dateadd(1 year to time '10:00')", "expression_eval_err sysf_invalid_addpart_time(DATEADD)"),
        (
            "dateadd(1 weekday to date '2024-01-01')",
            "expression_eval_err sysf_invalid_addpart_dtime(WEEKDAY, DATEADD)",
        ),
        ("dateadd(1 day to 5)", "expression_eval_err sysf_invalid_add_datetime(DATEADD)"),
        ("dateadd(1000000 year to date '2024-01-01')", "date_range_exceeded"),
        (
            "datediff(year from time '10:00' to time '11:00')",
            "expression_eval_err sysf_invalid_timediff(DATEDIFF)",
        ),
        (
            "datediff(hour from date '2024-01-01' to time '10:00')",
            "expression_eval_err sysf_invalid_datetimediff(DATEDIFF)",
        ),
        (
            "datediff(day from '2024-01-01' to '2024-01-05')",
            "expression_eval_err sysf_invalid_diff_dtime(DATEDIFF)",
        ),
        (
            "first_day(of month from time '10:00')",
            "expression_eval_err sysf_invalid_date_timestamp(FIRST_DAY)",
        ),
    ]);
}

#[test]
fn context_variables() {
    check(&[
        ("rdb$get_context('SYSTEM', 'CURRENT_USER')", "SYSDBA"),
        ("rdb$get_context('SYSTEM', 'ISOLATION_LEVEL')", "SNAPSHOT"),
        ("rdb$get_context('SYSTEM', 'LOCK_TIMEOUT')", "-1"),
        ("rdb$get_context('SYSTEM', 'READ_ONLY')", "FALSE"),
        ("rdb$get_context('SYSTEM', 'X')", "ctx_var_not_found(X, SYSTEM)"),
        ("rdb$get_context('FOO', 'X')", "ctx_namespace_invalid(FOO, RDB$GET_CONTEXT)"),
        ("rdb$set_context('SYSTEM', 'X', '1')", "ctx_namespace_invalid(SYSTEM, RDB$SET_CONTEXT)"),
        ("rdb$get_context('USER_SESSION', 'X')", "NULL"),
        ("rdb$get_context(null, 'X')", "ctx_bad_argument(RDB$GET_CONTEXT)"),
        ("make_dbkey('RDB$DATABASE', 0) = rdb$db_key", "TRUE"),
        ("rdb$set_context('USER_SESSION', 'X', '1')", "0"),
        ("rdb$get_context('USER_SESSION', 'X')", "1"),
    ]);
}

#[test]
fn aggregates() {
    let mut session = Session::new();
    let three = "(select 1 x, 2 y from rdb$database union all select 2, 3 from rdb$database \
                 union all select 4, 7 from rdb$database)";
    let mut check = |expression: &str, expected: &str| {
        assert_eq!(session.row(&format!("select {expression} from {three}")), expected, "{expression}");
    };
    check("count(*), sum(x), avg(x), min(x), max(y)", "3|7|2|1|7");
    check("list(x), list(x, '-')", "1,2,4|1-2-4");
    check("list(x, null)", "NULL");
    check("list(distinct x)", "1,2,4");
    check("var_samp(x), var_pop(x)", "2.333333333333334|1.555555555555556");
    check("stddev_samp(x), stddev_pop(x)", "1.527525231651947|1.247219128924647");
    check(
        "corr(x, y), covar_pop(x, y), covar_samp(x, y)",
        "0.9897433186107868|2.666666666666667|4.000000000000000",
    );
    check("regr_slope(x, y), regr_r2(x, y)", "0.5714285714285714|0.9795918367346934");
    check("regr_avgx(x, y), regr_avgy(x, y), regr_count(x, y)", "4.000000000000000|2.333333333333333|3");
    assert_eq!(
        session.row(
            "select avg(x), sum(x) from (select 9223372036854775807 x from rdb$database \
             union all select 9223372036854775807 from rdb$database)"
        ),
        "9223372036854775807|18446744073709551614"
    );
    assert_eq!(
        session.error("select sum('a') from rdb$database"),
        "dsql_error expression_eval_err dsql_agg2_wrongarg(SUM)"
    );
}

#[test]
fn types_of_results() {
    use farbird_types::{CharacterSet, ExactSubtype, ExactWidth, SqlType};
    let mut session = Session::new();
    let scaled = |width, scale, subtype| SqlType::Exact { width, scale, subtype };
    let expected = [
        ("abs(cast(-5 as smallint))", SqlType::INTEGER),
        ("abs(-5)", SqlType::BIGINT),
        ("ceil(1.2)", SqlType::BIGINT),
        ("ceil(cast(1.5 as decfloat))", SqlType::DecFloat34),
        ("round(2.55, 1)", scaled(ExactWidth::Int64, -2, ExactSubtype::Integer)),
        ("round(1.5)", SqlType::BIGINT),
        ("sign(-2)", SqlType::SMALLINT),
        ("bin_and(12, 10)", SqlType::INTEGER),
        ("bin_shl(1, 10)", SqlType::BIGINT),
        ("sum(1)", SqlType::BIGINT),
        ("sum(cast(1 as bigint))", SqlType::INT128),
        ("sum(cast(1.5 as numeric(4, 1)))", scaled(ExactWidth::Int64, -1, ExactSubtype::Numeric)),
        ("avg(1.5)", scaled(ExactWidth::Int64, -1, ExactSubtype::Integer)),
        ("avg(cast(1 as decfloat(16)))", SqlType::DecFloat16),
        ("extract(second from time '10:00')", scaled(ExactWidth::Long, -4, ExactSubtype::Integer)),
        ("datediff(day from date '2024-01-01' to date '2024-01-02')", SqlType::BIGINT),
        ("left('abc', 2)", SqlType::varchar(3, CharacterSet::UTF8)),
        ("lpad('abc', 6, 'xy')", SqlType::varchar(6, CharacterSet::UTF8)),
        ("replace('abcabc', 'b', 'XX')", SqlType::varchar(12, CharacterSet::UTF8)),
        ("overlay('abcdef' placing 'XY' from 2)", SqlType::varchar(8, CharacterSet::UTF8)),
        ("substring('abcdef' from 1 for 4)", SqlType::varchar(4, CharacterSet::UTF8)),
        ("ascii_char(65)", SqlType::char(1, CharacterSet::NONE)),
        ("crypt_hash('abc' using md5)", SqlType::varchar(16, CharacterSet::OCTETS)),
        ("list('a')", SqlType::blob_text(CharacterSet::UTF8)),
        ("rdb$get_context('SYSTEM', 'DB_NAME')", SqlType::varchar(255, CharacterSet::NONE)),
    ];
    for (expression, sql_type) in expected {
        let types = session.column_types(&format!("select {expression} from rdb$database"));
        assert_eq!(types[0].sql_type, sql_type, "{expression}");
    }
}
