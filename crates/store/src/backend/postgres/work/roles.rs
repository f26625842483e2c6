//! Roles of tenants: each owns the schema of its name and nothing else, so the process of a tenant reaches no other, whatever it asks for.
//!
//! The operator's role makes them if it may. Where it may not, or where the server lets them not in, tenants have the operator's role.

use std::num::NonZeroU32;

use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac, pbkdf2};

use super::super::failure::Failure;
use super::super::link::{Columns, Link, Text, execute, row};
use super::{PostgresWork, in_one};
use crate::backend::bucket::hex;
use crate::{ServerFault, StoreError};

/// A role and its password.
#[derive(Clone, PartialEq, Eq)]
pub struct TenantLogin {
    /// Its name is that of its schema.
    pub role: String,
    /// Letters and digits.
    pub password: String,
}

haft_contract::opaque_debug!(TenantLogin: role = role);

/// With which role a tenant uses its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TenantRole {
    /// Its own.
    Own(TenantLogin),
    /// The operator's, and why.
    Operators(String),
}

/// Roles are made one after the other.
const LOCK: &str = "SELECT pg_advisory_xact_lock(5223876411204)";
const FIND: &str = "SELECT password FROM tenant_roles WHERE role = $1";
const IS_READY: &str =
    "SELECT EXISTS (SELECT FROM pg_namespace JOIN pg_roles ON pg_roles.oid = nspowner WHERE nspname = $1::text AND rolname = $1::text)";
const HAS_ROLE: &str = "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1::text)";
const MAY_MAKE: &str = "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user";
const KEEP: &str =
    "INSERT INTO tenant_roles (role, password) VALUES ($1, $2) ON CONFLICT (role) DO UPDATE SET password = excluded.password";
/// The server gets what it compares with, so the password is in no log of statements.
const SET_LOGIN: &str = "SELECT format('ALTER ROLE %I LOGIN PASSWORD %L', $1::text, 'SCRAM-SHA-256$4096:' || encode($2, 'base64') || '$' \
     || encode($3, 'base64') || ':' || encode($4, 'base64'))";
const ITERATIONS: NonZeroU32 = NonZeroU32::MIN.saturating_add(4095);

/// Gives a schema that was made before to its role, with everything in it. Sequences of columns and types of rows go with their tables.
const GIVE_SCHEMA: &str = "DO $$ DECLARE part RECORD; BEGIN \
     EXECUTE format('ALTER SCHEMA %1$I OWNER TO %1$I', 'ROLE'); \
     FOR part IN \
       SELECT 'TABLE' AS kind, oid::regclass::text AS name FROM pg_class WHERE relnamespace = 'ROLE'::regnamespace AND relkind IN ('r', 'p') \
       UNION ALL SELECT 'FUNCTION', oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'ROLE'::regnamespace \
       UNION ALL SELECT 'TEXT SEARCH DICTIONARY', oid::regdictionary::text FROM pg_ts_dict WHERE dictnamespace = 'ROLE'::regnamespace \
       UNION ALL SELECT 'TEXT SEARCH CONFIGURATION', oid::regconfig::text FROM pg_ts_config WHERE cfgnamespace = 'ROLE'::regnamespace \
     LOOP EXECUTE format('ALTER %s %s OWNER TO %I', part.kind, part.name, 'ROLE'); END LOOP; END $$";

impl PostgresWork {
    /// The role of a tenant, which is made with its schema if it is missing.
    pub async fn make_tenant_role(&self, schema: &str) -> Result<TenantRole, StoreError> {
        check_name(schema)?;
        let made = self.database.read(schema.to_owned(), |link, schema| Box::pin(make_login(link, schema))).await?;
        let Some(login) = made else {
            return Ok(TenantRole::Operators("the role of HAFT_STORE may not make roles (CREATEROLE)".to_owned()));
        };
        let role = self.tried(login).await?;
        if matches!(role, TenantRole::Own(_)) {
            self.database.read(schema.to_owned(), |link, schema| Box::pin(give_schema(link, schema))).await?;
        }
        Ok(role)
    }

    /// The role of a tenant, if there is one: nothing is made. `None` is a tenant that uses the operator's.
    pub async fn find_tenant_role(&self, schema: &str) -> Result<Option<TenantRole>, StoreError> {
        check_name(schema)?;
        let found = self.database.read(schema.to_owned(), |link, schema| {
            Box::pin(async move {
                let is_ready = is_true(link, IS_READY, schema).await?;
                if is_ready { find_login(link, schema).await } else { Ok(None) }
            })
        });
        match found.await? {
            Some(login) => self.tried(login).await.map(Some),
            None => Ok(None),
        }
    }

    /// Removes the role of a tenant whose schema is gone.
    pub async fn remove_tenant_role(&self, schema: &str) -> Result<(), StoreError> {
        check_name(schema)?;
        let remove = self.database.read(schema.to_owned(), |link, schema| {
            Box::pin(async move {
                if find_login(link, schema).await?.is_some() {
                    if is_true(link, HAS_ROLE, schema).await? {
                        link.batch_execute(&format!("DROP OWNED BY {schema}; DROP ROLE {schema}")).await?;
                    }
                    execute(link, "DELETE FROM tenant_roles WHERE role = $1", &[&Text(schema)]).await?;
                }
                Ok(())
            })
        });
        remove.await
    }

    /// Whether the server lets the role in: its own settings say who may come from where.
    async fn tried(&self, login: TenantLogin) -> Result<TenantRole, StoreError> {
        match self.database.try_login(&login.role, &login.password).await {
            Ok(()) => Ok(TenantRole::Own(login)),
            Err(StoreError::Server { fault: ServerFault::Refused, said, .. }) => Ok(TenantRole::Operators(said)),
            Err(error) => Err(error),
        }
    }
}

/// The name is part of statements that take no values.
fn check_name(schema: &str) -> Result<(), StoreError> {
    let is_plain = |ch: char| ch.is_ascii_lowercase() || ch.is_ascii_digit() || ch == '_';
    let is_tenants = schema.starts_with("tenant_") && schema.chars().all(is_plain);
    if is_tenants { Ok(()) } else { Err(StoreError::WrongAddress(format!("'{schema}' is no schema of a tenant"))) }
}

async fn find_login(link: &Link, schema: &str) -> Result<Option<TenantLogin>, Failure> {
    let found = row(link, FIND, &[&Text(schema)]).await?;
    found.map(|row| Ok(TenantLogin { role: schema.to_owned(), password: row.text(0)? })).transpose()
}

async fn is_true(link: &Link, sql: &str, schema: &str) -> Result<bool, Failure> {
    row(link, sql, &[&Text(schema)]).await?.map_or(Ok(false), |row| row.flag(0))
}

/// `None` if the operator's role may not make roles.
async fn make_login(link: &Link, schema: &str) -> Result<Option<TenantLogin>, Failure> {
    if let Some(login) = find_login(link, schema).await?
        && is_true(link, HAS_ROLE, schema).await?
    {
        return Ok(Some(login));
    }
    if !row(link, MAY_MAKE, &[]).await?.map_or(Ok(false), |row| row.flag(0))? {
        return Ok(None);
    }
    in_one(link, create_role(link, schema)).await.map(Some)
}

async fn create_role(link: &Link, schema: &str) -> Result<TenantLogin, Failure> {
    link.batch_execute(LOCK).await?;
    let known = find_login(link, schema).await?;
    // A database that was moved to another server has the password, and that server has no such role.
    if !is_true(link, HAS_ROLE, schema).await? {
        link.batch_execute(&format!("CREATE ROLE {schema}")).await?;
    } else if let Some(login) = known {
        // Another process was first.
        return Ok(login);
    }
    let login = TenantLogin { role: schema.to_owned(), password: known.map_or_else(random_password, |login| Ok(login.password))? };
    let [salt, stored, server] = scram_keys(&login.password)?;
    let statement = row(link, SET_LOGIN, &[&schema, &salt, &stored, &server]).await?.map_or(Ok(String::new()), |row| row.text(0))?;
    link.batch_execute(&statement).await?;
    // Who removes the tenant has to be one of its role.
    link.batch_execute(&format!("GRANT {schema} TO current_user")).await?;
    execute(link, KEEP, &[&Text(schema), &Text(&login.password)]).await?;
    Ok(login)
}

/// Makes the schema of a role, or gives it the one that is there.
async fn give_schema(link: &Link, schema: &str) -> Result<(), Failure> {
    if is_true(link, IS_READY, schema).await? {
        return Ok(());
    }
    let given = async {
        link.batch_execute(LOCK).await?;
        link.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {schema}")).await?;
        Ok(link.batch_execute(&GIVE_SCHEMA.replace("ROLE", schema)).await?)
    };
    in_one(link, given).await
}

fn random_bytes<const LENGTH: usize>() -> Result<[u8; LENGTH], Failure> {
    let mut bytes = [0; LENGTH];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Failure::Fault(ServerFault::Other, "this machine gives no random numbers".to_owned()))?;
    Ok(bytes)
}

fn random_password() -> Result<String, Failure> {
    Ok(hex(&random_bytes::<24>()?))
}

/// What the server keeps of a password (RFC 5802): the salt, the stored key and the server's key.
fn scram_keys(password: &str) -> Result<[Vec<u8>; 3], Failure> {
    let salt = random_bytes::<16>()?;
    let mut salted = [0; digest::SHA256_OUTPUT_LEN];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, ITERATIONS, &salt, password.as_bytes(), &mut salted);
    let sign = |text: &[u8]| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &salted), text).as_ref().to_vec();
    let stored = digest::digest(&digest::SHA256, &sign(b"Client Key")).as_ref().to_vec();
    Ok([salt.to_vec(), stored, sign(b"Server Key")])
}
