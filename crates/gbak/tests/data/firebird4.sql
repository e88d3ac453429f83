-- firebird3.sql, and:
create table T_NEW (ID integer primary key, D16 decfloat(16), D34 decfloat(34), I128 int128, N38 numeric(38,4), TTZ time with time zone, TSTZ timestamp with time zone, BIN binary(4), VB varbinary(8));
insert into T_NEW values (1, 1.5, -123456789012345678901234567890.1234, 170141183460469231731687303715884105727, -12345678901234567890.1234, '10:20:30.5 +02:00', '2024-03-31 01:30:00 Europe/Berlin', x'00010203', x'ff');
insert into T_NEW (ID, D16, D34, I128, N38) values (2, -0.001, 1e6000, -1, 0.0001);
insert into T_NEW (ID) values (3);
create role R_SYS set system privileges to USER_MANAGEMENT, MONITOR_ANY_ATTACHMENT;
create table T_DEF (A integer) sql security definer;
commit;
