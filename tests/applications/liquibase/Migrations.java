// A program's schema brought up to date by Liquibase: changelog.yaml (the product-neutral changes and SQL of Firebird's own),
// looked at, tagged, taken back, and written down again from the database.

import checks.Checks;
import java.io.File;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import liquibase.CatalogAndSchema;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.Scope;
import liquibase.changelog.ChangeSetStatus;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.diff.DiffGeneratorFactory;
import liquibase.diff.compare.CompareControl;
import liquibase.diff.output.DiffOutputControl;
import liquibase.diff.output.changelog.DiffToChangeLog;
import liquibase.logging.core.NoOpLogService;
import liquibase.resource.ClassLoaderResourceAccessor;
import liquibase.snapshot.DatabaseSnapshot;
import liquibase.snapshot.SnapshotControl;
import liquibase.snapshot.SnapshotGeneratorFactory;
import liquibase.structure.core.Column;
import liquibase.structure.core.ForeignKey;
import liquibase.structure.core.Index;
import liquibase.structure.core.PrimaryKey;
import liquibase.structure.core.Sequence;
import liquibase.structure.core.Table;
import liquibase.structure.core.UniqueConstraint;
import liquibase.structure.core.View;

public class Migrations {
    static final Contexts CONTEXTS = new Contexts();
    static final LabelExpression LABELS = new LabelExpression();

    interface Use {
        void of(Liquibase liquibase) throws Exception;
    }

    /** A Liquibase of its own, as a run of a program has it. */
    static void with(String changelog, Use use) throws Exception {
        try (Connection connection = Checks.connect()) {
            Database database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(connection));
            use.of(new Liquibase(changelog, new ClassLoaderResourceAccessor(), database));
        }
    }

    static List<String> rows(String query) throws SQLException {
        List<String> rows = new ArrayList<>();
        try (Connection connection = Checks.connect(); Statement statement = connection.createStatement();
                ResultSet set = statement.executeQuery(query)) {
            int columns = set.getMetaData().getColumnCount();
            while (set.next()) {
                StringBuilder row = new StringBuilder();
                for (int at = 1; at <= columns; at++) {
                    row.append(at == 1 ? "" : " ").append(String.valueOf(set.getObject(at)).stripTrailing());
                }
                rows.add(row.toString());
            }
        }
        return rows;
    }

    public static void main(String[] arguments) throws Exception {
        Scope.child(Scope.Attr.logService, new NoOpLogService(), () -> day());
    }

    static void day() {
        Checks.check("the database is taken for Firebird", () -> with("changelog.yaml", liquibase -> {
            Checks.same(liquibase.getDatabase().getShortName(), "firebird");
            Checks.same(liquibase.getDatabase().getDatabaseMajorVersion(), 5);
        }));
        Checks.check("status before", () -> with("changelog.yaml",
                liquibase -> Checks.same(liquibase.listUnrunChangeSets(CONTEXTS, LABELS).size(), 18)));
        Checks.check("the SQL of the update is written down", () -> with("changelog.yaml", liquibase -> {
            StringWriter text = new StringWriter();
            liquibase.update(CONTEXTS, LABELS, text);
            Checks.same(text.toString().contains("CREATE TABLE"), true);
        }));
        Checks.check("update", () -> with("changelog.yaml", liquibase -> liquibase.update(CONTEXTS, LABELS)));
        Checks.check("status behind", () -> with("changelog.yaml",
                liquibase -> Checks.same(liquibase.listUnrunChangeSets(CONTEXTS, LABELS).size(), 0)));
        Checks.check("a second update finds nothing to do", () -> with("changelog.yaml", liquibase -> {
            liquibase.update(CONTEXTS, LABELS);
            Checks.same(rows("select count(*) from databasechangelog"), List.of("18"));
        }));
        Checks.check("checksums hold", () -> with("changelog.yaml", liquibase -> {
            liquibase.validate();
            for (ChangeSetStatus status : liquibase.getChangeSetStatuses(CONTEXTS, LABELS)) {
                Checks.same(status.getPreviouslyRan(), true);
            }
        }));
        Checks.check("rows that were loaded", () -> {
            Checks.same(rows("select id, name, email from customer order by id"), List.of("1 Ada ada@example.com", "2 Grace; and \"others\" grace@example.com"));
            Checks.same(rows("select code, name, rate from country order by code"), List.of("AT Austria 0.20", "DE Deutschland 0.19", "FR France 0.20"));
        });
        Checks.check("what is SQL of Firebird's own works", () -> {
            Checks.same(rows("select name, total from totals"), List.of("Ada 12.50"));
            Checks.same(rows("select tax(100) from rdb$database"), List.of("19.00"));
            Checks.same(rows("select upper_name from customer_names order by 1"), List.of("ADA", "GRACE; AND \"OTHERS\""));
        });
        Checks.check("constraints hold", () -> {
            Checks.fails("FK_INVOICE_CUSTOMER", () -> change("insert into invoice (id, customer_id, total) values (9, 77, 1)"));
            Checks.fails("UQ_CUSTOMER_EMAIL", () -> change("insert into customer (id, name, email) values (9, 'x', 'ada@example.com')"));
            Checks.fails("validation", () -> change("insert into customer (id, name) values (9, null)"));
        });
        Checks.check("a snapshot has what there is", Migrations::snapshot);
        Checks.check("a changelog is written from the database", Migrations::generated);
        Checks.check("the database differs in nothing from itself", () -> with("changelog.yaml", liquibase -> {
            Database one = liquibase.getDatabase();
            var difference = DiffGeneratorFactory.getInstance().compare(one, one, CompareControl.STANDARD);
            Checks.same(difference.areEqual(), true);
        }));
        Checks.check("tag and more changes", () -> {
            with("changelog.yaml", liquibase -> liquibase.tag("day-1"));
            Checks.same(rows("select tag from databasechangelog where tag = 'day-1'").size(), 1);
            with("later.yaml", liquibase -> liquibase.update(CONTEXTS, LABELS));
            Checks.same(rows("select count(*) from databasechangelog"), List.of("23"));
            Checks.same(rows("select phone from customer where id = 1"), List.of("unknown"));
        });
        Checks.check("rollback to the tag", () -> {
            with("later.yaml", liquibase -> liquibase.rollback("day-1", CONTEXTS, LABELS));
            Checks.same(rows("select count(*) from databasechangelog"), List.of("18"));
            Checks.fails("PHONE", () -> rows("select phone from customer"));
        });
        Checks.check("rollback of one change", () -> {
            with("changelog.yaml", liquibase -> liquibase.rollback(1, CONTEXTS, LABELS));
            Checks.same(rows("select count(*) from databasechangelog"), List.of("17"));
            with("changelog.yaml", liquibase -> liquibase.update(CONTEXTS, LABELS));
        });
        Checks.check("a change that fails is told and not remembered", () -> {
            Checks.fails("NO_SUCH_TABLE", () -> with("wrong.yaml", liquibase -> liquibase.update(CONTEXTS, LABELS)));
            Checks.same(rows("select count(*) from databasechangelog where id = 'wrong'"), List.of("0"));
        });
        Checks.check("locks are listed and forced open", () -> with("changelog.yaml", liquibase -> {
            liquibase.listLocks();
            liquibase.forceReleaseLocks();
            Checks.same(rows("select id, locked from databasechangeloglock"), List.of("1 false"));
        }));
        Checks.check("everything is dropped", () -> {
            with("changelog.yaml", liquibase -> liquibase.dropAll());
            Checks.same(rows("select rdb$relation_name from rdb$relations where rdb$system_flag = 0 and rdb$relation_name not starting 'DATABASECHANGELOG'"),
                    List.of());
        });
    }

    static void change(String sql) throws SQLException {
        try (Connection connection = Checks.connect(); Statement statement = connection.createStatement()) {
            statement.executeUpdate(sql);
        }
    }

    static void snapshot() throws Exception {
        with("changelog.yaml", liquibase -> {
            Database database = liquibase.getDatabase();
            DatabaseSnapshot snapshot = SnapshotGeneratorFactory.getInstance().createSnapshot(CatalogAndSchema.DEFAULT, database,
                    new SnapshotControl(database));
            Set<String> tables = new TreeSet<>();
            for (Table table : snapshot.get(Table.class)) {
                if (!table.getName().startsWith("DATABASECHANGELOG")) {
                    tables.add(table.getName());
                }
            }
            Checks.same(tables, new TreeSet<>(List.of("COUNTRY", "CUSTOMER", "INVOICE", "ODDS")));
            Set<String> others = new TreeSet<>();
            for (View view : snapshot.get(View.class)) {
                others.add("view " + view.getName());
            }
            for (Sequence sequence : snapshot.get(Sequence.class)) {
                others.add("sequence " + sequence.getName());
            }
            for (PrimaryKey key : snapshot.get(PrimaryKey.class)) {
                others.add("key " + key.getTable().getName() + " " + key.getColumnNames());
            }
            for (ForeignKey key : snapshot.get(ForeignKey.class)) {
                others.add("foreign " + key.getName() + " " + key.getDeleteRule());
            }
            for (UniqueConstraint unique : snapshot.get(UniqueConstraint.class)) {
                others.add("unique " + unique.getName() + " " + unique.getColumnNames());
            }
            for (Index index : snapshot.get(Index.class)) {
                if (index.getName() != null && index.getName().startsWith("IX_")) {
                    others.add("index " + index.getName() + " " + index.getColumnNames());
                }
            }
            for (Column column : snapshot.get(Column.class)) {
                if (column.getRelation() instanceof Table table && table.getName().equals("CUSTOMER")) {
                    others.add("column " + column.getName() + " " + column.getType() + " " + column.isNullable() + " " + column.getDefaultValue());
                }
            }
            Checks.same(others.contains("foreign FK_INVOICE_CUSTOMER importedKeyCascade"), true);
            Checks.same(others.contains("key INVOICE ID"), true);
            Checks.same(others.contains("unique UQ_CUSTOMER_EMAIL EMAIL"), true);
            Checks.same(others.contains("index IX_CUSTOMER_NAME CUSTOMER.NAME, CUSTOMER.EMAIL"), true);
            Checks.same(others.contains("sequence SEQ_CUSTOMER"), true);
            Checks.same(others.contains("view CUSTOMER_NAMES"), true);
        });
    }

    static void generated() throws Exception {
        with(null, liquibase -> {
            File file = File.createTempFile("farbird-liquibase", ".xml");
            file.delete();
            try {
                DiffToChangeLog writer = new DiffToChangeLog(new DiffOutputControl(false, false, false, null));
                liquibase.generateChangeLog(CatalogAndSchema.DEFAULT, writer, new java.io.PrintStream(file));
                String text = java.nio.file.Files.readString(file.toPath());
                for (String part : List.of("tableName=\"CUSTOMER\"", "primaryKeyName=\"PK_CUSTOMER\"", "constraintName=\"FK_INVOICE_CUSTOMER\"",
                        "\"IX_CUSTOMER_NAME\"", "sequenceName=\"SEQ_CUSTOMER\"", "viewName=\"CUSTOMER_NAMES\"")) {
                    Checks.same(text.contains(part) ? part : text.length() + " characters without it", part);
                }
            } finally {
                file.delete();
            }
        });
    }
}
