//! GRANT and REVOKE.

use crate::ast::{
    DdlAction, DdlPrivilegeObject, DdlStatement, ExecutableKind, GrantStatement, GrantedRole, Grantee,
    GranteeKind, Name, Privileges, TablePrivilege, UsageKind,
};
use crate::lexer::TokenKind;
use crate::parser::cursor::Parser;
use farbird_types::Result;

impl Parser<'_> {
    pub(super) fn grant(&mut self) -> Result<DdlStatement> {
        self.take();
        let statement = match self.privileges()? {
            Some(privileges) => {
                self.expect_keyword("TO")?;
                let grantees = self.comma_list(Self::grantee)?;
                let with_grant_option = self.eat_keyword("WITH");
                if with_grant_option {
                    self.expect_keywords(&["GRANT", "OPTION"])?;
                }
                let granted_by = self.granted_by()?;
                GrantStatement::Grant { privileges, grantees, with_grant_option, granted_by }
            }
            None => {
                let roles = self.comma_list(Self::granted_role)?;
                self.expect_keyword("TO")?;
                let grantees = self.comma_list(Self::grantee)?;
                let with_admin_option = self.eat_keyword("WITH");
                if with_admin_option {
                    self.expect_keywords(&["ADMIN", "OPTION"])?;
                }
                let granted_by = self.granted_by()?;
                GrantStatement::GrantRoles { roles, grantees, with_admin_option, granted_by }
            }
        };
        Ok(DdlStatement::Grant(statement))
    }

    pub(super) fn revoke(&mut self) -> Result<DdlStatement> {
        self.take();
        if self.eat_keywords(&["ALL", "ON", "ALL"]) {
            self.expect_keyword("FROM")?;
            let grantees = self.comma_list(Self::grantee)?;
            return Ok(DdlStatement::Grant(GrantStatement::RevokeAll { grantees }));
        }
        let admin_option_for = self.eat_keywords(&["ADMIN", "OPTION", "FOR"]);
        let grant_option_for = !admin_option_for && self.eat_keywords(&["GRANT", "OPTION", "FOR"]);
        let privileges = if admin_option_for { None } else { self.privileges()? };
        let statement = match privileges {
            Some(privileges) => {
                self.expect_keyword("FROM")?;
                let grantees = self.comma_list(Self::grantee)?;
                let granted_by = self.granted_by()?;
                GrantStatement::Revoke { privileges, grantees, grant_option_for, granted_by }
            }
            None if grant_option_for => return Err(self.unexpected()),
            None => {
                let roles = self.comma_list(Self::granted_role)?;
                self.expect_keyword("FROM")?;
                let grantees = self.comma_list(Self::grantee)?;
                let granted_by = self.granted_by()?;
                GrantStatement::RevokeRoles { roles, grantees, admin_option_for, granted_by }
            }
        };
        Ok(DdlStatement::Grant(statement))
    }

    /// Privileges with their object; none if a list of roles stands here.
    fn privileges(&mut self) -> Result<Option<Privileges>> {
        let privileges = match self.keyword().unwrap_or_default() {
            "ALL" => self.all_privileges()?,
            "SELECT" | "INSERT" | "DELETE" | "UPDATE" | "REFERENCES" => {
                let privileges = self.comma_list(Self::table_privilege)?;
                self.expect_keyword("ON")?;
                self.on_table(privileges)?
            }
            "EXECUTE" => {
                self.expect_keywords(&["EXECUTE", "ON"])?;
                self.on_executable()?
            }
            "USAGE" if self.keyword_ahead(1, "ON") => {
                self.expect_keywords(&["USAGE", "ON"])?;
                self.on_usable()?
            }
            "CREATE" | "ALTER" | "DROP" => self.ddl_privileges()?,
            _ => return Ok(None),
        };
        Ok(Some(privileges))
    }

    /// `ALL [PRIVILEGES] ON [TABLE] table`, `ALL [PRIVILEGES] kind`.
    fn all_privileges(&mut self) -> Result<Privileges> {
        self.take();
        self.eat_keyword("PRIVILEGES");
        if self.eat_keyword("ON") {
            return self.on_table(Vec::new());
        }
        let kind = self.ddl_privilege_object()?;
        Ok(Privileges::Ddl { kind, actions: Vec::new() })
    }

    fn on_table(&mut self, privileges: Vec<TablePrivilege>) -> Result<Privileges> {
        self.eat_keyword("TABLE");
        Ok(Privileges::Table { table: self.name()?, privileges })
    }

    fn table_privilege(&mut self) -> Result<TablePrivilege> {
        let privilege = match self.keyword().unwrap_or_default() {
            "SELECT" => TablePrivilege::Select,
            "INSERT" => TablePrivilege::Insert,
            "DELETE" => TablePrivilege::Delete,
            "UPDATE" => TablePrivilege::Update(Vec::new()),
            "REFERENCES" => TablePrivilege::References(Vec::new()),
            _ => return Err(self.unexpected()),
        };
        self.take();
        Ok(match privilege {
            TablePrivilege::Update(_) => TablePrivilege::Update(self.optional_names()?),
            TablePrivilege::References(_) => TablePrivilege::References(self.optional_names()?),
            other => other,
        })
    }

    fn on_executable(&mut self) -> Result<Privileges> {
        let kind = match self.keyword().unwrap_or_default() {
            "PROCEDURE" => ExecutableKind::Procedure,
            "FUNCTION" => ExecutableKind::Function,
            "PACKAGE" => ExecutableKind::Package,
            _ => return Err(self.unexpected()),
        };
        self.take();
        Ok(Privileges::Execute { kind, name: self.name()? })
    }

    fn on_usable(&mut self) -> Result<Privileges> {
        let kind = match self.keyword().unwrap_or_default() {
            "EXCEPTION" => UsageKind::Exception,
            "SEQUENCE" | "GENERATOR" => UsageKind::Sequence,
            _ => return Err(self.unexpected()),
        };
        self.take();
        Ok(Privileges::Usage { kind, name: self.name()? })
    }

    /// `CREATE, ALTER ANY, DROP ANY kind`; those on the database have no ANY.
    fn ddl_privileges(&mut self) -> Result<Privileges> {
        let mut any_written = None;
        let actions = self.comma_list(|parser| {
            let action = match parser.keyword().unwrap_or_default() {
                "CREATE" => DdlAction::Create,
                "ALTER" => DdlAction::Alter,
                "DROP" => DdlAction::Drop,
                _ => return Err(parser.unexpected()),
            };
            parser.take();
            if action != DdlAction::Create {
                let any = parser.at_keyword("ANY");
                if any_written.is_some_and(|before: bool| before != any) {
                    return Err(parser.unexpected());
                }
                any_written = Some(any);
                parser.eat_keyword("ANY");
            }
            Ok(action)
        })?;
        let is_database = self.at_keyword("DATABASE");
        if any_written.is_some_and(|any| any == is_database) {
            return Err(self.unexpected());
        }
        Ok(Privileges::Ddl { kind: self.ddl_privilege_object()?, actions })
    }

    fn ddl_privilege_object(&mut self) -> Result<DdlPrivilegeObject> {
        let object = match self.keyword().unwrap_or_default() {
            "TABLE" => DdlPrivilegeObject::Table,
            "VIEW" => DdlPrivilegeObject::View,
            "PROCEDURE" => DdlPrivilegeObject::Procedure,
            "FUNCTION" => DdlPrivilegeObject::Function,
            "PACKAGE" => DdlPrivilegeObject::Package,
            "SEQUENCE" | "GENERATOR" => DdlPrivilegeObject::Sequence,
            "DOMAIN" => DdlPrivilegeObject::Domain,
            "EXCEPTION" => DdlPrivilegeObject::Exception,
            "ROLE" => DdlPrivilegeObject::Role,
            "CHARACTER" if self.keyword_ahead(1, "SET") => {
                self.take();
                DdlPrivilegeObject::CharacterSet
            }
            "COLLATION" => DdlPrivilegeObject::Collation,
            "FILTER" => DdlPrivilegeObject::Filter,
            "DATABASE" => DdlPrivilegeObject::Database,
            _ => return Err(self.unexpected()),
        };
        self.take();
        Ok(object)
    }

    /// `[DEFAULT] role`.
    fn granted_role(&mut self) -> Result<GrantedRole> {
        let default = self.eat_keyword("DEFAULT");
        Ok(GrantedRole { name: self.name()?, default })
    }

    /// `[kind] name`; a word that is not reserved is a kind only if a name follows.
    fn grantee(&mut self) -> Result<Grantee> {
        let name_follows = matches!(
            self.peek_ahead(1),
            TokenKind::QuotedName(_) | TokenKind::Word(_) | TokenKind::Keyword { .. }
        ) && !self.keyword_ahead(1, "WITH")
            && !self.keyword_ahead(1, "AS")
            && !self.at_keywords(&["ROLE", "GRANTED"]);
        let kind = match self.keyword().unwrap_or_default() {
            "USER" => Some(GranteeKind::User),
            "GROUP" => Some(GranteeKind::Group),
            "PROCEDURE" => Some(GranteeKind::Procedure),
            "FUNCTION" => Some(GranteeKind::Function),
            "TRIGGER" => Some(GranteeKind::Trigger),
            "VIEW" => Some(GranteeKind::View),
            "ROLE" if name_follows => Some(GranteeKind::Role),
            "PACKAGE" if name_follows => Some(GranteeKind::Package),
            "SYSTEM" if self.keyword_ahead(1, "PRIVILEGE") => {
                self.take();
                Some(GranteeKind::SystemPrivilege)
            }
            _ => None,
        };
        if kind.is_some() {
            self.take();
        }
        Ok(Grantee { kind, name: self.name()?.into() })
    }

    /// `[GRANTED BY [USER] name | AS [USER] name]`.
    fn granted_by(&mut self) -> Result<Option<Name>> {
        if !self.eat_keywords(&["GRANTED", "BY"]) && !self.eat_keyword("AS") {
            return Ok(None);
        }
        self.eat_keyword("USER");
        self.name().map(Some)
    }
}
