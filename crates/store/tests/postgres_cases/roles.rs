//! Roles of tenants: what they open, and what they do not.

use haft_store::{CallLog, PostgresLog, StoreError, TenantLogin, TenantRole};
use haft_testkit::PostgresServer;
use tokio::runtime::Runtime;

use crate::common::{ids, record};

/// An operator whose role may make roles, or not, on a server that asks for passwords.
struct Operator {
    server: PostgresServer,
    runtime: Runtime,
    database: String,
    log: PostgresLog,
}

impl Operator {
    fn new(rights: &str) -> Self {
        let server = PostgresServer::start();
        let database = server.database();
        server.sql("postgres", &format!("CREATE ROLE operator LOGIN PASSWORD 'hunter2' {rights}"));
        server.sql("postgres", &format!("ALTER DATABASE {database} OWNER TO operator"));
        server.admit(&["local all postgres trust", "local all all scram-sha-256"]);
        let log = PostgresLog::open(&address(&server, &database, ("operator", "hunter2"), "public")).unwrap();
        Self { server, runtime: Runtime::new().unwrap(), database, log }
    }

    fn make(&self, schema: &str) -> TenantRole {
        self.runtime.block_on(self.log.work().make_tenant_role(schema)).unwrap()
    }

    fn find(&self, schema: &str) -> Option<TenantRole> {
        self.runtime.block_on(self.log.work().find_tenant_role(schema)).unwrap()
    }

    fn own(&self, schema: &str) -> TenantLogin {
        match self.make(schema) {
            TenantRole::Own(login) => login,
            TenantRole::Operators(why) => panic!("{schema} has the role of the operator: {why}"),
        }
    }

    fn open(&self, login: &TenantLogin) -> PostgresLog {
        PostgresLog::open(&address(&self.server, &self.database, (&login.role, &login.password), &login.role)).unwrap()
    }

    fn ids(&self, log: &PostgresLog) -> Vec<String> {
        self.runtime.block_on(ids(log))
    }

    fn add_call(&self, log: &PostgresLog, id: &str) {
        log.append(record(id)).unwrap();
        self.runtime.block_on(log.flush()).unwrap();
    }
}

fn address(server: &PostgresServer, database: &str, (user, password): (&str, &str), schema: &str) -> String {
    format!("postgres://{user}:{password}@{}/{database}?options=-csearch_path%3D{schema}", server.host())
}

#[test]
fn role_of_a_tenant_owns_its_schema_and_reaches_nothing_else() {
    let operator = Operator::new("CREATEROLE");
    let (one, two) = (operator.own("tenant_1"), operator.own("tenant_2"));
    assert!(!format!("{one:?}").contains(&one.password));
    let (log, other) = (operator.open(&one), operator.open(&two));
    operator.add_call(&log, "r1");
    operator.add_call(&other, "r2");
    assert_eq!((operator.ids(&log), operator.ids(&other)), (vec!["r1".to_owned()], vec!["r2".to_owned()]));
    let as_one = |statement: &str| operator.server.try_sql((&one.role, &one.password), &operator.database, statement);
    assert_eq!(as_one("SELECT id FROM tenant_1.calls"), Ok("r1".to_owned()));
    for statement in [
        "SELECT * FROM tenant_2.calls",
        "INSERT INTO tenant_2.haft_schema VALUES (99, 99)",
        "SELECT * FROM public.calls",
        "SELECT * FROM public.work",
        "SELECT password FROM public.tenant_roles",
        "DROP SCHEMA tenant_2 CASCADE",
        "CREATE SCHEMA mine",
        "CREATE TABLE public.mine (a INT)",
        "CREATE ROLE mine",
        "ALTER ROLE tenant_2 PASSWORD 'x'",
        "GRANT tenant_2 TO tenant_1",
        "SET ROLE tenant_2",
        "SET ROLE operator",
        "SELECT pg_read_file('/etc/passwd')",
        "COPY (SELECT 1) TO PROGRAM 'true'",
    ] {
        let refused = as_one(statement).unwrap_err();
        assert!(
            ["permission denied", "must be ", "must have ", "not permitted"].iter().any(|word| refused.contains(word)),
            "{statement}: {refused}"
        );
    }
    let queries =
        "SELECT count(*) FROM pg_stat_activity WHERE usename <> current_user AND query <> '<insufficient privilege>' AND query <> ''";
    assert_eq!(as_one(queries), Ok("0".to_owned()), "what others ask the server");
    assert!(operator.server.try_sql((&one.role, &two.password), &operator.database, "SELECT 1").is_err(), "each has its own password");
}

#[test]
fn role_of_a_tenant_stays_the_same_and_goes_with_the_tenant() {
    let operator = Operator::new("CREATEROLE");
    assert_eq!(operator.find("tenant_1"), None);
    // Older versions made the schema with the role of the operator.
    let older = PostgresLog::open(&address(&operator.server, &operator.database, ("operator", "hunter2"), "tenant_1")).unwrap();
    operator.add_call(&older, "r1");
    assert_eq!(operator.find("tenant_1"), None);
    let login = operator.own("tenant_1");
    assert_eq!((operator.own("tenant_1"), operator.find("tenant_1")), (login.clone(), Some(TenantRole::Own(login.clone()))));
    let log = operator.open(&login);
    operator.add_call(&log, "r2");
    // A process of an older version runs beside it.
    operator.add_call(&older, "r3");
    assert_eq!(operator.ids(&log).len(), 3);
    let foreign = "SELECT count(*) FROM pg_class WHERE relnamespace = 'tenant_1'::regnamespace AND relowner <> 'tenant_1'::regrole";
    assert_eq!(operator.server.sql(&operator.database, foreign), "0");
    // The database comes to a server without the role.
    operator.server.sql(&operator.database, "REASSIGN OWNED BY tenant_1 TO operator; DROP OWNED BY tenant_1; DROP ROLE tenant_1");
    assert_eq!((operator.find("tenant_1"), operator.own("tenant_1")), (None, login.clone()));
    assert_eq!(operator.ids(&operator.open(&login)).len(), 3);
    drop((log, older));
    PostgresLog::remove_schema(&address(&operator.server, &operator.database, ("operator", "hunter2"), "tenant_1")).unwrap();
    operator.runtime.block_on(operator.log.work().remove_tenant_role("tenant_1")).unwrap();
    let left = "SELECT (SELECT count(*) FROM tenant_roles) + (SELECT count(*) FROM pg_roles WHERE rolname LIKE 'tenant%')";
    assert_eq!(operator.server.sql(&operator.database, left), "0");
    assert_ne!(operator.own("tenant_1").password, login.password, "the next one is another's");
}

#[test]
fn tenant_without_a_role_of_its_own_has_the_operators_and_says_why() {
    let operator = Operator::new("");
    let TenantRole::Operators(why) = operator.make("tenant_1") else { panic!("it may make no role") };
    assert!(why.contains("CREATEROLE"), "{why}");
    let operator = Operator::new("CREATEROLE");
    operator.server.admit(&["local all postgres trust", "local all operator scram-sha-256"]);
    let TenantRole::Operators(why) = operator.make("tenant_1") else { panic!("the server lets nobody else in") };
    assert!(why.contains("pg_hba.conf"), "{why}");
    assert_eq!(operator.find("tenant_1"), None, "the schema stays the operator's");
    // As soon as it does, the tenant has its own.
    operator.server.admit(&["local all postgres trust", "local all all scram-sha-256"]);
    operator.open(&operator.own("tenant_1"));
    for name in ["public", "tenant_1; DROP TABLE calls", "tenant_A"] {
        let refused = operator.runtime.block_on(operator.log.work().make_tenant_role(name)).unwrap_err();
        assert!(matches!(refused, StoreError::WrongAddress(_)), "{name}");
    }
}
