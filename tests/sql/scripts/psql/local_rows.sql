-- Procedures of a routine in FROM.
create table t (id integer);
insert into t values (1);
insert into t values (3);
commit;
set term ^;
execute block returns (x integer) as declare procedure p (a integer) returns (b integer) as begin b = a; suspend; b = a + 1; suspend; end begin for select b from p(5) into x do suspend; end^
execute block returns (x integer) as declare procedure p (a integer) returns (b integer) as begin b = a; suspend; b = a + 1; suspend; end begin for select t.id + p.b from t cross join p(t.id) order by 1 into x do suspend; end^
execute block returns (x integer) as declare procedure p (a integer = 7) returns (b integer) as begin b = a; suspend; end begin select b from p into x; suspend; select b from p(8) into x; suspend; select max(q.b) from p(9) q into x; suspend; end^
execute block returns (x integer) as declare procedure p (a integer) returns (b integer) as begin b = a; suspend; end begin select b from p into x; suspend; end^
execute block returns (x integer) as declare procedure p (a integer) returns (b integer) as begin b = a; suspend; end begin select b from p(1, 2) into x; suspend; end^
execute block returns (x integer) as declare procedure p (a integer) returns (b integer) as begin b = a; suspend; end begin select c from p(1) into x; suspend; end^
execute block returns (x integer) as declare n integer = 10; declare procedure p returns (b integer) as begin b = n; suspend; end begin n = 11; select b from p into x; suspend; n = 12; select b from p into x; suspend; end^
execute block returns (x integer) as declare procedure p returns (b integer) as begin for select id from t order by id into b do suspend; end begin x = (select sum(b) from p); suspend; if (exists (select 1 from p where b = 3)) then x = 100; suspend; end^
execute block returns (x integer) as declare procedure p (n integer) returns (b integer) as begin b = n; suspend; if (n > 0) then for select b from p(:n - 1) into b do suspend; end begin for select b from p(3) into x do suspend; end^
execute block as declare procedure p (n integer) returns (b integer) as begin b = n; suspend; b = n / 0; suspend; end begin insert into t select b from p(1); end^
execute block returns (x integer) as declare procedure t returns (b integer) as begin b = 99; suspend; end begin select count(*) from t into x; suspend; select b from t into x; suspend; end^
create procedure outside returns (x integer) as declare procedure p (a integer) returns (b integer) as begin b = a * 2; suspend; end begin for select p.b from t, p(t.id) into x do suspend; end^
commit^
select x from outside order by x^
select rdb$depended_on_name from rdb$dependencies where rdb$dependent_name = 'OUTSIDE' order by 1^
