//! Databases, shadows, filters, collations, character sets, the pool of external connections.

use crate::ast::{
    CollationBase, ConnectionsPoolChange, CreateCollation, CreateDatabase, CreateShadow, DatabaseChange,
    DatabaseFile, DdlStatement, DeclareFilter, Name, Timeout, TimeoutUnit,
};
use crate::lexer::TokenKind;
use crate::parser::cursor::Parser;
use crate::parser::transaction::once;
use farbird_types::Result;

impl Parser<'_> {
    /// `DATABASE 'file' options`.
    pub(super) fn create_database(&mut self) -> Result<DdlStatement> {
        self.take();
        let mut database = CreateDatabase { file: self.text()?, ..CreateDatabase::default() };
        while self.database_option(&mut database)? {}
        Ok(DdlStatement::CreateDatabase(database))
    }

    /// One option; false if there is no further one.
    fn database_option(&mut self, database: &mut CreateDatabase) -> Result<bool> {
        match self.keyword().unwrap_or_default() {
            "USER" => {
                self.take();
                let user = self.name_or_text()?;
                once(&mut database.user, user, "USER")?;
            }
            "ROLE" => {
                self.take();
                let role = self.name_or_text()?;
                once(&mut database.role, role, "ROLE")?;
            }
            "PASSWORD" => {
                self.take();
                let password = self.text()?;
                once(&mut database.password, password, "PASSWORD")?;
            }
            "SET" => {
                self.expect_keywords(&["SET", "NAMES"])?;
                let names = self.text()?;
                once(&mut database.names, names, "SET NAMES")?;
            }
            "PAGE_SIZE" => {
                self.take();
                self.eat_symbol("=");
                let size = self.long()?.unsigned_abs();
                once(&mut database.page_size, size, "PAGE_SIZE")?;
            }
            "LENGTH" => {
                let length = self.page_length()?;
                once(&mut database.length, length, "LENGTH")?;
            }
            "DEFAULT" => self.default_character_set(database)?,
            "FILE" => database.files.push(self.database_file()?),
            "DIFFERENCE" => {
                self.expect_keywords(&["DIFFERENCE", "FILE"])?;
                let file = self.text()?;
                once(&mut database.difference_file, file, "DIFFERENCE FILE")?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn default_character_set(&mut self, database: &mut CreateDatabase) -> Result<()> {
        self.expect_keywords(&["DEFAULT", "CHARACTER", "SET"])?;
        let character_set = self.character_set_name()?;
        once(&mut database.character_set, character_set, "DEFAULT CHARACTER SET")?;
        if self.eat_keyword("COLLATION") {
            database.collation = Some(self.name()?);
        }
        Ok(())
    }

    /// A name, or a string in its place.
    fn name_or_text(&mut self) -> Result<String> {
        if self.at_name() { Ok(self.name()?.text) } else { self.text() }
    }

    /// `LENGTH [=] n [PAGE | PAGES]`.
    fn page_length(&mut self) -> Result<u32> {
        self.take();
        self.eat_symbol("=");
        let length = self.long()?.unsigned_abs();
        if !self.eat_keyword("PAGES") {
            self.eat_keyword("PAGE");
        }
        Ok(length)
    }

    /// `FILE 'file' [STARTING [AT [PAGE]] n] [LENGTH [=] n [PAGES]]`.
    fn database_file(&mut self) -> Result<DatabaseFile> {
        self.expect_keyword("FILE")?;
        let mut file = DatabaseFile { name: self.text()?, starting: None, length: None };
        loop {
            if self.eat_keyword("STARTING") {
                if self.eat_keyword("AT") {
                    self.eat_keyword("PAGE");
                }
                file.starting = Some(self.long()?.unsigned_abs());
            } else if self.at_keyword("LENGTH") {
                file.length = Some(self.page_length()?);
            } else {
                return Ok(file);
            }
        }
    }

    /// `DATABASE change ...`.
    pub(super) fn alter_database(&mut self) -> Result<DdlStatement> {
        self.take();
        let mut changes = Vec::new();
        while changes.is_empty() || !(self.at_symbol(";") || matches!(self.peek(), TokenKind::End)) {
            self.database_change(&mut changes)?;
        }
        Ok(DdlStatement::AlterDatabase(changes))
    }

    fn database_change(&mut self, changes: &mut Vec<DatabaseChange>) -> Result<()> {
        if let Some(enabled) = self.publication() {
            changes.push(DatabaseChange::Publication(enabled));
            return Ok(());
        }
        let change = match self.keyword().unwrap_or_default() {
            "ADD" => {
                self.take();
                if !self.at_keyword("DIFFERENCE") {
                    changes.push(DatabaseChange::AddFile(self.database_file()?));
                    while self.at_keyword("FILE") {
                        changes.push(DatabaseChange::AddFile(self.database_file()?));
                    }
                    return Ok(());
                }
                self.expect_keywords(&["DIFFERENCE", "FILE"])?;
                DatabaseChange::AddDifferenceFile(self.text()?)
            }
            "DROP" => {
                self.take();
                if self.eat_keyword("LINGER") {
                    DatabaseChange::DropLinger
                } else {
                    self.expect_keywords(&["DIFFERENCE", "FILE"])?;
                    DatabaseChange::DropDifferenceFile
                }
            }
            "BEGIN" => {
                self.expect_keywords(&["BEGIN", "BACKUP"])?;
                DatabaseChange::BeginBackup
            }
            "END" => {
                self.expect_keywords(&["END", "BACKUP"])?;
                DatabaseChange::EndBackup
            }
            "SET" => self.database_setting()?,
            "ENCRYPT" => {
                self.expect_keywords(&["ENCRYPT", "WITH"])?;
                let plugin = self.name()?;
                let key = if self.eat_keyword("KEY") { Some(self.name()?) } else { None };
                DatabaseChange::Encrypt { plugin, key }
            }
            "DECRYPT" => {
                self.take();
                DatabaseChange::Decrypt
            }
            "INCLUDE" => {
                self.take();
                let tables = self.published_tables()?;
                self.expect_keywords(&["TO", "PUBLICATION"])?;
                DatabaseChange::IncludeInPublication(tables)
            }
            "EXCLUDE" => {
                self.take();
                let tables = self.published_tables()?;
                self.expect_keywords(&["FROM", "PUBLICATION"])?;
                DatabaseChange::ExcludeFromPublication(tables)
            }
            _ => return Err(self.unexpected()),
        };
        changes.push(change);
        Ok(())
    }

    fn database_setting(&mut self) -> Result<DatabaseChange> {
        self.take();
        if self.eat_keyword("LINGER") {
            self.expect_keyword("TO")?;
            return Ok(DatabaseChange::SetLinger(self.long()?.unsigned_abs()));
        }
        if self.at_word("STORAGE") {
            return Ok(DatabaseChange::Storage(self.storage()?));
        }
        self.expect_keyword("DEFAULT")?;
        if let Some(security) = self.sql_security()? {
            return Ok(DatabaseChange::SetDefaultSqlSecurity(security));
        }
        self.expect_keywords(&["CHARACTER", "SET"])?;
        Ok(DatabaseChange::SetDefaultCharacterSet(self.character_set_name()?))
    }

    /// `ALL`, `TABLE name, ...`.
    fn published_tables(&mut self) -> Result<Vec<Name>> {
        if self.eat_keyword("ALL") {
            return Ok(Vec::new());
        }
        self.expect_keyword("TABLE")?;
        self.comma_list(Self::name)
    }

    /// `SHADOW n [AUTO | MANUAL] [CONDITIONAL] 'file' [LENGTH ...] [FILE ...]`.
    pub(super) fn create_shadow(&mut self) -> Result<DdlStatement> {
        self.take();
        let number = self.positive_short()?;
        let manual = self.eat_keyword("MANUAL");
        if !manual {
            self.eat_keyword("AUTO");
        }
        let conditional = self.eat_keyword("CONDITIONAL");
        let name = self.text()?;
        let length = if self.at_keyword("LENGTH") { Some(self.page_length()?) } else { None };
        let mut files = vec![DatabaseFile { name, starting: None, length }];
        while self.at_keyword("FILE") {
            files.push(self.database_file()?);
        }
        let number = u16::try_from(number).unwrap_or(u16::MAX);
        Ok(DdlStatement::CreateShadow(CreateShadow { number, manual, conditional, files }))
    }

    /// `FILTER name INPUT_TYPE t OUTPUT_TYPE t ENTRY_POINT 'x' MODULE_NAME 'x'`.
    pub(super) fn declare_filter(&mut self) -> Result<DdlStatement> {
        self.take();
        let name = self.name()?;
        self.expect_keyword("INPUT_TYPE")?;
        let input = self.blob_subtype()?;
        self.expect_keyword("OUTPUT_TYPE")?;
        let output = self.blob_subtype()?;
        self.expect_keyword("ENTRY_POINT")?;
        let entry_point = self.text()?;
        self.expect_keyword("MODULE_NAME")?;
        let module_name = self.text()?;
        Ok(DdlStatement::DeclareFilter(DeclareFilter { name, input, output, entry_point, module_name }))
    }

    /// `COLLATION name FOR character_set [FROM base] attributes`.
    pub(super) fn create_collation(&mut self) -> Result<DdlStatement> {
        self.take();
        let name = self.name()?;
        self.expect_keyword("FOR")?;
        let character_set = self.character_set_name()?;
        let from = if self.eat_keyword("FROM") { Some(self.collation_base()?) } else { None };
        let mut collation = CreateCollation {
            name,
            character_set,
            from,
            pad_space: None,
            case_sensitive: None,
            accent_sensitive: None,
            attributes: None,
        };
        while self.collation_attribute(&mut collation)? {}
        if matches!(self.peek(), TokenKind::Text(_) | TokenKind::Introducer(_)) {
            collation.attributes = Some(self.text()?);
        }
        Ok(DdlStatement::CreateCollation(collation))
    }

    fn collation_base(&mut self) -> Result<CollationBase> {
        if !self.eat_keyword("EXTERNAL") {
            return Ok(CollationBase::Collation(self.name()?));
        }
        self.expect_symbol("(")?;
        let name = self.text()?;
        self.expect_symbol(")")?;
        Ok(CollationBase::External(name))
    }

    /// One attribute; false if there is no further one.
    fn collation_attribute(&mut self, collation: &mut CreateCollation) -> Result<bool> {
        if self.eat_keyword("NO") {
            self.expect_keyword("PAD")?;
            once(&mut collation.pad_space, false, "PAD SPACE | NO PAD")?;
        } else if self.eat_keyword("PAD") {
            self.expect_keyword("SPACE")?;
            once(&mut collation.pad_space, true, "PAD SPACE | NO PAD")?;
        } else if self.eat_keyword("CASE") {
            let sensitive = self.sensitivity()?;
            once(&mut collation.case_sensitive, sensitive, "CASE SENSITIVE | CASE INSENSITIVE")?;
        } else if self.eat_keyword("ACCENT") {
            let sensitive = self.sensitivity()?;
            once(&mut collation.accent_sensitive, sensitive, "ACCENT SENSITIVE | ACCENT INSENSITIVE")?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn sensitivity(&mut self) -> Result<bool> {
        if self.eat_keyword("SENSITIVE") {
            return Ok(true);
        }
        self.expect_keyword("INSENSITIVE")?;
        Ok(false)
    }

    /// `CHARACTER SET name SET DEFAULT COLLATION collation`.
    pub(super) fn alter_character_set(&mut self) -> Result<DdlStatement> {
        self.expect_keywords(&["CHARACTER", "SET"])?;
        let name = self.character_set_name()?;
        self.expect_keywords(&["SET", "DEFAULT", "COLLATION"])?;
        Ok(DdlStatement::AlterCharacterSet { name, collation: self.name()? })
    }

    /// `EXTERNAL CONNECTIONS POOL change`.
    pub(super) fn alter_connections_pool(&mut self) -> Result<DdlStatement> {
        self.expect_keywords(&["EXTERNAL", "CONNECTIONS", "POOL"])?;
        let change = if self.eat_keyword("CLEAR") {
            if self.eat_keyword("ALL") {
                ConnectionsPoolChange::ClearAll
            } else if self.eat_keyword("OLDEST") {
                ConnectionsPoolChange::ClearOldest
            } else {
                ConnectionsPoolChange::Clear(self.text()?)
            }
        } else {
            self.expect_keyword("SET")?;
            if self.eat_keyword("SIZE") {
                ConnectionsPoolChange::Size(u32::from(self.unsigned_short()?))
            } else {
                self.expect_keyword("LIFETIME")?;
                ConnectionsPoolChange::Lifetime(self.pool_lifetime()?)
            }
        };
        Ok(DdlStatement::AlterConnectionsPool(change))
    }

    fn pool_lifetime(&mut self) -> Result<Timeout> {
        let count = u32::from(self.unsigned_short()?);
        let unit = match self.keyword() {
            Some("HOUR") => TimeoutUnit::Hour,
            Some("MINUTE") => TimeoutUnit::Minute,
            Some("SECOND") => TimeoutUnit::Second,
            _ => return Err(self.unexpected()),
        };
        self.take();
        Ok(Timeout { count, unit })
    }
}
