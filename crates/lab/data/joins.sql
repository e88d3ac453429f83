-- Joins of four to twelve tables over the made-up films of `farbird bench sql joins`.
--
-- "== NAME | TITLE | COLUMNS": a query, and the columns, from 1, by which its rows must be in the same order everywhere.

== J01 | 4 tables: films of one keyword made in one country |
select min(f.title), min(f.production_year), count(*)
from film f, film_keyword fk, keyword k, film_company fc
where f.id = fk.fk_film and k.id = fk.fk_keyword and f.id = fc.fc_film and k.word like 'love-%'
  and fc.note = '(presents)'

== J02 | 5 tables: companies of a country and a keyword |
select min(f.title), count(*)
from company c, keyword k, film_company fc, film_keyword fk, film f
where c.country = 'de' and k.word like 'sequel-%' and c.id = fc.fc_company and fc.fc_film = f.id
  and f.id = fk.fk_film and fk.fk_keyword = k.id and fc.fc_film = fk.fk_film

== J03 | 5 tables: late films with a fact |
select min(f.title), min(ff.fact), count(*)
from keyword k, film_fact ff, film_keyword fk, film f, fact_kind ik
where k.word like 'robot-%' and ff.fact like 'murder%' and f.production_year > 2015 and f.id = ff.ff_film
  and f.id = fk.fk_film and fk.fk_film = ff.ff_film and k.id = fk.fk_keyword and ik.id = ff.ff_kind

== J04 | 6 tables: who directed what for whom |
select min(p.name), min(c.name), count(*)
from person p, film_person fp, role r, film f, film_company fc, company c
where r.name = 'director' and c.country = 'cz' and p.id = fp.fp_person and fp.fp_role = r.id
  and fp.fp_film = f.id and fc.fc_film = f.id and fc.fc_company = c.id

== J05 | 6 tables: the rarest role in the commonest films |
select min(f.title), min(p.name), count(*)
from film f, film_kind fk, film_person fp, person p, role r, film_fact ff
where fk.kind = 'short' and f.kind_id = fk.id and fp.fp_film = f.id and fp.fp_person = p.id
  and fp.fp_role = r.id and r.name = 'crew' and ff.ff_film = f.id and ff.ff_kind = 1

== J06 | 7 tables: distributors of series with a keyword |
select min(c.name), min(f.title), count(*)
from company c, company_kind ck, film_company fc, film f, film_kind fk, film_keyword fw, keyword k
where ck.kind = 'distribution' and fk.kind = 'tv series' and k.word like 'night-%' and c.country <> 'us'
  and c.id = fc.fc_company and ck.id = fc.fc_kind and fc.fc_film = f.id and fk.id = f.kind_id
  and f.id = fw.fk_film and fw.fk_keyword = k.id

== J07 | 7 tables: women in films with two keywords |
select min(p.name), count(*)
from person p, film_person fp, film f, film_keyword ka, keyword a, film_keyword kb, keyword b
where p.gender = 'f' and a.word like 'war-%' and b.word like 'winter-%' and p.id = fp.fp_person
  and fp.fp_film = f.id and ka.fk_film = f.id and ka.fk_keyword = a.id and kb.fk_film = f.id
  and kb.fk_keyword = b.id and f.production_year between 1990 and 2005

== J08 | 8 tables: facts, people and companies of one film kind |
select min(f.title), min(p.name), min(c.name), count(*)
from film_kind fk, film f, film_person fp, person p, role r, film_company fc, company c, film_fact ff
where fk.kind = 'video game' and f.kind_id = fk.id and fp.fp_film = f.id and fp.fp_person = p.id
  and fp.fp_role = r.id and r.name in ('composer', 'designer') and fc.fc_film = f.id
  and fc.fc_company = c.id and c.country = 'jp' and ff.ff_film = f.id and ff.ff_kind < 4

== J09 | 8 tables: two people of one film |
select min(a.name), min(b.name), count(*)
from person a, person b, film_person pa, film_person pb, role ra, role rb, film f, film_kind fk
where ra.name = 'guest' and rb.name = 'editor' and pa.fp_role = ra.id and pb.fp_role = rb.id
  and pa.fp_film = f.id and pb.fp_film = f.id and pa.fp_person = a.id and pb.fp_person = b.id
  and f.kind_id = fk.id and fk.kind in ('tv movie', 'short') and f.production_year > 2000

== J10 | 9 tables: everything about old films |
select min(f.title), min(p.name), min(k.word), count(*)
from film f, film_kind fk, film_person fp, person p, role r, film_keyword fw, keyword k, film_company fc, company c
where f.production_year < 1925 and f.kind_id = fk.id and fp.fp_film = f.id and fp.fp_person = p.id
  and fp.fp_role = r.id and r.name = 'writer' and fw.fk_film = f.id and fw.fk_keyword = k.id
  and k.word like 'ghost-%' and fc.fc_film = f.id and fc.fc_company = c.id and c.country in ('us', 'gb')

== J11 | 10 tables: the same with what kind of company |
select min(f.title), min(c.name), min(ff.fact), count(*)
from film f, film_kind fk, film_company fc, company c, company_kind ck, film_keyword fw, keyword k, film_fact ff,
  fact_kind ik, film_person fp
where fk.kind = 'video' and f.kind_id = fk.id and fc.fc_film = f.id and fc.fc_company = c.id
  and fc.fc_kind = ck.id and ck.kind = 'effects' and fw.fk_film = f.id and fw.fk_keyword = k.id
  and k.word like 'hero-%' and ff.ff_film = f.id and ff.ff_kind = ik.id and ik.name = 'fact 05'
  and fp.fp_film = f.id and fp.place = 1

== J12 | 12 tables: all of them at once |
select min(f.title), min(p.name), min(c.name), min(k.word), min(ff.fact), count(*)
from film f, film_kind fk, film_company fc, company c, company_kind ck, film_keyword fw, keyword k, film_fact ff,
  fact_kind ik, film_person fp, person p, role r
where fk.kind = 'episode' and c.country = 'se' and ck.kind = 'miscellaneous' and k.word like 'train-%'
  and ik.name = 'fact 03' and r.name = 'costume designer' and f.kind_id = fk.id and fc.fc_film = f.id
  and fc.fc_company = c.id and fc.fc_kind = ck.id and fw.fk_film = f.id and fw.fk_keyword = k.id
  and ff.ff_film = f.id and ff.ff_kind = ik.id and fp.fp_film = f.id and fp.fp_person = p.id
  and fp.fp_role = r.id

== J13 | 5 tables, grouped: people of the most films | 3 1
select p.id, p.name, count(distinct f.id) as films
from person p, film_person fp, film f, film_kind fk, role r
where p.id = fp.fp_person and fp.fp_film = f.id and f.kind_id = fk.id and fk.kind = 'movie'
  and fp.fp_role = r.id and r.name in ('actor', 'actress')
group by p.id, p.name
order by films desc, p.id
fetch first 20 rows only

== J14 | 6 tables, left: films without a company of their country | 1
select fk.kind, count(*) as films, count(c.id) as companies, count(distinct p.id) as people
from film f
  join film_kind fk on fk.id = f.kind_id
  left join film_company fc on fc.fc_film = f.id and fc.note = '(co-production)'
  left join company c on c.id = fc.fc_company and c.country = 'fr'
  left join film_person fp on fp.fp_film = f.id and fp.fp_role = 12
  left join person p on p.id = fp.fp_person
group by fk.kind
order by fk.kind

== J15 | 7 tables with EXISTS and NOT EXISTS |
select count(*), min(f.title)
from film f, film_kind fk, film_company fc, company c
where f.kind_id = fk.id and fk.kind in ('movie', 'episode') and fc.fc_film = f.id and fc.fc_company = c.id
  and c.country = 'gb'
  and exists (
    select * from film_keyword fw, keyword k
    where fw.fk_film = f.id and fw.fk_keyword = k.id and k.word like 'secret-%')
  and not exists (
    select * from film_person fp where fp.fp_film = f.id and fp.fp_role = 10)
