// A program's schema brought up to date by Flyway, which works only with what calls itself Firebird, and what Jaybird's
// metadata says of the server: java -cp "jaybird.jar:flyway/*" Migrate.java day|after-restart
//
// Every line that begins with "ok" is the same on Firebird 5.0.4.

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;
import org.flywaydb.core.api.MigrationInfo;
import org.flywaydb.core.api.output.ValidateResult;

public class Migrate {
    static final String URL = "jdbc:firebird://" + System.getenv("FIREBIRD_HOST") + ":" + System.getenv("FIREBIRD_PORT")
            + "/" + System.getenv("FIREBIRD_DATABASE");
    static final String USER = System.getenv("FIREBIRD_USER");
    static final String PASSWORD = System.getenv("FIREBIRD_PASSWORD");
    static final int SERVER_VERSION = Integer.parseInt(System.getenv().getOrDefault("FIREBIRD_SERVER_VERSION", "5"));

    /** The scripts in their order: name of the file, and its text. */
    static final List<String[]> SCRIPTS = List.of(
            script("V1__domains", "create domain d_name as varchar(60) not null;\ncreate domain d_money as numeric(15, 2);"),
            script("V2__customer", "create table customer (id integer not null primary key, name d_name, email varchar(80) unique);"),
            script("V3__invoice", "create table invoice (id integer not null primary key,\n"
                    + "  customer_id integer not null references customer (id) on delete cascade,\n"
                    + "  total d_money default 0, check (total >= 0));"),
            script("V4__sequence", "create sequence seq_customer;\nalter sequence seq_customer restart with 100;"),
            script("V5__trigger", "set term ^ ;\ncreate trigger customer_bi for customer active before insert position 0 as\nbegin\n"
                    + "  if (new.id is null) then new.id = next value for seq_customer;\nend^\nset term ; ^"),
            script("V6__rows", "insert into customer (id, name, email) values (1, 'Ada', 'ada@example.com');\n"
                    + "insert into customer (name, email) values ('Grace; and \"others\"', 'grace@example.com');"),
            script("V7__view", "create view customer_names (id, name) as select id, upper(name) from customer;"),
            script("V8__procedure", "set term ^ ;\ncreate procedure totals returns (name varchar(60), total numeric(15, 2)) as\nbegin\n"
                    + "  for select c.name, sum(i.total) from customer c left join invoice i on i.customer_id = c.id\n"
                    + "    group by c.name order by c.name into :name, :total do suspend;\nend^\nset term ; ^"),
            script("V9__alter", "alter table customer add note blob sub_type text;\nalter table customer alter name type varchar(100);"),
            script("V10__index", "create index ix_invoice_total on invoice (total);\ncreate descending index ix_customer_name on customer (name);"),
            script("V11__comments", "comment on table customer is 'Who buys';\ncomment on column customer.email is 'Where to write to';"),
            script("V12__exception", "create exception e_poor 'No money';\ncreate role clerk;\ngrant select on customer to role clerk;"),
            script("R__function", "set term ^ ;\ncreate or alter function tax (amount numeric(15, 2)) returns numeric(15, 2) as\n"
                    + "begin\n  return amount * 0.19;\nend^\nset term ; ^"));

    static String[] script(String name, String text) {
        return new String[] {name + ".sql", text};
    }

    static boolean failed;

    static void check(String name, Object given, Object wanted) {
        boolean same = given.equals(wanted);
        failed |= !same;
        System.out.println(same ? "ok " + name : "FAIL " + name + ": " + given + " instead of " + wanted);
    }

    interface Work {
        void run() throws Exception;
    }

    static void attempt(String name, Work work) {
        try {
            work.run();
        } catch (Exception error) {
            failed = true;
            System.out.println("FAIL " + name + ": " + error.toString().replace('\n', ' '));
        }
    }

    static Connection connect() throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", USER);
        properties.setProperty("password", PASSWORD);
        properties.setProperty("charSet", "UTF-8");
        properties.setProperty("createDatabaseIfNotExist", "true");
        return DriverManager.getConnection(URL, properties);
    }

    /** What tools ask first, and what they decide by the answers. */
    static void metadata() throws SQLException {
        try (Connection connection = connect()) {
            DatabaseMetaData metadata = connection.getMetaData();
            check("metadata: product", metadata.getDatabaseProductName(), "Firebird 5.0");
            check("metadata: version", metadata.getDatabaseMajorVersion() + "." + metadata.getDatabaseMinorVersion(),
                    SERVER_VERSION + ".0");
            check("metadata: schemas", metadata.supportsSchemasInTableDefinitions(), false);
            List<String> columns = new ArrayList<>();
            try (ResultSet set = metadata.getColumns(null, null, "CUSTOMER", "%")) {
                while (set.next()) {
                    columns.add(set.getString("COLUMN_NAME") + " " + set.getString("TYPE_NAME") + " " + set.getString("IS_NULLABLE"));
                }
            }
            check("metadata: columns", columns, List.of("ID INTEGER NO", "NAME VARCHAR YES", "EMAIL VARCHAR YES", "NOTE BLOB SUB_TYPE TEXT YES"));
        }
    }

    static List<String> rows(String query) throws SQLException {
        List<String> rows = new ArrayList<>();
        try (Connection connection = connect(); Statement statement = connection.createStatement();
                ResultSet set = statement.executeQuery(query)) {
            while (set.next()) {
                rows.add(set.getString(1) + " " + set.getString(2));
            }
        }
        return rows;
    }

    static List<String> states(Flyway flyway) {
        return Arrays.stream(flyway.info().all())
                .map(info -> info.getVersion() + " " + info.getDescription() + " " + info.getState()).toList();
    }

    static List<String> expected(String state) {
        return SCRIPTS.stream().map(script -> {
            String[] parts = script[0].replace(".sql", "").split("__");
            String version = parts[0].startsWith("V") ? parts[0].substring(1) : "null";
            return version + " " + parts[1] + " " + state;
        }).toList();
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Files.createTempDirectory("migrations");
        for (String[] script : SCRIPTS) {
            Files.writeString(folder.resolve(script[0]), script[1] + "\n");
        }
        connect().close();
        Flyway flyway = Flyway.configure().dataSource(URL + "?charSet=UTF-8", USER, PASSWORD)
                .locations("filesystem:" + folder).load();
        if (arguments[0].equals("day")) {
            attempt("flyway: pending", () -> check("flyway: pending", states(flyway), expected("PENDING")));
            attempt("flyway: migrate", () -> check("flyway: migrate", flyway.migrate().migrationsExecuted, SCRIPTS.size()));
            attempt("flyway: a failed script", () -> {
                Path wrong = folder.resolve("V13__wrong.sql");
                Files.writeString(wrong, "create table half (id integer);\ninsert into half values ('x', 1);\n");
                String message = "nothing failed";
                try {
                    flyway.migrate();
                } catch (FlywayException error) {
                    message = error.getMessage().contains("V13__wrong.sql") ? "the script is named" : error.getMessage();
                }
                Files.delete(wrong);
                check("flyway: a failed script", message, "the script is named");
                flyway.repair();
            });
        }
        attempt("flyway: done", () -> check("flyway: done", states(flyway), expected("SUCCESS")));
        attempt("flyway: again", () -> check("flyway: again", flyway.migrate().migrationsExecuted, 0));
        attempt("flyway: validate", () -> {
            ValidateResult result = flyway.validateWithResult();
            check("flyway: validate", result.validationSuccessful ? "valid" : result.getAllErrorMessages(), "valid");
        });
        attempt("rows", () -> check("rows", rows("select id, name from customer_names order by id"),
                List.of("1 ADA", "100 GRACE; AND \"OTHERS\"")));
        attempt("metadata", Migrate::metadata);
        System.exit(failed ? 1 : 0);
    }
}
