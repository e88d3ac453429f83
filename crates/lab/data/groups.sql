-- Groups, distinct values, sorts, windows and a self-join over the table NUMBERS of `farbird bench sql groups`. Every query gives few
-- rows, so that what is measured is the work and not the way of the rows to the client.
--
-- "== NAME | TITLE | COLUMNS": a query, and the columns, from 1, by which its rows must be in the same order everywhere.

== by_10 | group by 10 keys | 1
select few, count(*), sum(amount), min(id), max(id) from numbers group by few order by few

== by_10000 | group by 10,000 keys |
select count(*), max(c), max(s), min(s)
from (select many, count(*) as c, sum(amount) as s from numbers group by many) as g

== by_1000000 | group by 1,000,000 keys |
select count(*), max(c), max(s), min(s)
from (select most, count(*) as c, sum(amount) as s from numbers group by most) as g

== by_text | group by 10,000 texts |
select count(*), max(c), max(s), min(name)
from (select name, count(*) as c, sum(amount) as s from numbers group by name) as g

== by_both | group by a text and a number: 100,000 keys |
select count(*), max(c), max(s)
from (select name, few, count(*) as c, sum(amount) as s from numbers group by name, few) as g

== distinct | COUNT(DISTINCT) of a number in every row |
select count(distinct partner) from numbers

== distinct_text | COUNT(DISTINCT) of 10,000 texts |
select count(distinct name) from numbers

== sort_number | all rows sorted by a number, the last one read |
select id, partner from numbers order by partner, id offset {last} rows fetch next 1 rows only

== sort_text | all rows sorted by a text of 80 characters, the last one read |
select id, filler from numbers order by filler, id offset {last} rows fetch next 1 rows only

== top_100 | the first 100 of all rows by a text | 1
select filler, id from numbers order by filler, id fetch first 100 rows only

== window_number | row numbers in 10,000 partitions |
select count(*), max(n), sum(case when n = 1 then id else 0 end)
from (select id, row_number() over (partition by many order by amount, id) as n from numbers) as w

== window_sum | running sums of all rows |
select max(s), min(s), count(*)
from (select sum(amount) over (partition by few order by id) as s from numbers) as w

== window_text | rank of all rows by a text of 80 characters |
select count(*), max(n)
from (select rank() over (order by filler) as n from numbers) as w

== self_join | every row with its partner, without an index |
select count(*), sum(b.amount), max(a.id) from numbers a join numbers b on b.partner = a.id

== self_join_groups | and grouped | 1
select a.few, count(*), sum(a.amount - b.amount) from numbers a join numbers b on b.id = a.partner
group by a.few order by a.few

== union | UNION of two halves that overlap |
select count(*) from (
  select partner from numbers where few < 6 union select partner from numbers where few > 3) as u
