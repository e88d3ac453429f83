//! Users, roles, mappings.

use crate::ast::{
    DdlStatement, DefineMapping, DefineMode, DefineRole, DefineUser, MappingName, MappingUsing, Name, UserTag,
};
use crate::lexer::TokenKind;
use crate::parser::cursor::Parser;
use crate::parser::transaction::once;
use farbird_types::{Error, Result, isc};

impl Parser<'_> {
    /// `USER name options`, `CURRENT USER options`.
    pub(super) fn define_user(&mut self, mode: DefineMode) -> Result<DdlStatement> {
        let name = if self.eat_keyword("CURRENT") {
            self.expect_keyword("USER")?;
            None
        } else {
            self.expect_keyword("USER")?;
            Some(self.name()?)
        };
        if matches!(mode, DefineMode::Alter | DefineMode::CreateOrAlter) {
            self.eat_keyword("SET");
        }
        let mut user = DefineUser {
            mode,
            name,
            password: None,
            first_name: None,
            middle_name: None,
            last_name: None,
            active: None,
            admin_role: None,
            plugin: None,
            tags: Vec::new(),
        };
        while self.user_option(&mut user)? {}
        Ok(DdlStatement::DefineUser(user))
    }

    /// One option; false if there is no further one.
    fn user_option(&mut self, user: &mut DefineUser) -> Result<bool> {
        match self.keyword().unwrap_or_default() {
            "PASSWORD" => {
                self.take();
                let password = self.text()?;
                once(&mut user.password, password, "PASSWORD")?;
            }
            "FIRSTNAME" => {
                self.take();
                let name = self.text()?;
                once(&mut user.first_name, name, "FIRSTNAME")?;
            }
            "MIDDLENAME" => {
                self.take();
                let name = self.text()?;
                once(&mut user.middle_name, name, "MIDDLENAME")?;
            }
            "LASTNAME" => {
                self.take();
                let name = self.text()?;
                once(&mut user.last_name, name, "LASTNAME")?;
            }
            "ACTIVE" => {
                self.take();
                once(&mut user.active, true, "ACTIVE/INACTIVE")?;
            }
            "INACTIVE" => {
                self.take();
                once(&mut user.active, false, "ACTIVE/INACTIVE")?;
            }
            "GRANT" => {
                self.expect_keywords(&["GRANT", "ADMIN", "ROLE"])?;
                once(&mut user.admin_role, true, "ADMIN ROLE")?;
            }
            "REVOKE" => {
                self.expect_keywords(&["REVOKE", "ADMIN", "ROLE"])?;
                once(&mut user.admin_role, false, "ADMIN ROLE")?;
            }
            "USING" => {
                self.take();
                let plugin = self.plugin()?;
                once(&mut user.plugin, plugin, "USING PLUGIN")?;
            }
            "TAGS" => {
                self.take();
                user.tags = self.parenthesised_list(Self::user_tag)?;
                for (place, tag) in user.tags.iter().enumerate() {
                    let mut earlier = user.tags.iter().take(place);
                    if earlier.any(|earlier| earlier.name.as_str() == tag.name.as_str()) {
                        return Err(Error::new(isc::DUP_ATTRIBUTE).with(tag.name.as_str()));
                    }
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `name = 'value'`, `DROP name`.
    fn user_tag(&mut self) -> Result<UserTag> {
        if self.eat_keyword("DROP") {
            return Ok(UserTag { name: self.name()?, value: None });
        }
        let name = self.name()?;
        self.expect_symbol("=")?;
        Ok(UserTag { name, value: Some(self.text()?) })
    }

    /// `ROLE name [SET SYSTEM PRIVILEGES TO ...]`, `ROLE name SET AUTO ADMIN MAPPING`.
    pub(super) fn define_role(&mut self, mode: DefineMode) -> Result<DdlStatement> {
        self.take();
        let name = self.name()?;
        let mut role = DefineRole { mode, name, system_privileges: None, auto_admin_mapping: None };
        let set = self.eat_keyword("SET");
        if !set && !self.eat_keyword("DROP") {
            return Ok(DdlStatement::DefineRole(role));
        }
        if mode == DefineMode::Alter && self.eat_keyword("AUTO") {
            self.expect_keywords(&["ADMIN", "MAPPING"])?;
            role.auto_admin_mapping = Some(set);
        } else {
            self.expect_keywords(&["SYSTEM", "PRIVILEGES"])?;
            role.system_privileges = Some(if set {
                self.expect_keyword("TO")?;
                self.comma_list(Self::name)?
            } else {
                Vec::new()
            });
        }
        Ok(DdlStatement::DefineRole(role))
    }

    /// `[GLOBAL] MAPPING name USING ... FROM ... TO ...`.
    pub(super) fn define_mapping(&mut self, mode: DefineMode) -> Result<DdlStatement> {
        let global = self.eat_keyword("GLOBAL");
        self.expect_keyword("MAPPING")?;
        let name = self.name()?;
        self.expect_keyword("USING")?;
        let using = self.mapping_using()?;
        self.expect_keyword("FROM")?;
        let (from_type, from) = self.mapping_from()?;
        self.expect_keyword("TO")?;
        let to_role = self.eat_keyword("ROLE");
        if !to_role {
            self.expect_keyword("USER")?;
        }
        let to = if self.at_name() { Some(self.name()?) } else { None };
        Ok(DdlStatement::DefineMapping(DefineMapping {
            mode,
            global,
            name,
            using,
            from_type,
            from,
            to_role,
            to,
        }))
    }

    fn mapping_using(&mut self) -> Result<MappingUsing> {
        if self.eat_symbol("*") {
            return Ok(MappingUsing::Any { database: self.mapping_database()? });
        }
        if self.eat_keyword("PLUGIN") {
            let name = self.name()?;
            return Ok(MappingUsing::Plugin { name, database: self.mapping_database()? });
        }
        if self.eat_keyword("MAPPING") {
            return Ok(MappingUsing::Mapping { database: self.mapping_database()? });
        }
        self.expect_keywords(&["ANY", "PLUGIN"])?;
        let server_wide = self.eat_keyword("SERVERWIDE");
        let database = if server_wide { None } else { self.mapping_database()? };
        Ok(MappingUsing::AnyPlugin { database, server_wide })
    }

    /// `[IN database]`.
    fn mapping_database(&mut self) -> Result<Option<Name>> {
        if self.eat_keyword("IN") { self.name().map(Some) } else { Ok(None) }
    }

    /// `type name`, `ANY type`.
    fn mapping_from(&mut self) -> Result<(Name, Option<MappingName>)> {
        const TYPES: &[&str] = &["USER", "GROUP"];
        if self.eat_keyword("ANY") {
            return Ok((self.name_or_keyword(TYPES)?, None));
        }
        let from_type = self.name_or_keyword(TYPES)?;
        let name = if matches!(self.peek(), TokenKind::Text(_) | TokenKind::Introducer(_)) {
            MappingName::Text(self.text()?)
        } else {
            MappingName::Name(self.name()?)
        };
        Ok((from_type, Some(name)))
    }
}
