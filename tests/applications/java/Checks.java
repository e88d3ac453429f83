// What the stacks in Java have in common: where the server is, and the lines in which they report.
// A check that fails says why in one line; the ones behind it run all the same.

package checks;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Objects;
import java.util.Properties;

public final class Checks {
    public static final String USER = System.getenv("FIREBIRD_USER");
    public static final String PASSWORD = System.getenv("FIREBIRD_PASSWORD");
    public static final String URL = "jdbc:firebird://" + System.getenv("FIREBIRD_HOST") + ":" + System.getenv("FIREBIRD_PORT")
            + "/" + System.getenv("FIREBIRD_DATABASE") + "?charSet=UTF-8";

    private Checks() {
    }

    /** What a check does; what it throws is why it failed. */
    public interface Work {
        void run() throws Exception;
    }

    public static void check(String name, Work work) {
        try {
            work.run();
            System.out.println("ok " + name);
        } catch (Throwable error) {
            System.out.println("FAIL " + name + ": " + innermost(error));
        }
    }

    /** Fails the check that it stands in if the two are not equal. */
    public static void same(Object given, Object wanted) {
        if (!Objects.equals(given, wanted)) {
            throw new AssertionError(given + " instead of " + wanted);
        }
    }

    /** Fails the check unless the work fails, with a text that holds the part given. */
    public static void fails(String part, Work work) throws Exception {
        try {
            work.run();
        } catch (Throwable error) {
            if (innermost(error).contains(part)) {
                return;
            }
            throw error;
        }
        throw new AssertionError("no error instead of one with " + part);
    }

    /** The error at the root, in one line; of the database's the one that has the whole text. */
    public static String innermost(Throwable error) {
        Throwable root = error;
        while (root.getCause() != null && root.getCause() != root && !(root instanceof SQLException)) {
            root = root.getCause();
        }
        return root.toString().replaceAll("\\s+", " ");
    }

    public static Connection connect() throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", USER);
        properties.setProperty("password", PASSWORD);
        return DriverManager.getConnection(URL, properties);
    }

    /** Executes the statements of a script; each ends with a line that is "^" alone. */
    public static void script(Connection connection, String text) throws SQLException {
        for (String sql : text.split("(?m)^\\^$")) {
            if (!sql.isBlank()) {
                try (Statement statement = connection.createStatement()) {
                    statement.execute(sql);
                } catch (SQLException error) {
                    throw new SQLException(sql.strip() + ": " + error.getMessage(), error);
                }
            }
        }
    }
}
