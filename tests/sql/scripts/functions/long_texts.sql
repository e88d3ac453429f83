-- No text is described as longer than a column may be; what does not fit then is refused.
create table a (a varchar(30000) character set win1252);
create table b (b varchar(8000) character set utf8);
create table o (o varchar(32000) character set octets);
insert into b values (rpad('', 8000, '€'));
commit;
select a, a || a, upper(a || a), cast(a as varchar(32765) character set win1252), lpad(a, 32766), maxvalue(a, a || a), coalesce(a || a, 'x'), left(a, 10) from a;
select o || o, o from o;
select list(o) from o;
select b || b from b;
select replace(b, '€', '€€') from b;
select char_length(b || b), char_length(replace(b, '€', '€€')), char_length(lpad(b, 16383)) from b;
