// Drives a nacre server with the JDBC driver, unchanged: java -cp postgresql.jar Jdbc.java HOST PORT.

import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.UUID;
import org.postgresql.PGConnection;

public class Jdbc {
	interface Step {
		void run(Connection c) throws Exception;
	}

	static String url;
	static boolean failed;

	static Connection connect(String... more) throws SQLException {
		Properties p = new Properties();
		p.setProperty("user", "root");
		p.setProperty("password", "secret");
		p.setProperty("options", "-c dialect=sql");
		for (int i = 0; i < more.length; i += 2) p.setProperty(more[i], more[i + 1]);
		return DriverManager.getConnection(url, p);
	}

	static void step(String name, Step s, String... more) {
		if ((";" + System.getenv("WITHOUT_STEPS") + ";").contains(";" + name + ";")) return;
		try (Connection c = connect(more)) {
			s.run(c);
			System.out.println("ok   " + name);
		} catch (Throwable e) {
			failed = true;
			System.out.println("FAIL " + name + " " + e);
			for (StackTraceElement at : e.getStackTrace())
				if (at.getClassName().startsWith("Jdbc")) System.out.println("     " + at);
		}
	}

	static void same(Object got, Object want) {
		if (!Objects.deepEquals(got, want)) throw new AssertionError("got " + got + ", want " + want);
	}

	static void fails(String state, Step s, Connection c) throws Exception {
		try {
			s.run(c);
		} catch (SQLException e) {
			same(e.getSQLState(), state);
			return;
		}
		throw new AssertionError("no " + state);
	}

	static List<String> list(ResultSet r, String... cols) throws SQLException {
		List<String> out = new ArrayList<>();
		while (r.next()) {
			StringBuilder b = new StringBuilder();
			for (String col : cols) b.append(b.length() > 0 ? " " : "").append(r.getString(col));
			out.add(b.toString());
		}
		return out;
	}

	public static void main(String[] args) {
		url = "jdbc:postgresql://" + args[0] + ":" + args[1] + "/test%2Ftest";
		step("tables are defined in the language of the product", Jdbc::define);
		step("parameters and results of every type", Jdbc::types);
		step("parameters and results of every type in binary", Jdbc::types, "prepareThreshold", "-1");
		step("metadata of the database", Jdbc::metadata);
		step("metadata of statements", Jdbc::statements);
		step("transactions and savepoints", Jdbc::transactions);
		step("autosave", Jdbc::autosave, "autosave", "always");
		step("batches", Jdbc::batches);
		step("rewritten batches", Jdbc::batches, "reWriteBatchedInserts", "true");
		step("fetch size", Jdbc::fetch);
		step("an updatable result set", Jdbc::updatable);
		step("COPY in and out", Jdbc::copy);
		step("LISTEN and NOTIFY", Jdbc::notifications);
		step("cancel", Jdbc::cancel);
		step("the simple protocol", Jdbc::simple, "preferQueryMode", "simple");
		System.exit(failed ? 1 : 0);
	}

	static void define(Connection c) throws Exception {
		try (Statement s = c.createStatement()) {
			for (String text : ("DEFINE TABLE item SCHEMAFULL COMMENT 'things'|DEFINE FIELD name ON item TYPE string|"
					+ "DEFINE FIELD n ON item TYPE option<int>|DEFINE FIELD f ON item TYPE option<float>|"
					+ "DEFINE FIELD d ON item TYPE option<decimal>|DEFINE FIELD ok ON item TYPE option<bool>|"
					+ "DEFINE FIELD at ON item TYPE option<datetime>|DEFINE FIELD u ON item TYPE option<uuid>|"
					+ "DEFINE FIELD raw ON item TYPE option<bytes>|DEFINE FIELD tags ON item TYPE option<array<string>>|"
					+ "DEFINE FIELD up ON item TYPE option<record<item>>|DEFINE INDEX item_name ON item FIELDS name UNIQUE|"
					+ "DEFINE INDEX item_n ON item FIELDS n").split("\\|")) s.execute(text);
		}
	}

	static void types(Connection c) throws Exception {
		OffsetDateTime at = OffsetDateTime.of(2024, 5, 6, 7, 8, 9, 123456000, ZoneOffset.UTC);
		UUID u = UUID.fromString("11111111-2222-4333-8444-555555555555");
		try (Statement s = c.createStatement()) {
			s.executeUpdate("DELETE FROM item");
		}
		String text = "INSERT INTO item (id, name, n, f, d, ok, at, u, raw, tags) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
		try (PreparedStatement s = c.prepareStatement(text)) {
			s.setString(1, "item:1");
			s.setString(2, "Ünü 'x'");
			s.setLong(3, 7);
			s.setDouble(4, 1.5);
			s.setBigDecimal(5, new BigDecimal("1.10"));
			s.setBoolean(6, true);
			s.setObject(7, at);
			s.setObject(8, u);
			s.setBytes(9, new byte[] {0, -1});
			s.setArray(10, c.createArrayOf("text", new String[] {"a", "b\"c"}));
			same(s.executeUpdate(), 1);
			s.setString(1, "item:2");
			s.setString(2, "none");
			int[] kinds = {Types.BIGINT, Types.DOUBLE, Types.NUMERIC, Types.BOOLEAN, Types.TIMESTAMP_WITH_TIMEZONE, Types.OTHER, Types.BINARY, Types.ARRAY};
			for (int i = 0; i < kinds.length; i++) s.setNull(3 + i, kinds[i]);
			same(s.executeUpdate(), 1);
		}
		try (PreparedStatement s = c.prepareStatement("SELECT * FROM item WHERE n = ? AND name = ? AND at = ? AND u = ? AND ok = ? AND d = ?")) {
			s.setInt(1, 7);
			s.setString(2, "Ünü 'x'");
			s.setObject(3, at);
			s.setObject(4, u);
			s.setBoolean(5, true);
			s.setBigDecimal(6, new BigDecimal("1.1"));
			for (int i = 0; i < 7; i++) {
				ResultSet r = s.executeQuery();
				same(r.next(), true);
				same(r.getString("name"), "Ünü 'x'");
				same(r.getLong("n"), 7L);
				same(r.getDouble("f"), 1.5);
				same(r.getBigDecimal("d").stripTrailingZeros(), new BigDecimal("1.1"));
				same(r.getBoolean("ok"), true);
				same(r.getObject("at", OffsetDateTime.class).toInstant(), at.toInstant());
				same(r.getObject("u"), u);
				same(r.getBytes("raw"), new byte[] {0, -1});
				same(Arrays.asList((Object[]) r.getArray("tags").getArray()), List.of("a", "b\"c"));
				same(r.next(), false);
			}
		}
		try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT n, at, tags FROM item WHERE id = 'item:2'")) {
			r.next();
			same(r.getLong(1), 0L);
			same(r.wasNull(), true);
			same(r.getObject(2), null);
			same(r.getArray(3), null);
		}
	}

	static void simple(Connection c) throws Exception {
		try (PreparedStatement s = c.prepareStatement("SELECT n + ? AS n FROM item WHERE name = ?")) {
			s.setInt(1, 5);
			s.setString(2, "batch7");
			ResultSet r = s.executeQuery();
			r.next();
			same(r.getInt("n"), 17);
		}
	}

	static void metadata(Connection c) throws Exception {
		DatabaseMetaData m = c.getMetaData();
		same(m.getDatabaseProductName(), "PostgreSQL");
		same(list(m.getCatalogs(), "TABLE_CAT").contains("test/test"), true);
		same(list(m.getSchemas(), "TABLE_SCHEM").contains("public"), true);
		same(list(m.getTables(null, "public", "%", new String[] {"TABLE", "VIEW"}), "TABLE_NAME", "TABLE_TYPE", "REMARKS"), List.of("item TABLE things"));
		same(list(m.getColumns(null, null, "item", "n"), "COLUMN_NAME", "TYPE_NAME", "DATA_TYPE", "IS_NULLABLE"), List.of("n int8 -5 YES"));
		same(list(m.getColumns(null, "public", "item", "%"), "COLUMN_NAME").size(), 11);
		same(list(m.getPrimaryKeys(null, "public", "item"), "COLUMN_NAME", "PK_NAME"), List.of("id item_pkey"));
		same(list(m.getImportedKeys(null, "public", "item"), "FKCOLUMN_NAME", "PKTABLE_NAME", "PKCOLUMN_NAME"), List.of("up item id"));
		same(list(m.getExportedKeys(null, "public", "item"), "FKTABLE_NAME"), List.of("item"));
		same(list(m.getIndexInfo(null, "public", "item", true, false), "INDEX_NAME", "COLUMN_NAME"), List.of("item_name name", "item_pkey id"));
		same(list(m.getTypeInfo(), "TYPE_NAME").contains("jsonb"), true);
		m.getProcedures(null, null, "%").close();
		m.getFunctions(null, null, "%").close();
		m.getTablePrivileges(null, "public", "item").close();
		m.getColumnPrivileges(null, "public", "item", "%").close();
		m.getBestRowIdentifier(null, "public", "item", 1, false).close();
		m.getVersionColumns(null, "public", "item").close();
		m.getCrossReference(null, "public", "item", null, "public", "item").close();
		m.getUDTs(null, null, "%", null).close();
		m.getClientInfoProperties().close();
		same(m.getMaxColumnNameLength(), 63);
		same(m.getSQLKeywords().isEmpty(), false);
		same(m.supportsTransactions(), true);
	}

	static void statements(Connection c) throws Exception {
		try (PreparedStatement s = c.prepareStatement("SELECT name, n, f FROM item WHERE n > ? AND name = ?")) {
			same(s.getParameterMetaData().getParameterTypeName(1), "int8");
			same(s.getParameterMetaData().getParameterTypeName(2), "text");
			same(s.getMetaData().getColumnTypeName(2), "int8");
			same(s.getMetaData().getTableName(1), "item");
			same(s.getMetaData().isNullable(1), 0);
		}
	}

	static void transactions(Connection c) throws Exception {
		c.setAutoCommit(false);
		try (Statement s = c.createStatement()) {
			s.executeUpdate("INSERT INTO item (id, name) VALUES ('item:t', 't')");
			Savepoint p = c.setSavepoint("a");
			fails("23505", x -> s.executeUpdate("INSERT INTO item (id, name) VALUES ('item:t', 'again')"), c);
			fails("25P02", x -> s.executeQuery("SELECT 1"), c);
			c.rollback(p);
			c.commit();
			s.executeUpdate("DELETE FROM item WHERE id = 'item:t'");
			c.rollback();
			ResultSet r = s.executeQuery("SELECT count(*) FROM item WHERE id = 'item:t'");
			r.next();
			same(r.getInt(1), 1);
			c.rollback();
		}
		c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
		same(c.getTransactionIsolation(), Connection.TRANSACTION_SERIALIZABLE);
		c.setReadOnly(true);
		fails("25006", x -> c.createStatement().executeUpdate("DELETE FROM item"), c);
		c.rollback();
		fails("42P01", x -> c.createStatement().executeQuery("SELECT 1 FROM nothing"), c);
		c.rollback();
	}

	static void autosave(Connection c) throws Exception {
		c.setAutoCommit(false);
		try (Statement s = c.createStatement()) {
			fails("42703", x -> s.executeQuery("SELECT nothing FROM item"), c);
			same(s.executeQuery("SELECT 1").next(), true);
		}
		c.commit();
	}

	static void batches(Connection c) throws Exception {
		try (Statement s = c.createStatement()) {
			s.executeUpdate("DELETE FROM item WHERE name LIKE 'batch%'");
		}
		try (PreparedStatement s = c.prepareStatement("INSERT INTO item (name, n) VALUES (?, ?)")) {
			for (int i = 0; i < 100; i++) {
				s.setString(1, "batch" + i);
				s.setInt(2, i);
				s.addBatch();
			}
			same(s.executeBatch().length, 100);
		}
		try (PreparedStatement s = c.prepareStatement("UPDATE item SET n = n + ? WHERE name = ? RETURNING id, n")) {
			s.setInt(1, 5);
			s.setString(2, "batch7");
			ResultSet r = s.executeQuery();
			r.next();
			same(r.getInt("n"), 12);
		}
		try (PreparedStatement s = c.prepareStatement("INSERT INTO item (name) VALUES ('batchkey')", new String[] {"id"})) {
			s.executeUpdate();
			ResultSet r = s.getGeneratedKeys();
			r.next();
			same(r.getString(1).startsWith("item:"), true);
		}
	}

	static void fetch(Connection c) throws Exception {
		c.setAutoCommit(false);
		try (Statement s = c.createStatement()) {
			s.setFetchSize(7);
			ResultSet r = s.executeQuery("SELECT n FROM item WHERE name LIKE 'batch%' AND n IS NOT NULL ORDER BY name");
			int n = 0;
			while (r.next()) n++;
			same(n, 100);
			s.setMaxRows(5);
			r = s.executeQuery("SELECT n FROM item");
			n = 0;
			while (r.next()) n++;
			same(n, 5);
		}
		c.commit();
	}

	static void updatable(Connection c) throws Exception {
		try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
			ResultSet r = s.executeQuery("SELECT id, name, n FROM item WHERE name = 'batch1'");
			r.next();
			r.updateLong("n", 77);
			r.updateRow();
			r = s.executeQuery("SELECT n FROM item WHERE name = 'batch1'");
			r.next();
			same(r.getInt(1), 77);
		}
	}

	static void copy(Connection c) throws Exception {
		var api = c.unwrap(PGConnection.class).getCopyAPI();
		StringBuilder b = new StringBuilder();
		for (int i = 0; i < 300; i++) b.append("copied").append(i).append(",").append(i).append("\n");
		same(api.copyIn("COPY item (name, n) FROM STDIN (FORMAT csv)", new StringReader(b.toString())), 300L);
		StringWriter w = new StringWriter();
		same(api.copyOut("COPY (SELECT name, n FROM item WHERE name LIKE 'copied%' ORDER BY n) TO STDOUT (FORMAT csv)", w), 300L);
		same(w.toString(), b.toString());
	}

	static void notifications(Connection c) throws Exception {
		try (Statement s = c.createStatement(); Connection other = connect()) {
			s.execute("LISTEN news");
			other.createStatement().execute("NOTIFY news, 'hello'");
			var got = c.unwrap(PGConnection.class).getNotifications(10_000);
			same(got[0].getName() + " " + got[0].getParameter(), "news hello");
		}
	}

	static void cancel(Connection c) throws Exception {
		Statement s = c.createStatement();
		new Thread(() -> {
			try {
				Thread.sleep(200);
				s.cancel();
			} catch (Exception e) {
				throw new RuntimeException(e);
			}
		}).start();
		fails("57014", x -> s.execute("SELECT pg_sleep(60)"), c);
		s.setQueryTimeout(1);
		fails("57014", x -> s.execute("SELECT pg_sleep(60)"), c);
		same(c.isValid(5), true);
	}
}
