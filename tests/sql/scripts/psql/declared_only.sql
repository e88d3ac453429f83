-- Local routines without a body, arguments that are too many, labels outside of loops.
set term ^;
execute block as declare procedure l (i integer); begin end^
execute block as declare procedure l (i integer); declare function f returns integer; begin end^
execute block as declare function f returns integer; declare procedure l (i integer); begin end^
create procedure z as declare procedure l (i integer); begin end^
create function z returns integer as declare procedure l (i integer); begin return 1; end^
execute block as begin leave nowhere; end^
execute block as begin continue nowhere; end^
execute block as begin while (1 = 1) do leave nowhere; end^
execute block returns (x integer) as declare function f (p integer) returns integer as begin return p * 2; end begin x = f(1, 2); end^
set term ;^
