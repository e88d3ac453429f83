//! Users, roles, privileges, mappings.

use super::Printer;
use crate::ast::{
    DdlAction, DdlPrivilegeObject, DefineMapping, DefineRole, DefineUser, ExecutableKind, GrantStatement,
    GrantedRole, Grantee, GranteeKind, MappingName, MappingUsing, Name, Privileges, TablePrivilege,
    UsageKind, UserTag,
};

impl Printer {
    pub(super) fn define_user(&mut self, user: &DefineUser) {
        self.mode(user.mode);
        match &user.name {
            Some(name) => self.word("USER").name(name),
            None => self.word("CURRENT USER"),
        };
        self.quoted_after("PASSWORD", user.password.as_ref())
            .quoted_after("FIRSTNAME", user.first_name.as_ref())
            .quoted_after("MIDDLENAME", user.middle_name.as_ref())
            .quoted_after("LASTNAME", user.last_name.as_ref())
            .word_if(user.active == Some(true), "ACTIVE")
            .word_if(user.active == Some(false), "INACTIVE")
            .word_if(user.admin_role == Some(true), "GRANT ADMIN ROLE")
            .word_if(user.admin_role == Some(false), "REVOKE ADMIN ROLE")
            .name_after("USING PLUGIN", user.plugin.as_ref());
        if !user.tags.is_empty() {
            self.word("TAGS").parentheses(&user.tags, Self::user_tag);
        }
    }

    fn user_tag(&mut self, tag: &UserTag) {
        match &tag.value {
            Some(value) => self.name(&tag.name).word("=").quoted(value),
            None => self.word("DROP").name(&tag.name),
        };
    }

    pub(super) fn define_role(&mut self, role: &DefineRole) {
        self.mode(role.mode).word("ROLE").name(&role.name);
        match role.auto_admin_mapping {
            Some(true) => {
                self.word("SET AUTO ADMIN MAPPING");
            }
            Some(false) => {
                self.word("DROP AUTO ADMIN MAPPING");
            }
            None => {}
        }
        match role.system_privileges.as_deref() {
            Some([]) => {
                self.word("DROP SYSTEM PRIVILEGES");
            }
            Some(privileges) => {
                self.word("SET SYSTEM PRIVILEGES TO").names(privileges);
            }
            None => {}
        }
    }

    pub(super) fn define_mapping(&mut self, mapping: &DefineMapping) {
        self.mode(mapping.mode).word_if(mapping.global, "GLOBAL").word("MAPPING").name(&mapping.name);
        self.word("USING").mapping_using(&mapping.using);
        self.word("FROM").word_if(mapping.from.is_none(), "ANY").mapping_type(&mapping.from_type);
        match &mapping.from {
            Some(MappingName::Name(name)) => {
                self.name(name);
            }
            Some(MappingName::Text(text)) => {
                self.quoted(text);
            }
            None => {}
        }
        self.name_or_nothing(if mapping.to_role { "TO ROLE" } else { "TO USER" }, mapping.to.as_ref());
    }

    /// USER and GROUP are types by their keywords; all others are names.
    fn mapping_type(&mut self, name: &Name) {
        if name == "USER" || name == "GROUP" {
            self.word(&name.text);
        } else {
            self.name(name);
        }
    }

    fn name_or_nothing(&mut self, keyword: &str, name: Option<&Name>) {
        self.word(keyword);
        if let Some(name) = name {
            self.name(name);
        }
    }

    fn mapping_using(&mut self, using: &MappingUsing) {
        let database = match using {
            MappingUsing::Plugin { name, database } => {
                self.word("PLUGIN").name(name);
                database
            }
            MappingUsing::AnyPlugin { database, server_wide } => {
                self.word("ANY PLUGIN").word_if(*server_wide, "SERVERWIDE");
                database
            }
            MappingUsing::Mapping { database } => {
                self.word("MAPPING");
                database
            }
            MappingUsing::Any { database } => {
                self.word("*");
                database
            }
        };
        self.name_after("IN", database.as_ref());
    }

    pub(super) fn grant(&mut self, statement: &GrantStatement) {
        match statement {
            GrantStatement::Grant { privileges, grantees, with_grant_option, granted_by } => {
                self.word("GRANT").privileges(privileges);
                self.grantees("TO", grantees).word_if(*with_grant_option, "WITH GRANT OPTION");
                self.name_after("GRANTED BY", granted_by.as_ref());
            }
            GrantStatement::Revoke { privileges, grantees, grant_option_for, granted_by } => {
                self.word("REVOKE").word_if(*grant_option_for, "GRANT OPTION FOR").privileges(privileges);
                self.grantees("FROM", grantees).name_after("GRANTED BY", granted_by.as_ref());
            }
            GrantStatement::GrantRoles { roles, grantees, with_admin_option, granted_by } => {
                self.word("GRANT").list(roles, Self::granted_role);
                self.grantees("TO", grantees).word_if(*with_admin_option, "WITH ADMIN OPTION");
                self.name_after("GRANTED BY", granted_by.as_ref());
            }
            GrantStatement::RevokeRoles { roles, grantees, admin_option_for, granted_by } => {
                self.word("REVOKE").word_if(*admin_option_for, "ADMIN OPTION FOR");
                self.list(roles, Self::granted_role);
                self.grantees("FROM", grantees).name_after("GRANTED BY", granted_by.as_ref());
            }
            GrantStatement::RevokeAll { grantees } => {
                self.word("REVOKE ALL ON ALL").grantees("FROM", grantees);
            }
        }
    }

    fn granted_role(&mut self, role: &GrantedRole) {
        self.word_if(role.default, "DEFAULT").name(&role.name);
    }

    fn privileges(&mut self, privileges: &Privileges) {
        match privileges {
            Privileges::Table { table, privileges } => {
                if privileges.is_empty() {
                    self.word("ALL");
                }
                self.list(privileges, Self::table_privilege).word("ON").name(table);
            }
            Privileges::Execute { kind, name } => {
                self.word("EXECUTE ON").word(match kind {
                    ExecutableKind::Procedure => "PROCEDURE",
                    ExecutableKind::Function => "FUNCTION",
                    ExecutableKind::Package => "PACKAGE",
                });
                self.name(name);
            }
            Privileges::Usage { kind, name } => {
                self.word("USAGE ON").word(match kind {
                    UsageKind::Exception => "EXCEPTION",
                    UsageKind::Sequence => "SEQUENCE",
                    UsageKind::Domain => "DOMAIN",
                    UsageKind::CharacterSet => "CHARACTER SET",
                    UsageKind::Collation => "COLLATION",
                });
                self.name(name);
            }
            Privileges::Ddl { kind, actions } => self.ddl_privileges(*kind, actions),
        }
    }

    fn table_privilege(&mut self, privilege: &TablePrivilege) {
        match privilege {
            TablePrivilege::Select => self.word("SELECT"),
            TablePrivilege::Insert => self.word("INSERT"),
            TablePrivilege::Delete => self.word("DELETE"),
            TablePrivilege::Update(columns) => self.word("UPDATE").names_in_parentheses(columns),
            TablePrivilege::References(columns) => self.word("REFERENCES").names_in_parentheses(columns),
        };
    }

    fn ddl_privileges(&mut self, kind: DdlPrivilegeObject, actions: &[DdlAction]) {
        if actions.is_empty() {
            self.word("ALL");
        }
        let is_database = kind == DdlPrivilegeObject::Database;
        self.list(actions, |printer, action| {
            printer.word(action.word());
            printer.word_if(*action != DdlAction::Create && !is_database, "ANY");
        });
        self.word(match kind {
            DdlPrivilegeObject::Table => "TABLE",
            DdlPrivilegeObject::View => "VIEW",
            DdlPrivilegeObject::Procedure => "PROCEDURE",
            DdlPrivilegeObject::Function => "FUNCTION",
            DdlPrivilegeObject::Package => "PACKAGE",
            DdlPrivilegeObject::Sequence => "SEQUENCE",
            DdlPrivilegeObject::Domain => "DOMAIN",
            DdlPrivilegeObject::Exception => "EXCEPTION",
            DdlPrivilegeObject::Role => "ROLE",
            DdlPrivilegeObject::CharacterSet => "CHARACTER SET",
            DdlPrivilegeObject::Collation => "COLLATION",
            DdlPrivilegeObject::Filter => "FILTER",
            DdlPrivilegeObject::Database => "DATABASE",
        });
    }

    fn grantees(&mut self, keyword: &str, grantees: &[Grantee]) -> &mut Self {
        self.word(keyword).list(grantees, |printer, grantee| {
            match grantee.kind {
                None => {}
                Some(GranteeKind::User) => {
                    printer.word("USER");
                }
                Some(GranteeKind::Role) => {
                    printer.word("ROLE");
                }
                Some(GranteeKind::Group) => {
                    printer.word("GROUP");
                }
                Some(GranteeKind::Procedure) => {
                    printer.word("PROCEDURE");
                }
                Some(GranteeKind::Function) => {
                    printer.word("FUNCTION");
                }
                Some(GranteeKind::Package) => {
                    printer.word("PACKAGE");
                }
                Some(GranteeKind::Trigger) => {
                    printer.word("TRIGGER");
                }
                Some(GranteeKind::View) => {
                    printer.word("VIEW");
                }
                Some(GranteeKind::SystemPrivilege) => {
                    printer.word("SYSTEM PRIVILEGE");
                }
            }
            printer.object_name(&grantee.name);
        })
    }
}
