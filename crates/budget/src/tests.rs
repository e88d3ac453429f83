use farbird_types::isc;

use super::*;

const MIB: u64 = 1 << 20;

fn limits(statement: u64, server: u64) -> Limits {
    Limits {
        statement_memory: statement,
        server_memory: server,
        statement_temporary: statement,
        server_temporary: server,
        ..Limits::default()
    }
}

#[test]
fn a_statement_gets_no_more_than_its_limit_and_gives_it_back() {
    let server = Account::server(limits(MIB, 10 * MIB));
    let attachment = server.open();
    let statement = attachment.statement();
    let mut memory = statement.reserve();
    memory.grow(MIB as usize).unwrap();
    let error = memory.grow(1).unwrap_err();
    assert!(error.has(isc::VIRMEMEXH) && error.to_string().contains("statement-memory-mib"), "{error}");
    assert_eq!(statement.usage(Resource::Memory), Usage { used: MIB, peak: MIB });
    assert!(attachment.usage(Resource::Memory).used >= MIB - STATEMENT_UNCOUNTED_BYTES);
    memory.shrink(1);
    memory.grow(1).unwrap();
    drop(memory);
    assert_eq!(statement.usage(Resource::Memory), Usage { used: 0, peak: MIB });
    assert_eq!(server.usage(Resource::Memory).used, 0);
    assert!(server.usage(Resource::Memory).peak > 0);
}

#[test]
fn statements_share_the_limit_of_their_server() {
    let server = Account::server(limits(10 * MIB, 10 * MIB));
    let (one, other) = (server.open().statement(), server.open().statement());
    let (mut of_one, mut of_other) = (one.reserve(), other.reserve());
    of_one.grow(6 * MIB as usize).unwrap();
    let error = of_other.grow(6 * MIB as usize).unwrap_err();
    assert!(error.has(isc::VIRMEMEXH) && error.to_string().contains("server-memory-mib"), "{error}");
    of_one.clear();
    of_other.grow(6 * MIB as usize).unwrap();
    server.set_limits(limits(MIB, MIB));
    assert!(of_other.grow(MIB as usize).is_err());
    drop((of_one, of_other));
    assert_eq!(server.usage(Resource::Memory).used, 0);
}

#[test]
fn those_who_can_spill_leave_something_for_each_other() {
    let server = Account::server(limits(16 * MIB, 1024 * MIB));
    let statement = server.open().statement();
    let mut reservations = Vec::new();
    for _ in 0..6 {
        let mut memory = statement.reserve();
        while memory.try_grow(1_000) {}
        assert!(memory.bytes() > 60_000, "{}", memory.bytes());
        reservations.push(memory);
    }
    assert!(reservations[0].bytes() > 7 * MIB as usize);
    statement.reserve().grow(100_000).unwrap();
}

#[test]
fn small_statements_do_not_touch_the_servers_count() {
    let server = Account::server(limits(MIB, MIB));
    let statement = server.statement();
    let mut memory = statement.reserve();
    memory.grow(10_000).unwrap();
    assert_eq!(server.usage(Resource::Memory), Usage::default());
    assert!(statement.usage(Resource::Memory).used >= 10_000);
}

#[test]
fn an_attachment_can_prepare_a_little_when_all_is_used_up() {
    let server = Account::server(limits(4 * MIB, 4 * MIB));
    let statement = server.open().statement();
    let mut memory = statement.reserve();
    memory.grow(4 * MIB as usize).unwrap();
    let attachment = server.open();
    let mut charges = Vec::new();
    let refused = loop {
        match attachment.charge(100_000) {
            Ok(charge) => charges.push(charge),
            Err(error) => break error,
        }
        assert!(charges.len() < 20);
    };
    assert!(refused.has(isc::VIRMEMEXH));
    assert_eq!(charges.len(), 10);
    assert!(attachment.charge(5 * MIB as usize).is_err());
    drop((memory, charges));
    assert_eq!(server.usage(Resource::Memory).used, 0);
}

#[test]
fn a_temporary_file_is_charged_and_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        Account::server(Limits { temporary_folder: folder.path().to_owned(), ..limits(3 * MIB, 4 * MIB) });
    let (one, other) = (server.statement(), server.statement());
    let mut file = one.temporary_file().unwrap();
    let piece = vec![7; MIB as usize / 2];
    let places: Vec<u64> = (0..6).map(|_| file.append(&piece).unwrap()).collect();
    let error = file.append(&[1]).unwrap_err();
    assert!(error.has(isc::OUT_OF_TEMP_SPACE) && error.to_string().contains("statement-temporary-mib"));
    let mut others = other.temporary_file().unwrap();
    others.append(&piece).unwrap();
    let error = (0..4).find_map(|_| others.append(&piece).err()).unwrap();
    assert!(error.has(isc::OUT_OF_TEMP_SPACE) && error.to_string().contains("server-temporary-mib"));
    let mut found = vec![0; piece.len()];
    file.read_at(places[3], &mut found).unwrap();
    assert!(found == piece);
    assert!(file.read_at(3 * MIB, &mut found).is_err());
    assert_eq!(server.usage(Resource::Temporary).used, 4 * MIB);
    // Nobody sees such a file in its folder.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    drop((file, others));
    assert_eq!(server.usage(Resource::Temporary).used, 0);
    assert_eq!(server.usage(Resource::Temporary).peak, 4 * MIB);
}

#[test]
fn parts_show_what_each_takes_of_the_whole_and_share_its_limit() {
    let server = Account::server(limits(MIB, 10 * MIB));
    let whole = server.statement();
    let (first, second) = (whole.part(), whole.part());
    let mut of_first = first.reserve();
    let mut of_second = second.reserve();
    of_first.grow(700 << 10).unwrap();
    assert!(of_second.grow(700 << 10).is_err(), "the whole has a limit, however many parts there are");
    of_second.grow(100 << 10).unwrap();
    of_first.clear();
    of_second.grow(600 << 10).unwrap();
    let peak = |budget: &StatementBudget| budget.usage(Resource::Memory).peak;
    assert_eq!(peak(&first), 700 << 10);
    assert_eq!(peak(&whole), 800 << 10);
    assert_eq!(first.taken_in_all(Resource::Memory), 700 << 10);
    drop((of_first, of_second));
    assert_eq!(whole.usage(Resource::Memory).used, 0);
    assert_eq!(second.usage(Resource::Memory).used, 0);
}

#[test]
fn who_works_leaves_fewer_threads_to_help_others() {
    let server = Account::server(Limits { parallel_workers: 3, ..Limits::default() });
    let report = server.begin_working();
    let (first, second) = (server.helping_thread(), server.helping_thread());
    assert!(first.is_some() && second.is_some() && server.helping_thread().is_none());
    assert!(!server.is_crowded());
    let other = server.open().begin_working();
    assert!(server.is_crowded(), "two work and two help, where three may");
    drop(second);
    assert!(!server.is_crowded() && server.helping_thread().is_none());
    drop((other, report));
    // One who asks works himself, whether anybody has noted it or not.
    let again = server.helping_thread();
    assert!(again.is_some() && server.helping_thread().is_none());
}

#[test]
fn groups_get_all_of_their_share_and_sorts_no_more_than_helps_them() {
    let server = Account::server(limits(512 * MIB, 1024 * MIB));
    let statement = server.statement();
    let mut groups = statement.reserve();
    assert!(groups.try_grow_to_share(200 << 20) && !groups.try_grow_to_share(100 << 20));
    let mut sort = statement.reserve();
    assert!(sort.try_grow(60 << 20) && !sort.try_grow(10 << 20));
}
