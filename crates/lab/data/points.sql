-- Statements that change ranges of the table RANGES of `farbird bench sql points`. {half} and {tenth} are numbers of rows, {round} the
-- number of the run; behind each the check is asked, and its answer compared.

== update_range | UPDATE of a range: half of all rows |
update ranges set amount = amount + 3 where id >= {half}
--: check
select count(*), sum(amount) from ranges

== update_text | UPDATE of another column of the same range, which makes rows longer |
update ranges set note = 'a note that is longer than before' where id >= {half}
--: check
select count(*), min(note), max(note) from ranges where id >= {half}

== update_indexed | UPDATE of an indexed column of a tenth of the rows |
update ranges set bucket = bucket + 1 where id >= {half} and id < {half} + {tenth}
--: check
select count(*), sum(bucket) from ranges

== delete_range | DELETE of a range: the rows of a fiftieth, other ones in each run |
delete from ranges where id >= {half} + {round} * {tenth} / 5 and id < {half} + ({round} + 1) * {tenth} / 5
--: check
select count(*), sum(amount) from ranges

== delete_index | DELETE by an index: a hundredth of the rows, other ones in each run |
delete from ranges where bucket = 50 + {round}
--: check
select count(*), sum(amount) from ranges
