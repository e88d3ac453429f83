// Every method of java.sql.DatabaseMetaData, and of what Jaybird adds to it, called by reflection over the schema of
// schema.sql; every value, and of every result every column's name and type and every row, compared with what a
// Firebird 5 gave (answers.txt, which APPLICATIONS_RECORD=yes writes anew).
//
// A method that takes arguments and is not in ARGUMENTS fails: a new version of Jaybird is not tested by silence.

import checks.Checks;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.firebirdsql.jdbc.FirebirdDatabaseMetaData;

public class Metadata {
    /** What says where the server is or which object answers: nothing to compare. */
    static final Set<String> LEFT_OUT = Set.of("getConnection", "getURL", "unwrap", "isWrapperFor", "close");

    /** Farbird's own system tables, which a Firebird does not have: their rows are left out. */
    static final String OWN_TABLES = "FARBIRD$";

    static final Path ANSWERS = Path.of(System.getenv("FIREBIRD_STACK"), "answers.txt");

    static final List<String> TABLES = List.of("CUSTOMER", "INVOICE", "LINE", "TYPES", "Mixed name", "GTT_ROWS", "PLAIN_VIEW", "NO_SUCH");

    /** Arguments by method: each list of lists is a call. */
    static final Map<String, List<Object[]>> ARGUMENTS = arguments();

    static Map<String, List<Object[]>> arguments() {
        Map<String, List<Object[]>> all = new TreeMap<>();
        all.put("getTables", calls(
                call(null, null, "%", null), call(null, null, null, null), call("", "", "%", null), call(null, null, "CUST%", null),
                call(null, null, "cust%", null), call(null, null, "CUSTOMER\\_NAMES", null), call(null, null, "Mixed%", null),
                call(null, null, "%", new String[] {"TABLE"}), call(null, null, "%", new String[] {"VIEW"}),
                call(null, null, "%", new String[] {"SYSTEM TABLE"}), call(null, null, "%", new String[] {"GLOBAL TEMPORARY"}),
                call(null, null, "%", new String[] {"VIEW", "TABLE"}), call(null, null, "%", new String[] {"ALIAS"})));
        all.put("getColumns", calls(
                call(null, null, "%", "%"), call(null, null, "TYPES", "%"), call(null, null, "CUSTOMER", null),
                call(null, null, "%", "ID"), call(null, null, "Mixed name", "%"), call(null, null, "MON$DATABASE", "%"),
                call(null, null, "TYPES", "A\\_%"),
                call(null, null, "no", "%")));
        all.put("getProcedures", calls(
                call(null, null, "%"), call(null, null, null), call("", null, "%"), call("SHOP", null, "%"), call(null, null, "TOT%"), call(null, null, "CLEAN")));
        all.put("getProcedureColumns", calls(
                call(null, null, "%", "%"), call(null, null, "TOTALS", "S%"), call("SHOP", null, "CLEAN", "%"), call(null, null, null, null)));
        all.put("getFunctions", calls(
                call(null, null, "%"), call(null, null, null), call("", null, "%"), call("SHOP", null, "%"), call(null, null, "TAX")));
        all.put("getFunctionColumns", calls(
                call(null, null, "%", "%"), call(null, null, "TAX", "RATE"), call("SHOP", null, "DISCOUNT", "%"), call(null, null, "GREETING", null)));
        all.put("getPrimaryKeys", perTable(table -> call(null, null, table)));
        all.put("getImportedKeys", perTable(table -> call(null, null, table)));
        all.put("getExportedKeys", perTable(table -> call(null, null, table)));
        all.put("getVersionColumns", perTable(table -> call(null, null, table)));
        List<Object[]> rows = new ArrayList<>();
        List<Object[]> indexes = new ArrayList<>();
        List<Object[]> privileges = new ArrayList<>();
        List<Object[]> pseudo = new ArrayList<>();
        for (String table : TABLES) {
            for (int scope : List.of(DatabaseMetaData.bestRowTemporary, DatabaseMetaData.bestRowTransaction, DatabaseMetaData.bestRowSession)) {
                rows.add(call(null, null, table, scope, true));
            }
            rows.add(call(null, null, table, DatabaseMetaData.bestRowSession, false));
            indexes.add(call(null, null, table, false, true));
            indexes.add(call(null, null, table, true, false));
            privileges.add(call(null, null, table, "%"));
            pseudo.add(call(null, null, table, "%"));
        }
        privileges.add(call(null, null, "CUSTOMER", "E%"));
        privileges.add(call(null, null, "RDB$DATABASE", "%"));
        pseudo.add(call(null, null, "%", "%"));
        indexes.add(call(null, null, "RDB$RELATIONS", false, true));
        indexes.add(call(null, null, "RDB$INDEX_SEGMENTS", false, true));
        all.put("getBestRowIdentifier", rows);
        all.put("getIndexInfo", indexes);
        all.put("getColumnPrivileges", privileges);
        all.put("getPseudoColumns", pseudo);
        all.put("getTablePrivileges", calls(call(null, null, "%"), call(null, null, "CUST%"), call(null, null, "RDB$ROLES")));
        all.put("getCrossReference", calls(
                call(null, null, "CUSTOMER", null, null, "INVOICE"), call(null, null, "INVOICE", null, null, "LINE"),
                call(null, null, "LINE", null, null, "INVOICE")));
        all.put("getUDTs", calls(call(null, null, "%", null)));
        all.put("getSuperTypes", calls(call(null, null, "%")));
        all.put("getSuperTables", calls(call(null, null, "%")));
        all.put("getAttributes", calls(call(null, null, "%", "%")));
        all.put("getSchemas", calls(call(), call(null, "%")));
        all.put("getProcedureSourceCode", calls(call("TOTALS"), call("FORGET"), call("NO_SUCH")));
        all.put("getTriggerSourceCode", calls(call("CUSTOMER_BI"), call("NO_SUCH")));
        all.put("getViewSourceCode", calls(call("CUSTOMER_NAMES"), call("PLAIN_VIEW"), call("NO_SUCH")));
        List<Object[]> resultSets = new ArrayList<>();
        List<Object[]> concurrencies = new ArrayList<>();
        for (int type : List.of(ResultSet.TYPE_FORWARD_ONLY, ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.TYPE_SCROLL_SENSITIVE)) {
            resultSets.add(call(type));
            concurrencies.add(call(type, ResultSet.CONCUR_READ_ONLY));
            concurrencies.add(call(type, ResultSet.CONCUR_UPDATABLE));
        }
        for (String method : List.of("supportsResultSetType", "ownUpdatesAreVisible", "ownDeletesAreVisible", "ownInsertsAreVisible",
                "othersUpdatesAreVisible", "othersDeletesAreVisible", "othersInsertsAreVisible", "updatesAreDetected",
                "deletesAreDetected", "insertsAreDetected")) {
            all.put(method, resultSets);
        }
        all.put("supportsResultSetConcurrency", concurrencies);
        all.put("supportsResultSetHoldability", calls(call(ResultSet.HOLD_CURSORS_OVER_COMMIT), call(ResultSet.CLOSE_CURSORS_AT_COMMIT)));
        all.put("supportsTransactionIsolationLevel", calls(call(Connection.TRANSACTION_NONE), call(Connection.TRANSACTION_READ_UNCOMMITTED),
                call(Connection.TRANSACTION_READ_COMMITTED), call(Connection.TRANSACTION_REPEATABLE_READ), call(Connection.TRANSACTION_SERIALIZABLE)));
        all.put("supportsConvert", calls(call(), call(Types.INTEGER, Types.VARCHAR), call(Types.VARCHAR, Types.DATE)));
        return all;
    }

    static Object[] call(Object... arguments) {
        return arguments;
    }

    static List<Object[]> calls(Object[]... calls) {
        return Arrays.asList(calls);
    }

    static List<Object[]> perTable(java.util.function.Function<String, Object[]> of) {
        return TABLES.stream().map(of).toList();
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> given = new LinkedHashMap<>();
        try (Connection connection = Checks.connect()) {
            Checks.script(connection, Files.readString(Path.of(System.getenv("FIREBIRD_STACK"), "schema.sql")));
            DatabaseMetaData metadata = connection.getMetaData();
            for (Method method : methods()) {
                answers(metadata, method, given);
            }
        }
        if (System.getenv("APPLICATIONS_RECORD") != null) {
            write(given);
        }
        compare(read(), given);
    }

    static List<Method> methods() {
        Map<String, Method> found = new TreeMap<>();
        for (Class<?> face : List.of(DatabaseMetaData.class, FirebirdDatabaseMetaData.class)) {
            for (Method method : face.getMethods()) {
                if (!LEFT_OUT.contains(method.getName())) {
                    found.putIfAbsent(method.getName() + Arrays.toString(method.getParameterTypes()), method);
                }
            }
        }
        return found.values().stream().sorted(Comparator.comparing(Method::getName).thenComparing(Method::getParameterCount)).toList();
    }

    /** The answers of one method to all that it is asked. */
    static void answers(DatabaseMetaData metadata, Method method, Map<String, String> given) {
        List<Object[]> calls = ARGUMENTS.getOrDefault(method.getName(), calls(call())).stream()
                .filter(call -> call.length == method.getParameterCount()).toList();
        if (calls.isEmpty()) {
            given.put(method.getName() + "/" + method.getParameterCount(), "no arguments are listed for it");
        }
        for (Object[] call : calls) {
            given.put(method.getName() + shown(call), answer(metadata, method, call));
        }
    }

    static String shown(Object[] call) {
        List<String> parts = Arrays.stream(call).map(value -> value instanceof String text ? '"' + text + '"'
                : value instanceof Object[] many ? Arrays.toString(many) : String.valueOf(value)).toList();
        return "(" + String.join(", ", parts) + ")";
    }

    static String answer(DatabaseMetaData metadata, Method method, Object[] call) {
        try {
            Object value = method.invoke(metadata, call);
            if (value instanceof ResultSet set) {
                try (set) {
                    return rows(set);
                }
            }
            return line(method.getName().endsWith("Functions") && value instanceof String names ? sorted(names)
                    : value instanceof Object[] many ? Arrays.toString(many) : value);
        } catch (InvocationTargetException error) {
            return "error: " + line(error.getCause().toString());
        } catch (IllegalAccessException | SQLException error) {
            return "error: " + line(error.toString());
        }
    }

    /** Lists of functions' names come in the order of a set of Java's, which is another in each run. */
    static String sorted(String names) {
        return Arrays.stream(names.split(",")).sorted().collect(Collectors.joining(","));
    }

    /** Names and types of the columns, then the rows in their order. */
    static String rows(ResultSet set) throws SQLException {
        ResultSetMetaData columns = set.getMetaData();
        StringBuilder text = new StringBuilder();
        for (int at = 1; at <= columns.getColumnCount(); at++) {
            text.append(columns.getColumnLabel(at)).append(' ').append(columns.getColumnTypeName(at)).append(' ')
                    .append(columns.getPrecision(at)).append(' ').append(columns.getScale(at)).append(' ')
                    .append(columns.isNullable(at) == ResultSetMetaData.columnNoNulls ? "not null" : "null").append("; ");
        }
        while (set.next()) {
            StringBuilder row = new StringBuilder();
            for (int at = 1; at <= columns.getColumnCount(); at++) {
                row.append(at == 1 ? "" : " | ").append(line(set.getObject(at)));
            }
            if (row.indexOf(OWN_TABLES) < 0) {
                text.append('\n').append(row);
            }
        }
        return text.toString();
    }

    /** A value in one line, without what is another at each run: the machine's name in the server's version. */
    static String line(Object value) {
        return String.valueOf(value).replaceAll("/tcp \\([^)]*\\)", "/tcp").replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n");
    }

    static void write(Map<String, String> given) throws Exception {
        StringBuilder text = new StringBuilder();
        given.forEach((name, answer) -> text.append("== ").append(name).append('\n').append(answer).append('\n'));
        Files.writeString(ANSWERS, text.toString());
    }

    static Map<String, String> read() throws Exception {
        Map<String, String> answers = new LinkedHashMap<>();
        for (String part : Files.readString(ANSWERS).split("(?m)^== ")) {
            int end = part.indexOf('\n');
            if (end > 0) {
                answers.put(part.substring(0, end), part.substring(end + 1).stripTrailing());
            }
        }
        return answers;
    }

    static void compare(Map<String, String> wanted, Map<String, String> given) {
        wanted.keySet().stream().filter(name -> !given.containsKey(name)).forEach(name -> System.out.println("FAIL " + name + ": not asked"));
        given.forEach((name, answer) -> {
            String difference = wanted.containsKey(name) ? difference(wanted.get(name), answer.stripTrailing()) : "nothing recorded";
            System.out.println(difference == null ? "ok " + name : "FAIL " + name + ": " + difference);
        });
    }

    /** How the lines differ; null if they do not. */
    static String difference(String wanted, String given) {
        List<String> left = List.of(wanted.split("\n"));
        List<String> right = List.of(given.split("\n"));
        List<String> missing = new ArrayList<>(left);
        right.forEach(missing::remove);
        List<String> more = new ArrayList<>(right);
        left.forEach(more::remove);
        if (missing.isEmpty() && more.isEmpty()) {
            return left.equals(right) ? null : "the rows are in another order";
        }
        return missing.size() + " lines missing, " + more.size() + " too many; " + (missing.isEmpty() ? "" : "missing [" + missing.get(0) + "] ")
                + (more.isEmpty() ? "" : "too many [" + more.get(0) + "]");
    }
}
