-- What PSQL refuses: calls that leave outputs, texts without parentheses before their inputs, labels that are taken.
create procedure p1 (a integer = 1) returns (b integer) as begin b = a; end;
create procedure p0 (a integer = 1) as begin end;
set term ^;
execute block as begin execute procedure p1(1); end^
execute block as begin execute procedure p1; end^
execute block as begin execute procedure p0; end^
create procedure p2 as begin execute procedure p1(1); end^
execute block as declare x int; begin execute procedure p1(1) returning_values x; end^
execute block as declare x int; begin execute procedure p0(1) returning_values x; end^
execute block as declare procedure s returns (a integer) as begin end begin execute procedure s; end^
execute block returns (x int) as begin execute statement 'select 1 from rdb$database where 1=1' (2) into x; suspend; end^
execute block returns (x int) as begin execute statement 'select cast(? as int) from rdb$database' (2) into x; suspend; end^
execute block returns (x int) as begin execute statement ('select cast(? as int) from rdb$database') (2) into x; suspend; end^
execute block returns (x int) as begin execute statement ('select cast(' || '? as int) from rdb$database') (2) into x; suspend; end^
execute block returns (x int) as begin execute statement ('select cast(') || '? as int) from rdb$database' (2) into x; suspend; end^
execute block returns (x int) as begin execute statement ('select 1 ') || 'from rdb$database' into x; suspend; end^
execute block returns (x int) as begin execute statement (('select cast(:a as int) from rdb$database')) (a := 2) into x; suspend; end^
execute block returns (x int) as begin execute statement (select 'select 1 from rdb$database' from rdb$database) into x; suspend; end^
execute block returns (x int) as begin for execute statement 'select cast(? as int) from rdb$database' (2) into x do suspend; end^
execute block returns (x int) as declare s varchar(80) = 'select cast(? as int) from rdb$database'; begin execute statement s (2) into x;  suspend; end^
execute block as declare i int = 0; begin l: while (i < 3) do begin l: while (i < 2) do i = i + 1; i = i + 1; end end^
execute block as declare i int = 0; begin l: while (i < 3) do begin i = i + 1; end l: while (i < 2) do i = i + 1; end^
execute block as declare i int = 0; begin l: while (i < 3) do begin "L": for select 1 from rdb$database into i do leave l; i = i + 4; end end^
execute block as declare i int = 0; begin l: for execute statement 'select 1 from rdb$database' into i do begin l: while (i < 2) do i = i + 1; end end^
execute block as declare procedure s as declare i int = 0; begin l: while (i < 1) do i = i + 1; end begin l: while (1 = 0) do execute procedure s; end^
set term ;^
