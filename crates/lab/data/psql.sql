-- Loops in PSQL and PL/pgSQL for `farbird bench sql psql`. {loops} and {rows} are numbers.

== integers | arithmetic of integers |
--: firebird
execute block returns (answer bigint) as
  declare n bigint = 0;
  declare s bigint = 0;
begin
  while (n < {loops}) do
  begin
    n = n + 1;
    s = mod(s * 31 + n, 1000003);
    if (mod(s, 2) = 0) then s = s + 1;
  end
  answer = s;
  suspend;
end
--: postgresql setup
create or replace function loop_integers() returns bigint language plpgsql as $$
declare n bigint = 0; s bigint = 0;
begin
  while n < {loops} loop
    n := n + 1;
    s := mod(s * 31 + n, 1000003);
    if mod(s, 2) = 0 then s := s + 1; end if;
  end loop;
  return s;
end $$
--: postgresql
select loop_integers()

== strings | cutting, joining and measuring texts |
--: firebird
execute block returns (answer bigint) as
  declare n bigint = 0;
  declare s bigint = 0;
  declare t varchar(100) = '';
begin
  while (n < {loops} / 6) do
  begin
    n = n + 1;
    t = substring(t from 1 for 40) || 'item ' || n;
    s = s + char_length(t) + position('7' in t);
    if (upper(t) like '%99%') then t = '';
  end
  answer = s;
  suspend;
end
--: postgresql setup
create or replace function loop_strings() returns bigint language plpgsql as $$
declare n bigint = 0; s bigint = 0; t varchar(100) = '';
begin
  while n < {loops} / 6 loop
    n := n + 1;
    t := substring(t from 1 for 40) || 'item ' || n;
    s := s + char_length(t) + position('7' in t);
    if upper(t) like '%99%' then t := ''; end if;
  end loop;
  return s;
end $$
--: postgresql
select loop_strings()

== cursor | a cursor over a table |
--: firebird
execute block returns (answer bigint) as
  declare n bigint;
  declare id bigint;
  declare s bigint = 0;
begin
  for select i.id, i.n from items i into :id, :n do
    s = s + mod(id, 7) * n;
  answer = s;
  suspend;
end
--: postgresql setup
create or replace function loop_cursor() returns bigint language plpgsql as $$
declare r record; s bigint = 0;
begin
  for r in select id, n from items loop
    s := s + mod(r.id, 7) * r.n;
  end loop;
  return s;
end $$
--: postgresql
select loop_cursor()

== lookups | a SELECT by key in each iteration |
--: firebird
execute block returns (answer bigint) as
  declare id bigint = 0;
  declare n bigint;
  declare s bigint = 0;
begin
  while (id < {rows}) do
  begin
    id = id + 1;
    select i.n from items i where i.id = :id into :n;
    s = s + n;
  end
  answer = s;
  suspend;
end
--: postgresql setup
create or replace function loop_lookups() returns bigint language plpgsql as $$
declare k bigint = 0; v bigint; s bigint = 0;
begin
  while k < {rows} loop
    k := k + 1;
    select i.n into v from items i where i.id = k;
    s := s + v;
  end loop;
  return s;
end $$
--: postgresql
select loop_lookups()

== updates | an UPDATE by key for each row of a cursor |
--: firebird
execute block returns (answer bigint) as
  declare id bigint;
  declare s bigint = 0;
begin
  for select i.id from items i where i.id <= {rows} / 5 into :id do
  begin
    update items set n = n + 1 where items.id = :id;
    s = s + row_count;
  end
  answer = s;
  suspend;
end
--: postgresql setup
create or replace function loop_updates() returns bigint language plpgsql as $$
declare r record; c bigint; s bigint = 0;
begin
  for r in select id from items where id <= {rows} / 5 loop
    update items set n = n + 1 where id = r.id;
    get diagnostics c = row_count;
    s := s + c;
  end loop;
  return s;
end $$
--: postgresql
select loop_updates()
