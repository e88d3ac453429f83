-- SET SESSION IDLE TIMEOUT and SET STATEMENT TIMEOUT, and where they show.
select rdb$get_context('SYSTEM','SESSION_IDLE_TIMEOUT') a, rdb$get_context('SYSTEM','STATEMENT_TIMEOUT') b from rdb$database;
set session idle timeout 10;
select rdb$get_context('SYSTEM','SESSION_IDLE_TIMEOUT') a, rdb$get_context('SYSTEM','STATEMENT_TIMEOUT') b from rdb$database;
set session idle timeout 10 second;
set statement timeout 7;
commit;
select mon$idle_timeout, mon$idle_timer, mon$statement_timeout from mon$attachments where mon$attachment_id = current_connection;
select rdb$get_context('SYSTEM','SESSION_IDLE_TIMEOUT') a, rdb$get_context('SYSTEM','STATEMENT_TIMEOUT') b from rdb$database;
select mon$statement_timeout, mon$statement_timer is null from mon$statements where mon$attachment_id = current_connection;
set session idle timeout 10 millisecond;
set session idle timeout 1 hour;
set session idle timeout -1;
set statement timeout 700 millisecond;
select rdb$get_context('SYSTEM','SESSION_IDLE_TIMEOUT') a, rdb$get_context('SYSTEM','STATEMENT_TIMEOUT') b from rdb$database;
alter session reset;
select rdb$get_context('SYSTEM','SESSION_IDLE_TIMEOUT') a, rdb$get_context('SYSTEM','STATEMENT_TIMEOUT') b from rdb$database;
set term ^;
execute block returns (a varchar(20)) as begin set session idle timeout 20 second; execute statement 'set statement timeout 3'; a = rdb$get_context('SYSTEM','SESSION_IDLE_TIMEOUT'); suspend; end^
select rdb$get_context('SYSTEM','SESSION_IDLE_TIMEOUT') a, rdb$get_context('SYSTEM','STATEMENT_TIMEOUT') b from rdb$database^
