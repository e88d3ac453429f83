-- Options of transactions that do not go together, and snapshots that are not there.
set transaction no wait lock timeout 5;
set transaction lock timeout 5 no wait;
set transaction wait lock timeout 5;
select rdb$get_context('SYSTEM', 'LOCK_TIMEOUT') from rdb$database;
commit;
set transaction lock timeout 5;
set transaction lock timeout 0;
set transaction no wait lock timeout 0;
set transaction snapshot at number 1;
set transaction snapshot at number 9223372036854775807;
