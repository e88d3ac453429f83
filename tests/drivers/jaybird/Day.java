// The working day of ../README.md with Jaybird, run from source: java -cp jaybird.jar Day.java day|after-restart
//
// With JAYBIRD_WIRE set, the attachments ask for wire encryption, wire compression and inline blobs explicitly; without
// it they are Jaybird's defaults, but with inline blobs off.

import java.io.ByteArrayInputStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.firebirdsql.gds.ISCConstants;
import org.firebirdsql.gds.TransactionParameterBuffer;
import org.firebirdsql.gds.ng.FbDatabase;
import org.firebirdsql.gds.ng.FbStatement;
import org.firebirdsql.gds.ng.FbTransaction;
import org.firebirdsql.gds.ng.fields.RowValue;
import org.firebirdsql.jaybird.fb.constants.TpbItems;
import org.firebirdsql.jdbc.FirebirdConnection;
import org.firebirdsql.management.FBUser;
import org.firebirdsql.management.FBUserManager;

public class Day {
    static final String HOST = System.getenv("FIREBIRD_HOST");
    static final String PORT = System.getenv("FIREBIRD_PORT");
    static final String USER = System.getenv("FIREBIRD_USER");
    static final String PASSWORD = System.getenv("FIREBIRD_PASSWORD");
    static final String DATABASE = System.getenv("FIREBIRD_DATABASE");
    static final Path SCHEMA = Path.of(System.getenv("FIREBIRD_SCHEMA"));
    static final int SERVER_VERSION = Integer.parseInt(System.getenv().getOrDefault("FIREBIRD_SERVER_VERSION", "5"));
    static final boolean WIRE = System.getenv("JAYBIRD_WIRE") != null;

    static final int ROWS = 10_000;
    static final Map<String, Integer> BLOB_SIZES = new LinkedHashMap<>();
    static final String LONG_TEXT = "Grüße aus Köln – 10 € 😀\n".repeat(4000);
    static final Map<String, List<?>> TYPES = new LinkedHashMap<>();
    static final Set<String> SINCE_FIREBIRD_4 = Set.of("INT128", "NUMERIC(38,10)", "DECFLOAT(16)", "DECFLOAT(34)",
            "TIME WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE");

    /** A statement that must fail, with the gds code that Jaybird tells (the most telling one) and its SQLSTATE. */
    record Failure(String sql, List<?> parameters, int code, String sqlState) { }

    static final Map<String, Failure> ERRORS = new LinkedHashMap<>();

    static {
        BLOB_SIZES.put("0 bytes", 0);
        BLOB_SIZES.put("1 byte", 1);
        BLOB_SIZES.put("60 KB", 60 * 1024);
        BLOB_SIZES.put("70 KB", 70 * 1024);
        BLOB_SIZES.put("5 MB", 5 * 1024 * 1024);

        BigInteger int128Max = BigInteger.TWO.pow(127).subtract(BigInteger.ONE);
        String nines = "9".repeat(28) + "." + "9".repeat(10);
        ZoneOffset east = ZoneOffset.ofHoursMinutes(5, 30);
        ZoneOffset west = ZoneOffset.ofHours(-8);
        byte[] octets = {0, 1, (byte) 0xFE, (byte) 0xFF};
        TYPES.put("SMALLINT", List.of((int) Short.MIN_VALUE, (int) Short.MAX_VALUE, 0));
        TYPES.put("INTEGER", List.of(Integer.MIN_VALUE, Integer.MAX_VALUE, 0));
        TYPES.put("BIGINT", List.of(Long.MIN_VALUE, Long.MAX_VALUE, 0L));
        TYPES.put("INT128", List.of(int128Max.not(), int128Max, BigInteger.ZERO));
        TYPES.put("NUMERIC(4,2)", decimals("-327.68", "327.67", "0.01"));
        TYPES.put("NUMERIC(9,3)", decimals("-2147483.648", "2147483.647", "0.001"));
        TYPES.put("DECIMAL(4,2)", decimals("-21474836.48", "21474836.47", "0.01"));
        TYPES.put("NUMERIC(18,4)", decimals("-922337203685477.5808", "922337203685477.5807", "0.0001"));
        TYPES.put("NUMERIC(38,10)", decimals("-" + nines, nines, "0.0000000001"));
        TYPES.put("FLOAT", List.of(-Float.MAX_VALUE, Float.MAX_VALUE, Float.MIN_NORMAL, 0.5f));
        TYPES.put("DOUBLE PRECISION", List.of(-Double.MAX_VALUE, Double.MAX_VALUE, Double.MIN_NORMAL, 0.1));
        TYPES.put("DECFLOAT(16)", decimals("-9.999999999999999E+384", "9.999999999999999E+384", "1E-383", "-0.1"));
        TYPES.put("DECFLOAT(34)", decimals("-9." + "9".repeat(33) + "E+6144", "9." + "9".repeat(33) + "E+6144", "1E-6143", "-0.1"));
        TYPES.put("BOOLEAN", List.of(true, false));
        TYPES.put("DATE", List.of(LocalDate.of(1, 1, 1), LocalDate.of(9999, 12, 31), LocalDate.of(2000, 2, 29), LocalDate.of(1858, 11, 17)));
        TYPES.put("TIME", List.of(LocalTime.of(0, 0), LocalTime.of(23, 59, 59, 999_900_000)));
        TYPES.put("TIMESTAMP", List.of(LocalDateTime.of(1, 1, 1, 0, 0), LocalDateTime.of(9999, 12, 31, 23, 59, 59, 999_900_000),
                LocalDateTime.of(1969, 12, 31, 1, 2, 3, 400_000)));
        TYPES.put("TIME WITH TIME ZONE", List.of(OffsetTime.of(12, 34, 56, 789_000_000, east), OffsetTime.of(0, 0, 0, 0, west)));
        TYPES.put("TIMESTAMP WITH TIME ZONE", List.of(OffsetDateTime.of(2024, 6, 30, 12, 34, 56, 789_000_000, east),
                OffsetDateTime.of(1999, 12, 31, 23, 59, 59, 999_900_000, west)));
        TYPES.put("CHAR(10) CHARACTER SET UTF8", List.of("", "äöü €", "😀中文"));
        TYPES.put("CHAR(10) CHARACTER SET WIN1252", List.of("", "äöü €"));
        TYPES.put("CHAR(10) CHARACTER SET ISO8859_1", List.of("", "äöüß ÀÉ"));
        TYPES.put("CHAR(10) CHARACTER SET ASCII", List.of("", "plain ~"));
        TYPES.put("CHAR(10) CHARACTER SET NONE", List.of("", "plain ~"));
        TYPES.put("CHAR(4) CHARACTER SET OCTETS", List.of(octets, "abcd".getBytes(StandardCharsets.US_ASCII)));
        TYPES.put("VARCHAR(20) CHARACTER SET UTF8", List.of("", "äöü € ", "😀".repeat(20)));
        TYPES.put("VARCHAR(20) CHARACTER SET WIN1252", List.of("", "äöü € "));
        TYPES.put("VARCHAR(20) CHARACTER SET ISO8859_1", List.of("", "äöüß ÀÉ "));
        TYPES.put("VARCHAR(20) CHARACTER SET ASCII", List.of("", "plain ~ "));
        TYPES.put("VARCHAR(20) CHARACTER SET NONE", List.of("", "plain ~ "));
        TYPES.put("VARCHAR(20) CHARACTER SET OCTETS", List.of(new byte[0], octets));
        TYPES.put("BLOB SUB_TYPE TEXT CHARACTER SET UTF8", List.of("", "äöü € 😀"));
        TYPES.put("BLOB SUB_TYPE TEXT CHARACTER SET WIN1252", List.of("", "äöü €"));
        TYPES.put("BLOB SUB_TYPE BINARY", List.of(new byte[0], octets));

        ERRORS.put("syntax", new Failure("SELEKT 1 FROM RDB$DATABASE", List.of(), ISCConstants.isc_dsql_token_unk_err, "42000"));
        ERRORS.put("unknown table", new Failure("SELECT * FROM NO_SUCH_TABLE", List.of(), ISCConstants.isc_dsql_relation_err, "42S02"));
        ERRORS.put("unknown column", new Failure("SELECT NO_SUCH_COLUMN FROM CUSTOMER", List.of(), ISCConstants.isc_dsql_field_err, "42S22"));
        ERRORS.put("unique", new Failure("INSERT INTO CUSTOMER (NAME, EMAIL) VALUES (?, ?)", List.of("Second Ada", "ada@example.com"),
                ISCConstants.isc_unique_key_violation, "23000"));
        ERRORS.put("foreign key", new Failure("INSERT INTO INVOICE (ID, CUSTOMER_ID) VALUES (?, ?)", List.of(900, 12345),
                ISCConstants.isc_foreign_key, "23000"));
        ERRORS.put("not null", new Failure("INSERT INTO CUSTOMER (NAME) VALUES (?)", Collections.singletonList(null),
                ISCConstants.isc_not_valid, "23000"));
        ERRORS.put("check", new Failure("INSERT INTO INVOICE (ID, CUSTOMER_ID, QUANTITY) VALUES (?, ?, ?)", List.of(901, 1, 0),
                ISCConstants.isc_check_constraint, "23000"));
        ERRORS.put("conversion", new Failure("SELECT CAST('twelve' AS INTEGER) FROM RDB$DATABASE", List.of(), ISCConstants.isc_convert_error, "22018"));
        ERRORS.put("overflow", new Failure("SELECT CAST(70000 AS SMALLINT) FROM RDB$DATABASE", List.of(), ISCConstants.isc_numeric_out_of_range, "22003"));
        ERRORS.put("division by zero", new Failure("SELECT 1 / 0 FROM RDB$DATABASE", List.of(), ISCConstants.isc_exception_integer_divide_by_zero, "22012"));
        ERRORS.put("truncation", new Failure("UPDATE INVOICE SET NOTE = 'eleven char' WHERE ID = 1", List.of(), ISCConstants.isc_string_truncation, "22001"));
    }

    static List<BigDecimal> decimals(String... values) {
        return Arrays.stream(values).map(BigDecimal::new).toList();
    }

    // Reporting ------------------------------------------------------------------------------------------------------

    interface Body {
        void run() throws Exception;
    }

    static class Skip extends Exception {
        Skip(String reason) {
            super(reason);
        }
    }

    /** The attachment that most checks use; a failed check leaves a fresh one behind. */
    static Connection connection;

    static void check(String name, Body body) {
        try {
            body.run();
            System.out.println("ok " + name);
        } catch (Skip reason) {
            System.out.println("skip " + name + ": " + reason.getMessage());
        } catch (Exception | AssertionError error) {
            StackTraceElement here = Arrays.stream(error.getStackTrace())
                    .filter(frame -> frame.getClassName().startsWith("Day")).reduce((a, b) -> b.getMethodName().equals("check") ? a : a).orElseThrow();
            System.out.println("FAIL " + name + ": " + String.join(" ", error.toString().split("\\s+")) + " (Day.java:" + here.getLineNumber() + ")");
            recover();
        }
        System.out.flush();
    }

    static void recover() {
        try {
            connection.close();
        } catch (Exception alreadyBroken) {
            // The next line replaces it.
        }
        try {
            connection = connect();
        } catch (SQLException noServer) {
            Runtime.getRuntime().halt(1);
        }
    }

    static void expect(Object found, Object wanted) {
        if (!(found instanceof byte[] a && wanted instanceof byte[] b ? Arrays.equals(a, b) : java.util.Objects.equals(found, wanted))) {
            throw new AssertionError("expected " + shown(wanted) + ", got " + shown(found));
        }
    }

    static String shown(Object value) {
        String text = value instanceof byte[] bytes ? Arrays.toString(bytes) : String.valueOf(value);
        return text.length() > 200 ? text.substring(0, 200) + "…" : text;
    }

    /** Runs a body that must fail with this gds code and SQLSTATE. */
    static void expectError(Body body, int code, String sqlState) throws Exception {
        try {
            body.run();
        } catch (SQLException error) {
            expect(error.getErrorCode() + " " + error.getSQLState(), code + " " + sqlState);
            return;
        }
        throw new AssertionError("no error, expected gds code " + code);
    }

    // Talking to the server ------------------------------------------------------------------------------------------

    static Connection connect() throws SQLException {
        return connect(DATABASE, PASSWORD, false);
    }

    static Connection connect(String database, String password, boolean create) throws SQLException {
        return connect(database, password, create, USER);
    }

    static Connection connect(String database, String password, boolean create, String user) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", user);
        properties.setProperty("password", password);
        properties.setProperty("encoding", "UTF8");
        properties.setProperty("maxInlineBlobSize", WIRE ? "65535" : "0");
        if (WIRE) {
            properties.setProperty("wireCrypt", "REQUIRED");
            properties.setProperty("wireCompression", "true");
        }
        if (create) {
            properties.setProperty("createDatabaseIfNotExist", "true");
        }
        Connection made = DriverManager.getConnection("jdbc:firebird://" + HOST + ":" + PORT + "/" + database, properties);
        made.setAutoCommit(false);
        return made;
    }

    static PreparedStatement prepare(Connection where, String sql, Object... parameters) throws SQLException {
        PreparedStatement statement = where.prepareStatement(sql);
        for (int i = 0; i < parameters.length; i++) {
            statement.setObject(i + 1, parameters[i]);
        }
        return statement;
    }

    static int execute(String sql, Object... parameters) throws SQLException {
        return execute(connection, sql, parameters);
    }

    static int execute(Connection where, String sql, Object... parameters) throws SQLException {
        try (PreparedStatement statement = prepare(where, sql, parameters)) {
            statement.execute();
            return statement.getUpdateCount();
        }
    }

    static List<List<Object>> query(String sql, Object... parameters) throws SQLException {
        return query(connection, sql, parameters);
    }

    static List<List<Object>> query(Connection where, String sql, Object... parameters) throws SQLException {
        try (PreparedStatement statement = prepare(where, sql, parameters); ResultSet rows = statement.executeQuery()) {
            List<List<Object>> all = new ArrayList<>();
            while (rows.next()) {
                List<Object> row = new ArrayList<>();
                for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
                    row.add(rows.getObject(i));
                }
                all.add(row);
            }
            return all;
        }
    }

    static Object scalar(String sql, Object... parameters) throws SQLException {
        return query(sql, parameters).get(0).get(0);
    }

    static Object scalar(Connection where, String sql) throws SQLException {
        return query(where, sql).get(0).get(0);
    }

    /** The statements of an SQL file, without comments. */
    static List<String> statements(Path file) throws Exception {
        String text = String.join("\n", Files.readAllLines(file).stream().filter(line -> !line.startsWith("--")).toList());
        return Arrays.stream((text + "\n").split(";\n")).map(String::strip).filter(s -> !s.isEmpty()).toList();
    }

    // The day --------------------------------------------------------------------------------------------------------

    public static void main(String[] arguments) throws Exception {
        System.setOut(new java.io.PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true, StandardCharsets.UTF_8));
        if (arguments[0].equals("day")) {
            connecting();
            ddl();
            types();
            parameters();
            rows();
            blobs();
            errors();
            transactions();
        } else {
            afterRestart();
        }
        // Not a clean end: open attachments are to be cut, as a crashed program would cut them.
        Runtime.getRuntime().halt(0);
    }

    static void connecting() {
        check("connect: wrong password", () -> expectError(() -> connect(DATABASE, "not the password", false), ISCConstants.isc_login, "28000"));
        check("connect: create database", () -> {
            connection = connect(DATABASE, PASSWORD, true);
            expect(scalar("SELECT 1 FROM RDB$DATABASE"), 1);
            connection.close();
        });
        check("connect: missing database", () -> expectError(() -> connect(DATABASE + ".none", PASSWORD, false), ISCConstants.isc_io_error, "08001"));
        check("connect: right password", () -> {
            connection = connect();
            expect(((String) scalar("SELECT CURRENT_USER FROM RDB$DATABASE")).strip(), USER.toUpperCase());
        });
    }

    static void ddl() {
        check("ddl: schema", () -> {
            try (Statement statement = connection.createStatement()) {
                for (String sql : statements(SCHEMA)) {
                    statement.execute(sql);
                }
            }
            connection.commit();
            List<List<Object>> names = query("SELECT TRIM(RDB$RELATION_NAME) FROM RDB$RELATIONS WHERE RDB$SYSTEM_FLAG = 0 ORDER BY RDB$RELATION_NAME");
            expect(names.toString(), "[[ACCOUNT], [BLOBS], [CUSTOMER], [INVOICE], [INVOICE_OF_CUSTOMER], [MANY]]");
        });
        check("ddl: rolled back", () -> {
            execute("CREATE TABLE NEVER (ID INTEGER)");
            connection.rollback();
            expectError(() -> query("SELECT * FROM NEVER"), ISCConstants.isc_dsql_relation_err, "42S02");
            connection.rollback();
        });
    }

    static void types() {
        int number = 0;
        for (Map.Entry<String, List<?>> type : TYPES.entrySet()) {
            String table = "T_" + number++;
            check("type: " + type.getKey(), () -> oneType(table, type.getKey(), type.getValue()));
        }
    }

    /** Writes NULL and the values into a column of the type and reads them back. */
    static void oneType(String table, String declaration, List<?> values) throws Exception {
        if (SINCE_FIREBIRD_4.contains(declaration) && SERVER_VERSION < 4) {
            throw new Skip("needs Firebird 4");
        }
        execute("CREATE TABLE " + table + " (ID INTEGER NOT NULL PRIMARY KEY, V " + declaration + ")");
        connection.commit();
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + table + " (ID, V) VALUES (?, ?)")) {
            insert.setInt(1, 0);
            insert.setObject(2, null);
            insert.execute();
            for (int i = 0; i < values.size(); i++) {
                insert.setInt(1, i + 1);
                insert.setObject(2, values.get(i));
                insert.execute();
            }
        }
        connection.commit();
        sameValues(table, declaration, values);
        expect(scalar("SELECT COUNT(*) FROM " + table + " WHERE V IS NULL"), 1L);
        connection.commit();
    }

    static void sameValues(String table, String declaration, List<?> values) throws SQLException {
        try (Statement select = connection.createStatement();
                ResultSet rows = select.executeQuery("SELECT ID, V FROM " + table + " ORDER BY ID")) {
            expect(rows.next(), true);
            expect(rows.getObject(2), null);
            for (Object wanted : values) {
                expect(rows.next(), true);
                Object found = rows.getObject(2, wanted.getClass());
                boolean padded = declaration.startsWith("CHAR(") && found instanceof String;
                expect(padded ? ((String) found).stripTrailing() : found, wanted);
            }
            expect(rows.next(), false);
        }
    }

    static void parameters() {
        check("parameters: all kinds at once", () -> {
            LocalDateTime moment = LocalDateTime.of(2024, 2, 29, 13, 14, 15, 161_700_000);
            String sql = "SELECT CAST(? AS INTEGER), CAST(? AS VARCHAR(20) CHARACTER SET UTF8), CAST(? AS NUMERIC(18,4)),"
                    + " CAST(? AS TIMESTAMP), CAST(? AS DATE), CAST(? AS BOOLEAN), CAST(? AS INTEGER) FROM RDB$DATABASE";
            try (PreparedStatement statement = prepare(connection, sql, 7, "Grüße €", new BigDecimal("12.3456"), moment, moment.toLocalDate(), true, null);
                    ResultSet row = statement.executeQuery()) {
                expect(row.next(), true);
                expect(row.getInt(1), 7);
                expect(row.getString(2), "Grüße €");
                expect(row.getBigDecimal(3), new BigDecimal("12.3456"));
                expect(row.getObject(4, LocalDateTime.class), moment);
                expect(row.getObject(5, LocalDate.class), moment.toLocalDate());
                expect(row.getBoolean(6), true);
                expect(row.getObject(7), null);
            }
        });
        check("parameters: where", () -> {
            execute("INSERT INTO CUSTOMER (NAME, EMAIL) VALUES (?, ?)", "Ada", "ada@example.com");
            execute("INSERT INTO CUSTOMER (NAME, EMAIL, CREDIT) VALUES (?, ?, ?)", "Bob", null, new BigDecimal("12.5"));
            connection.commit();
            expect(query("SELECT ID, NAME, CREDIT FROM CUSTOMER WHERE NAME = ? AND CREDIT > ?", "Bob", new BigDecimal("12.4")).toString(),
                    "[[2, Bob, 12.5000]]");
            expect(query("SELECT NAME FROM CUSTOMER WHERE EMAIL STARTING WITH ?", "ada@").toString(), "[[Ada]]");
        });
        check("parameters: returning", () -> {
            String sql = "INSERT INTO INVOICE (ID, CUSTOMER_ID, QUANTITY, PRICE) VALUES (NEXT VALUE FOR SEQ_INVOICE, ?, ?, ?) RETURNING ID, TOTAL";
            expect(query(sql, 1, 3, new BigDecimal("1.25")).toString(), "[[1, 3.75]]");
            connection.commit();
            expect(query("SELECT CUSTOMER, INVOICE, TOTAL FROM INVOICE_OF_CUSTOMER").toString(), "[[Ada, 1, 3.75]]");
        });
        check("parameters: executed again", () -> {
            try (PreparedStatement statement = connection.prepareStatement("SELECT CAST(? AS INTEGER) + 1 FROM RDB$DATABASE")) {
                for (int i = 0; i < 50; i++) {
                    statement.setInt(1, i);
                    try (ResultSet row = statement.executeQuery()) {
                        row.next();
                        expect(row.getInt(1), i + 1);
                    }
                }
            }
            connection.commit();
        });
    }

    static String label(int i) {
        return "row " + i + " ä€";
    }

    static void rows() {
        LocalDateTime start = LocalDateTime.of(2024, 1, 1, 0, 0);
        check("rows: 10000 inserted", () -> {
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO MANY (ID, LABEL, AMOUNT, MOMENT) VALUES (?, ?, ?, ?)")) {
                for (int i = 0; i < ROWS; i++) {
                    insert.setInt(1, i);
                    insert.setString(2, label(i));
                    insert.setBigDecimal(3, BigDecimal.valueOf(i, 4));
                    insert.setObject(4, start.plusSeconds(i));
                    insert.addBatch();
                }
                expect(Arrays.stream(insert.executeBatch()).sum(), ROWS);
            }
            connection.commit();
            expect(scalar("SELECT COUNT(*) FROM MANY"), (long) ROWS);
        });
        check("rows: 10000 fetched", () -> {
            try (Statement select = connection.createStatement();
                    ResultSet rows = select.executeQuery("SELECT ID, LABEL, AMOUNT, MOMENT FROM MANY ORDER BY ID")) {
                for (int i = 0; i < ROWS; i++) {
                    expect(rows.next(), true);
                    expect(rows.getInt(1), i);
                    expect(rows.getString(2), label(i));
                    expect(rows.getBigDecimal(3), BigDecimal.valueOf(i, 4));
                    expect(rows.getObject(4, LocalDateTime.class), start.plusSeconds(i));
                }
                expect(rows.next(), false);
            }
            expect(query("SELECT SUM(ID), MIN(LABEL), MAX(AMOUNT) FROM MANY").toString(), "[[49995000, row 0 ä€, 0.9999]]");
        });
        check("rows: two cursors at once", () -> {
            try (Statement one = connection.createStatement(); Statement other = connection.createStatement();
                    ResultSet up = one.executeQuery("SELECT ID FROM MANY ORDER BY ID");
                    ResultSet down = other.executeQuery("SELECT ID FROM MANY ORDER BY ID DESC")) {
                for (int i = 0; i < ROWS; i++) {
                    expect(up.next() && down.next(), true);
                    expect(up.getInt(1), i);
                    expect(down.getInt(1), ROWS - 1 - i);
                }
                expect(up.next() || down.next(), false);
            }
            connection.commit();
        });
        check("rows: affected", () -> {
            expect(execute("UPDATE MANY SET AMOUNT = AMOUNT + 1 WHERE ID < ?", 1000), 1000);
            expect(execute("DELETE FROM MANY WHERE ID >= ?", ROWS - 10), 10);
            expect(scalar("SELECT COUNT(*) FROM MANY WHERE AMOUNT >= 1"), 1000L);
            connection.rollback();
            expect(scalar("SELECT COUNT(*) FROM MANY WHERE AMOUNT < 1"), (long) ROWS);
        });
    }

    /** Bytes that do not repeat with any power of two, and in which every value occurs. */
    static byte[] content(int size) {
        byte[] bytes = new byte[size];
        for (int i = 0; i < size; i++) {
            int j = i % (251 * 256);
            bytes[i] = (byte) (j * 7 + j / 251);
        }
        return bytes;
    }

    static void blobs() {
        int number = 0;
        for (Map.Entry<String, Integer> blob : BLOB_SIZES.entrySet()) {
            int row = number++;
            check("blob: " + blob.getKey(), () -> {
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO BLOBS (ID, BYTES) VALUES (?, ?)")) {
                    insert.setInt(1, row);
                    insert.setBinaryStream(2, new ByteArrayInputStream(content(blob.getValue())));
                    insert.execute();
                }
                connection.commit();
                sameBlob(row, blob.getValue());
            });
        }
        check("blob: text", () -> {
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO BLOBS (ID, TEXT) VALUES (10, ?)")) {
                insert.setCharacterStream(1, new StringReader(LONG_TEXT));
                insert.execute();
            }
            connection.commit();
            sameText();
            int characters = LONG_TEXT.codePointCount(0, LONG_TEXT.length());
            expect(((Number) scalar("SELECT CHAR_LENGTH(TEXT) FROM BLOBS WHERE ID = 10")).intValue(), characters);
            connection.commit();
        });
    }

    static void sameBlob(int row, int size) throws Exception {
        try (PreparedStatement select = prepare(connection, "SELECT BYTES, OCTET_LENGTH(BYTES) FROM BLOBS WHERE ID = ?", row);
                ResultSet found = select.executeQuery()) {
            expect(found.next(), true);
            byte[] bytes = found.getBinaryStream(1).readAllBytes();
            expect(bytes.length, size);
            expect(Arrays.equals(bytes, content(size)), true);
            expect(found.getInt(2), size);
        }
        connection.commit();
    }

    static void sameText() throws SQLException {
        try (Statement select = connection.createStatement(); ResultSet found = select.executeQuery("SELECT TEXT FROM BLOBS WHERE ID = 10")) {
            expect(found.next(), true);
            expect(found.getString(1).equals(LONG_TEXT), true);
        }
    }

    static void errors() {
        ERRORS.forEach((name, failure) -> check("error: " + name, () -> {
            expectError(() -> execute(failure), failure.code(), failure.sqlState());
            connection.rollback();
            expect(scalar("SELECT 1 FROM RDB$DATABASE"), 1);
        }));
    }

    static void execute(Failure failure) throws SQLException {
        try (PreparedStatement statement = prepare(connection, failure.sql(), failure.parameters().toArray())) {
            if (statement.execute()) {
                statement.getResultSet().next();
            }
        }
    }

    static final String BALANCE = "SELECT BALANCE FROM ACCOUNT WHERE ID = 1";
    static final String ADD = "UPDATE ACCOUNT SET BALANCE = BALANCE + ? WHERE ID = 1";

    static Connection isolated(int level) throws SQLException {
        Connection made = connect();
        made.setTransactionIsolation(level);
        return made;
    }

    static void transactions() {
        check("transaction: rollback", () -> {
            execute("INSERT INTO ACCOUNT (ID, BALANCE) VALUES (1, 100)");
            connection.commit();
            execute(ADD, 1);
            expect(scalar(BALANCE), 101);
            connection.rollback();
            expect(scalar(BALANCE), 100);
            connection.commit();
        });
        check("transaction: isolation", () -> {
            try (Connection snapshot = isolated(Connection.TRANSACTION_REPEATABLE_READ); Connection reader = isolated(Connection.TRANSACTION_READ_COMMITTED)) {
                expect(scalar(snapshot, BALANCE), 100);
                execute(ADD, 10);
                expect(scalar(reader, BALANCE), 100);
                connection.commit();
                expect(scalar(reader, BALANCE), 110);
                expect(scalar(snapshot, BALANCE), 100);
            }
        });
        check("transaction: no wait conflict", () -> {
            try (Connection impatient = connect()) {
                FirebirdConnection own = impatient.unwrap(FirebirdConnection.class);
                TransactionParameterBuffer noWait = own.createTransactionParameterBuffer();
                for (int item : new int[] {TpbItems.isc_tpb_read_committed, TpbItems.isc_tpb_rec_version, TpbItems.isc_tpb_write, TpbItems.isc_tpb_nowait}) {
                    noWait.addArgument(item);
                }
                own.setTransactionParameters(noWait);
                execute(ADD, 1);
                expectError(() -> execute(impatient, ADD, 2), ISCConstants.isc_deadlock, "40001");
            }
            connection.rollback();
        });
        check("transaction: snapshot conflict", () -> {
            try (Connection late = isolated(Connection.TRANSACTION_REPEATABLE_READ)) {
                expect(scalar(late, BALANCE), 110);
                execute(ADD, 5);
                connection.commit();
                expectError(() -> execute(late, ADD, 7), ISCConstants.isc_deadlock, "40001");
            }
            expect(scalar(BALANCE), 115);
            connection.commit();
        });
        check("transaction: savepoint", () -> {
            execute(ADD, 1);
            var half = connection.setSavepoint("HALF");
            execute(ADD, 1000);
            connection.rollback(half);
            expect(scalar(BALANCE), 116);
            connection.commit();
            expect(scalar(BALANCE), 116);
            connection.commit();
        });
        check("transaction: failed statement undone alone", () -> {
            execute("INSERT INTO ACCOUNT (ID, BALANCE) VALUES (2, 0)");
            String both = "INSERT INTO ACCOUNT (ID, BALANCE) SELECT 4 - ID, 0 FROM ACCOUNT ORDER BY ID";
            expectError(() -> execute(both), ISCConstants.isc_unique_key_violation, "23000");
            expect(query("SELECT ID FROM ACCOUNT ORDER BY ID").toString(), "[[1], [2]]");
            connection.commit();
            expect(scalar("SELECT COUNT(*) FROM ACCOUNT"), 2L);
            connection.commit();
        });
        check("transaction: two in one attachment", () -> {
            // JDBC has one transaction per connection; the attachment below it has any number.
            FbDatabase attachment = connection.unwrap(FirebirdConnection.class).getFbDatabase();
            TransactionParameterBuffer parameters = connection.unwrap(FirebirdConnection.class).createTransactionParameterBuffer();
            parameters.addArgument(TpbItems.isc_tpb_read_committed);
            parameters.addArgument(TpbItems.isc_tpb_rec_version);
            FbTransaction first = attachment.startTransaction(parameters);
            FbTransaction second = attachment.startTransaction(parameters);
            executeIn(attachment, first, "INSERT INTO ACCOUNT (ID, BALANCE) VALUES (5, 5)");
            executeIn(attachment, second, "INSERT INTO ACCOUNT (ID, BALANCE) SELECT 6, COUNT(*) FROM ACCOUNT WHERE ID = 5");
            first.rollback();
            second.commit();
            expect(query("SELECT ID, BALANCE FROM ACCOUNT ORDER BY ID").toString(), "[[1, 116], [2, 0], [6, 0]]");
            connection.commit();
        });
        check("service: server version", () -> {
            String version = service().getServerVersion().getExtendedServerName() + " " + service().getServerVersion().getFullVersion();
            expect(service().getServerVersion().getMajorVersion() >= 3, true);
            expect(version.isBlank(), false);
        });
        check("users: created, logged in, dropped", Day::users);
        check("transaction: left open", () -> {
            execute("INSERT INTO ACCOUNT (ID, BALANCE) VALUES (99, 99)");
            expect(scalar("SELECT BALANCE FROM ACCOUNT WHERE ID = 99"), 99);
            // The process ends with this transaction open.
        });
    }

    static FBUserManager service() throws SQLException {
        FBUserManager service = new FBUserManager();
        service.setServerName(HOST);
        service.setPortNumber(Integer.parseInt(PORT));
        service.setUser(USER);
        service.setPassword(PASSWORD);
        return service;
    }

    static void users() throws Exception {
        FBUser user = new FBUser();
        user.setUserName(System.getenv().getOrDefault("FIREBIRD_GUEST", "EVE_" + ProcessHandle.current().pid()));
        user.setPassword("first secret");
        service().add(user);
        expect(service().getUsers().containsKey(user.getUserName()), true);
        try (Connection guest = connect(DATABASE, user.getPassword(), false, user.getUserName().toLowerCase())) {
            expect(((String) scalar(guest, "SELECT CURRENT_USER FROM RDB$DATABASE")).strip(), user.getUserName());
        }
        service().delete(user);
        expect(service().getUsers().containsKey(user.getUserName()), false);
        expectError(() -> connect(DATABASE, user.getPassword(), false, user.getUserName()), ISCConstants.isc_login, "28000");
    }

    static void executeIn(FbDatabase attachment, FbTransaction transaction, String sql) throws SQLException {
        try (FbStatement statement = attachment.createStatement(transaction)) {
            statement.prepare(sql);
            statement.execute(RowValue.EMPTY_ROW_VALUE);
        }
    }

    static void afterRestart() {
        check("restart: reconnect", () -> {
            connection = connect();
            expect(scalar("SELECT 1 FROM RDB$DATABASE"), 1);
        });
        check("restart: rows", () -> {
            expect(query("SELECT COUNT(*), SUM(ID), MAX(LABEL) FROM MANY").toString(), "[[10000, 49995000, row 9999 ä€]]");
            expect(query("SELECT NAME, EMAIL, CREDIT FROM CUSTOMER ORDER BY ID").toString(),
                    "[[Ada, ada@example.com, 0.0000], [Bob, null, 12.5000]]");
            expect(query("SELECT ID, BALANCE FROM ACCOUNT WHERE ID < 99 ORDER BY ID").toString(), "[[1, 116], [2, 0], [6, 0]]");
        });
        check("restart: types", () -> {
            int number = 0;
            for (Map.Entry<String, List<?>> type : TYPES.entrySet()) {
                String table = "T_" + number++;
                if (SERVER_VERSION >= 4 || !SINCE_FIREBIRD_4.contains(type.getKey())) {
                    sameValues(table, type.getKey(), type.getValue());
                }
            }
        });
        check("restart: blobs", () -> {
            int row = 0;
            for (int size : BLOB_SIZES.values()) {
                sameBlob(row++, size);
            }
            sameText();
        });
        check("restart: constraints", () -> {
            for (String name : List.of("unique", "foreign key", "not null", "check")) {
                Failure failure = ERRORS.get(name);
                expectError(() -> execute(failure), failure.code(), failure.sqlState());
            }
            connection.rollback();
        });
        check("restart: sequence", () -> {
            expect(scalar("SELECT NEXT VALUE FOR SEQ_INVOICE FROM RDB$DATABASE"), 2L);
            int identity = (int) scalar("INSERT INTO CUSTOMER (NAME) VALUES ('Eve') RETURNING ID");
            expect(identity > 2, true);
            connection.commit();
        });
        check("restart: left open is gone", () -> {
            expect(scalar("SELECT COUNT(*) FROM ACCOUNT WHERE ID = 99"), 0L);
            connection.close();
        });
    }
}
