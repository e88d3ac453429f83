create table t (a integer, b integer, d date, s varchar(20), tz timestamp with time zone, bn varbinary(20));
create view w1 as select a, sum(b) over (order by a rows unbounded preceding) as s from t;
create view w2 as select a, sum(b) over (order by a rows between 1 preceding and 2 following) as s from t;
create view w3 as select a, sum(b) over (partition by d order by a range between unbounded preceding and current row) as s, avg(b) over w as m, count(*) over () as c from t window w as (partition by d, s order by a desc nulls last rows between current row and unbounded following);
create view w4 as select a, first_value(b) over (order by a range between 5 preceding and b following) as s from t;
create view w5 as select a, nth_value(b, 2) over (order by a) x, nth_value(b, 2) from last over (order by a) y, nth_value(b, 2) from first over (order by a) z from t;
create view w6 as select a, sum(b) over (rows 3 preceding) as s, sum(a) over (rows 3 preceding) as r, sum(a) over (order by a) q from t;
create view w7 as select d, sum(sum(b)) over (order by d rows unbounded preceding) as s from t group by d;
create view k1 as select hash(s) h1, hash(s using crc32) h2, crypt_hash(s using sha256) h3 from t;
create view k2 as select encrypt(s using aes mode ctr key bn iv bn ctr_length 12) e1, encrypt(s using rc4 key bn) e2, decrypt(s using aes mode cbc key bn iv bn) e3, encrypt(s using chacha20 key bn iv bn) e5, encrypt(s using aes mode ctr key bn iv bn ctr_big_endian ctr_length 12) e6, encrypt(s using chacha20 key bn iv bn counter 5) e7 from t;
create view k3 as select rsa_private(1024) r1, rsa_public(bn) r2, rsa_encrypt(s key bn lparam s hash sha256) r3, rsa_encrypt(s key bn) r4, rsa_decrypt(bn key bn hash sha1) r5, rsa_sign_hash(bn key bn hash sha256 salt_length 5) r6, rsa_verify_hash(bn signature bn key bn hash sha256 salt_length 7) r7, rsa_sign_hash(bn key bn) r8, rsa_encrypt(s key bn pkcs_1_5) r9 from t;
create view k4 as select first_day(of month from d) f1, last_day(of year from d) f2, rdb$system_privilege(user_management) p from t;
create view z1 as select timestamp '2020-01-01 10:11:12.1234 UTC' a, time '10:11:12 +02:00' b, timestamp '2020-06-01 10:11:12 Europe/Berlin' c, timestamp '2020-01-01 1:2:3 -03:30' e from t;
create view l1 as select t.a, x.b from t, lateral (select max(u.b) b from t u where u.a = t.a) x;
create view l2 as select t.a, x.b from t left join lateral (select first 1 u.b from t u where u.a = t.a order by u.b) x on true;
set term ^;
create procedure m1 as begin
  merge into t using (select a i, b j from t) s on t.a = s.i
    when matched and s.j > 1 then update set b = s.j
    when not matched then insert (a, b) values (s.i, s.j)
    when not matched by source and t.b > 1 then update set b = 0
    when not matched by source then delete
    order by s.j;
end^
create procedure u1 returns (r integer) as begin
  update or insert into t (a, b) values (1, default) matching (a) order by b rows 2 returning old.b into r;
end^
create procedure s1 as begin
  set time zone 'UTC';
  set decfloat round ceiling;
end^
create procedure x3 returns (a varchar(20)) as begin
a = rdb$time_zone_util.database_version();
for select 1 from rdb$time_zone_util.transitions('UTC', timestamp '2020-01-01', timestamp '2021-01-01') t into a do suspend;
end^
create procedure x4 returns (a integer) as
declare h integer;
begin
h = rdb$blob_util.open_blob(null);
execute procedure rdb$blob_util.close_handle(h);
a = rdb$profiler.start_session('x');
end^
create procedure x5 returns (a integer) as
declare function f1(a integer) returns integer;
declare procedure p1(a integer = 3) returns (b integer);
declare function f2(a integer) returns integer as begin return f1(a - 1); end
declare function f1(a integer) returns integer as begin return f2(a - 1); end
declare procedure p1(a integer) returns (b integer) as begin b = f1(a); suspend; end
begin a = f1(3); execute procedure p1(1) returning_values a; execute procedure p1 returning_values a; end^
create trigger r1 on disconnect as begin if (resetting) then exit; end^
set term ;^
