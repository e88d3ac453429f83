//! What is asked of the catalog for plain lists.

/// A list of objects.
pub(super) struct Listing {
    /// The words after SHOW.
    words: &'static [&'static str],
    pub(super) heads: &'static [&'static str],
    /// Which column a name is looked for in.
    pub(super) name_column: usize,
    pub(super) sql: &'static str,
}

/// The list that a word after SHOW names.
pub(super) fn find(word: &str) -> Option<&'static Listing> {
    LISTINGS.iter().find(|listing| listing.words.contains(&word))
}

/// The word for what is listed, if a name behind it is that of a table or the like, whose parts those are.
pub(super) fn parts(word: &str) -> Option<&'static str> {
    let word = find(word)?.words.first().copied()?;
    ["GRANTS", "CHECKS", "DEPENDENCIES", "COMMENTS", "SECCLASSES"].contains(&word).then_some(word)
}

/// The words after SHOW that lists have, for completion.
pub(in crate::shell) fn words() -> impl Iterator<Item = &'static str> {
    LISTINGS.iter().filter_map(|listing| listing.words.first().copied())
}

const LISTINGS: &[Listing] = &[
    Listing {
        words: &["RELATIONS"],
        heads: &["NAME", "KIND", "OWNER", "DESCRIPTION"],
        name_column: 0,
        sql: "select rdb$relation_name,
            case when rdb$view_blr is not null then 'view'
                else decode(coalesce(rdb$relation_type, 0), 2, 'external table', 4, 'temporary table, rows stay',
                    5, 'temporary table, rows go at commit', 'table') end,
            rdb$owner_name, rdb$description
            from rdb$relations where coalesce(rdb$system_flag, 0) = 0 order by 1",
    },
    Listing {
        words: &["TABLES"],
        heads: &["TABLE_NAME", "KIND", "OWNER", "DESCRIPTION"],
        name_column: 0,
        sql: "select rdb$relation_name, decode(coalesce(rdb$relation_type, 0), 2, 'external table',
                4, 'temporary table, rows stay', 5, 'temporary table, rows go at commit', 'table'),
            rdb$owner_name, rdb$description
            from rdb$relations where coalesce(rdb$system_flag, 0) = 0 and rdb$view_blr is null order by 1",
    },
    Listing {
        words: &["VIEWS"],
        heads: &["VIEW_NAME", "OWNER", "DESCRIPTION"],
        name_column: 0,
        sql: "select rdb$relation_name, rdb$owner_name, rdb$description
            from rdb$relations where coalesce(rdb$system_flag, 0) = 0 and rdb$view_blr is not null order by 1",
    },
    Listing {
        words: &["SYSTEM"],
        heads: &["TABLE_NAME"],
        name_column: 0,
        sql: "select rdb$relation_name from rdb$relations where coalesce(rdb$system_flag, 0) <> 0 order by 1",
    },
    Listing {
        words: &["PROCEDURES", "PROC"],
        heads: &["PROCEDURE_NAME", "INPUTS", "OUTPUTS", "OWNER"],
        name_column: 0,
        sql: "select rdb$procedure_name, coalesce(rdb$procedure_inputs, 0), coalesce(rdb$procedure_outputs, 0),
            rdb$owner_name from rdb$procedures
            where coalesce(rdb$system_flag, 0) = 0 and rdb$package_name is null order by 1",
    },
    Listing {
        words: &["FUNCTIONS"],
        heads: &["FUNCTION_NAME", "OWNER"],
        name_column: 0,
        sql: "select rdb$function_name, rdb$owner_name from rdb$functions
            where coalesce(rdb$system_flag, 0) = 0 and rdb$package_name is null order by 1",
    },
    Listing {
        words: &["PACKAGES"],
        heads: &["PACKAGE_NAME", "OWNER"],
        name_column: 0,
        sql: "select rdb$package_name, rdb$owner_name from rdb$packages
            where coalesce(rdb$system_flag, 0) = 0 order by 1",
    },
    Listing {
        words: &["EXCEPTIONS", "EXCEPTION"],
        heads: &["EXCEPTION_NAME", "NUMBER", "MESSAGE"],
        name_column: 0,
        sql: "select rdb$exception_name, rdb$exception_number, rdb$message from rdb$exceptions
            where coalesce(rdb$system_flag, 0) = 0 order by 1",
    },
    Listing {
        words: &["ROLES", "ROLE"],
        heads: &["ROLE_NAME", "OWNER"],
        name_column: 0,
        sql: "select rdb$role_name, rdb$owner_name from rdb$roles
            where coalesce(rdb$system_flag, 0) = 0 order by 1",
    },
    Listing {
        words: &["USERS", "USER"],
        heads: &["USER_NAME", "FROM", "ATTACHMENTS"],
        name_column: 0,
        sql: "select mon$user, coalesce(mon$remote_address, 'here'), count(*) from mon$attachments
            where coalesce(mon$system_flag, 0) = 0 group by 1, 2 order by 1, 2",
    },
    Listing {
        words: &["GRANTS", "GRANT"],
        heads: &["ON", "COLUMN", "PRIVILEGE", "TO", "GRANTED_BY", "MAY_GRANT"],
        name_column: 0,
        sql: "select p.rdb$relation_name, p.rdb$field_name,
            decode(trim(p.rdb$privilege), 'S', 'SELECT', 'I', 'INSERT', 'U', 'UPDATE', 'D', 'DELETE',
                'R', 'REFERENCES', 'X', 'EXECUTE', 'G', 'USAGE', 'M', 'ROLE', 'C', 'CREATE', 'L', 'ALTER',
                'O', 'DROP', trim(p.rdb$privilege)),
            p.rdb$user, p.rdb$grantor, iif(coalesce(p.rdb$grant_option, 0) = 0, '', 'yes')
            from rdb$user_privileges p
            where p.rdb$user <> p.rdb$grantor and p.rdb$relation_name not starting with 'RDB$'
                and p.rdb$relation_name not starting with 'MON$' and p.rdb$relation_name not starting with 'SEC$'
                and p.rdb$relation_name not starting with 'SQL$'
            order by 1, 4, 3, 2",
    },
    Listing {
        words: &["COLLATIONS", "COLLATION", "COLLATE"],
        heads: &["COLLATION_NAME", "CHARACTER_SET"],
        name_column: 0,
        sql: "select c.rdb$collation_name, s.rdb$character_set_name from rdb$collations c
            join rdb$character_sets s on s.rdb$character_set_id = c.rdb$character_set_id order by 2, 1",
    },
    Listing {
        words: &["CHECKS", "CHECK"],
        heads: &["TABLE_NAME", "CONSTRAINT_NAME", "CHECK"],
        name_column: 0,
        sql: "select c.rdb$relation_name, c.rdb$constraint_name, t.rdb$trigger_source
            from rdb$relation_constraints c
            join rdb$check_constraints k on k.rdb$constraint_name = c.rdb$constraint_name
            join rdb$triggers t on t.rdb$trigger_name = k.rdb$trigger_name and t.rdb$trigger_type = 1
            where c.rdb$constraint_type = 'CHECK' order by 1, 2",
    },
    Listing {
        words: &["DEPENDENCIES", "DEPENDENCY", "DEPEN", "DEP"],
        heads: &["OBJECT", "DEPENDS_ON", "COLUMN"],
        name_column: 0,
        sql: "select distinct rdb$dependent_name, rdb$depended_on_name, rdb$field_name from rdb$dependencies
            order by 1, 2, 3",
    },
    Listing {
        words: &["COMMENTS", "COMMENT"],
        heads: &["OBJECT", "COLUMN", "KIND", "COMMENT"],
        name_column: 0,
        sql: "select rdb$relation_name, '', iif(rdb$view_blr is null, 'table', 'view'), rdb$description
                from rdb$relations where rdb$description is not null
            union all select rdb$relation_name, rdb$field_name, 'column', rdb$description
                from rdb$relation_fields where rdb$description is not null
            union all select rdb$procedure_name, '', 'procedure', rdb$description
                from rdb$procedures where rdb$description is not null
            union all select rdb$function_name, '', 'function', rdb$description
                from rdb$functions where rdb$description is not null
            union all select rdb$trigger_name, '', 'trigger', rdb$description
                from rdb$triggers where rdb$description is not null
            union all select rdb$field_name, '', 'domain', rdb$description
                from rdb$fields where rdb$description is not null
            union all select rdb$index_name, '', 'index', rdb$description
                from rdb$indices where rdb$description is not null
            union all select rdb$generator_name, '', 'sequence', rdb$description
                from rdb$generators where rdb$description is not null
            union all select rdb$exception_name, '', 'exception', rdb$description
                from rdb$exceptions where rdb$description is not null
            union all select rdb$role_name, '', 'role', rdb$description
                from rdb$roles where rdb$description is not null
            union all select rdb$package_name, '', 'package', rdb$description
                from rdb$packages where rdb$description is not null
            union all select rdb$map_name, '', 'mapping', rdb$description
                from rdb$auth_mapping where rdb$description is not null
            union all select sec$map_name, '', 'global mapping', sec$description
                from sec$global_auth_mapping where sec$description is not null",
    },
    Listing {
        words: &["FILTERS", "FILTER"],
        heads: &["FILTER_NAME", "INPUT_SUBTYPE", "OUTPUT_SUBTYPE", "MODULE", "ENTRY_POINT"],
        name_column: 0,
        sql: "select rdb$function_name, rdb$input_sub_type, rdb$output_sub_type, rdb$module_name, rdb$entrypoint
            from rdb$filters order by 1",
    },
    Listing {
        words: &["MAPPINGS", "MAPPING", "MAP"],
        heads: &["MAPPING_NAME", "GLOBAL", "USING", "IN", "FROM", "TO"],
        name_column: 0,
        sql: "with m as (
                select rdb$map_name n, 'no' g, rdb$map_using u, rdb$map_plugin p, rdb$map_db d, rdb$map_from_type t,
                    rdb$map_from f, rdb$map_to_type r, rdb$map_to o from rdb$auth_mapping
                union all select sec$map_name, 'yes', sec$map_using, sec$map_plugin, sec$map_db, sec$map_from_type,
                    sec$map_from, sec$map_to_type, sec$map_to from sec$global_auth_mapping)
            select trim(n), g, case u when 'P' then coalesce('plugin ' || trim(p), 'any plugin')
                    when 'S' then 'any plugin serverwide' when 'M' then 'mapping' else trim(u) end, trim(d),
                iif(f = '*', 'any ' || trim(t), trim(t) || ' ' || trim(f)),
                iif(r = 0, 'user', 'role') || coalesce(' ' || trim(o), '')
            from m order by 2, 1",
    },
    Listing {
        words: &["PUBLICATIONS", "PUBLICATION"],
        heads: &["PUBLICATION_NAME", "ACTIVE", "NEW_TABLES"],
        name_column: 0,
        sql: "select rdb$publication_name, iif(rdb$active_flag = 0, 'no', 'yes'), iif(rdb$auto_enable = 0, 'no', 'yes')
            from rdb$publications order by 1",
    },
    Listing {
        words: &["SECCLASSES", "SECCLASS"],
        heads: &["RELATION_NAME", "SECURITY_CLASS"],
        name_column: 0,
        sql: "select rdb$relation_name, rdb$security_class from rdb$relations
            where coalesce(rdb$system_flag, 0) = 0 order by 1",
    },
    Listing {
        words: &["DIALECT"],
        heads: &["DIALECT"],
        name_column: 0,
        sql: "select mon$sql_dialect from mon$database",
    },
];

/// Sequences: name, first value, increment.
pub(super) const SEQUENCES: &str = "select rdb$generator_name, rdb$initial_value, rdb$generator_increment
    from rdb$generators where coalesce(rdb$system_flag, 0) = 0 order by 1";

/// The database: one row.
pub(super) const DATABASE: &str = "select m.mon$database_name, d.owner_name, r.rdb$character_set_name, m.mon$sql_dialect,
    m.mon$ods_major, m.mon$ods_minor, m.mon$page_size, m.mon$pages, m.mon$creation_date, m.mon$forced_writes,
    m.mon$read_only, m.mon$sweep_interval, m.mon$oldest_transaction, m.mon$oldest_active, m.mon$oldest_snapshot,
    m.mon$next_transaction
    from mon$database m cross join rdb$database r
    cross join (select rdb$owner_name as owner_name from rdb$relations where rdb$relation_name = 'RDB$DATABASE') d";

/// What kinds of objects have a name; the parameters are that name, for each kind.
pub(super) const KIND_OF: &str = "select 1 from rdb$relations where rdb$relation_name = ?
    union all select 2 from rdb$procedures where rdb$procedure_name = ? and rdb$package_name is null
    union all select 3 from rdb$functions where rdb$function_name = ? and rdb$package_name is null
    union all select 4 from rdb$triggers where rdb$trigger_name = ?
    union all select 5 from rdb$generators where rdb$generator_name = ?
    union all select 6 from rdb$fields where rdb$field_name = ?
    union all select 7 from rdb$exceptions where rdb$exception_name = ?
    union all select 8 from rdb$indices where rdb$index_name = ?
    union all select 9 from rdb$packages where rdb$package_name = ?";
