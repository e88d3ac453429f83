//! The services manager: any action, users, statistics.

use farbird_client::blocking::Services;
use farbird_client::{ServiceAction, Statistics, User};
use farbird_types::isc;

use crate::servers::all;

#[test]
fn users_are_managed_and_statistics_told() {
    for place in all() {
        let location = place.location();
        let connection = place.create_at(&location);
        let (server, file) = location.split_once(':').unwrap();
        let (host, port) = server.split_once('/').unwrap();
        let services = Services::attach(host, port.parse().unwrap(), &place.options).unwrap();
        let version = services.server_version().unwrap();
        assert!(version.contains("Firebird") || version.contains("Farbird"), "{version}");

        let name = format!("CLIENT_{}", std::process::id());
        let user = User { name: name.clone(), first_name: "Ada".to_owned(), ..User::default() };
        services.add_user(&user, "secret").unwrap();
        assert!(services.users(None).unwrap().iter().any(|known| known.name == name));
        let changed = User { last_name: "L".to_owned(), ..user };
        services.modify_user(&changed, None).unwrap();
        let [known] = &services.users(Some(&name)).unwrap()[..] else { panic!("one user") };
        assert_eq!((known.first_name.as_str(), known.last_name.as_str()), ("Ada", "L"));
        services.delete_user(&name).unwrap();
        assert!(services.users(None).unwrap().iter().all(|known| known.name != name));

        match services.statistics(file, Statistics::Header) {
            Ok(lines) => assert!(lines.iter().any(|line| line.contains("Page size")), "{lines:?}"),
            // Farbird has none yet, and says so.
            Err(error) => assert_eq!(error.gds_code(), isc::WISH_LIST, "{error}"),
        }
        let unknown = ServiceAction::new(200);
        assert!(services.run(&unknown).is_err());
        services.close().unwrap();
        connection.drop_database().unwrap();
    }
}
